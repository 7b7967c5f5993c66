package agents

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// WhoAmI tells the caller what the server knows of it from its key. It needs no database.
func (s *Service) WhoAmI(ctx context.Context, _ *openintentv1.WhoAmIRequest) (*openintentv1.WhoAmIResponse, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	known := &openintentv1.WhoAmIResponse{
		AgentId: c.Agent, Operator: c.IsOperator, Roles: c.KeyRoles, ReadOnly: c.ReadOnly, Human: c.Human, Guest: caller.IsGuest(c.Agent),
	}
	if c.IsOperator {
		known.Roles = []string{caller.AnyRole}
	}
	if c.Scope != nil {
		known.Intents, known.Channels = c.Scope.Intents, c.Scope.Channels
	}
	return known, nil
}
