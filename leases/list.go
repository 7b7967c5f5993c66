package leases

import (
	"context"
	"time"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/pages"
)

// ListLeases lists an intent's leases that have not ended, for a caller that may read the intent.
func (s *Service) ListLeases(
	ctx context.Context, req *openintentv1.ListLeasesRequest,
) (*openintentv1.ListLeasesResponse, error) {
	var after string
	page, err := pages.Begin("leases", req, pages.MaxEntries, &after)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("scope", req.GetScope()); err != nil {
		return nil, err
	}
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var read, present []*Lease
	var now time.Time
	err = s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error {
		around, err := s.viewed(tx, c, req.GetIntentId())
		if err != nil {
			return err
		}
		now = around.head.Now()
		if read, err = list(tx, page, around.head.IntentNo, req.Scope, after); err != nil {
			return err
		}
		present, err = notEnded(tx, around, read)
		return err
	})
	if err != nil {
		return nil, err
	}
	// The cursor goes on after what was read, also where leases were left out because they have ended.
	all := make([]*openintentv1.Lease, len(read))
	for i, l := range read {
		all[i] = message(req.GetIntentId(), l, now)
	}
	response := &openintentv1.ListLeasesResponse{}
	_, response.NextCursor = pages.Close(page, all, func(i int) []any { return []any{read[i].Scope} })
	for _, l := range present {
		response.Leases = append(response.Leases, message(req.GetIntentId(), l, now))
	}
	return response, nil
}

// viewed returns an intent's head and rules in the transaction's snapshot, if the caller may read the intent.
func (s *Service) viewed(tx *database.Tx, c caller.Caller, intentID string) (surroundings, error) {
	intentNo, err := s.intents.Resolve(tx, intentID)
	if err != nil {
		return surroundings{}, err
	}
	head, err := intents.ReadHead(tx, intentNo)
	if err != nil {
		return surroundings{}, err
	}
	rules, err := s.intents.Rules(tx, intentNo, head.Epoch)
	if err != nil {
		return surroundings{}, err
	}
	return surroundings{head: &head, rules: rules}, rules.Require(c, c.Agent, intents.PermissionRead, head.Now())
}

// notEnded returns those of an intent's leases that have not ended, whether or not the sweep came by.
func notEnded(tx *database.Tx, around surroundings, leases []*Lease) ([]*Lease, error) {
	holders := make([]string, len(leases))
	for i, l := range leases {
		holders[i] = l.AgentID
	}
	presences, err := agents.LoadPresences(tx, database.Distinct(holders))
	if err != nil {
		return nil, err
	}
	var present []*Lease
	for _, l := range leases {
		around.presence = presences[l.AgentID]
		if l.endedBy(around) == "" {
			present = append(present, l)
		}
	}
	return present, nil
}
