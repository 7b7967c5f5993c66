package asking

import (
	"context"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/reach"
)

// Config is what a Service needs.
type Config struct {
	DB        *database.DB
	Here      *reach.Here
	Intents   *intents.Service
	Messaging *messaging.Service
}

// Service serves ReachService.
type Service struct {
	openintentv1.UnimplementedReachServiceServer
	Config
	begun begun
}

// New makes a Service.
func New(cfg Config) *Service { return &Service{Config: cfg} }

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterReachServiceServer(r, s) }

// GetReach returns the reach of an agent to whoever may know of the agent, and what waits for it to the agent itself and the operator.
func (s *Service) GetReach(ctx context.Context, req *openintentv1.GetReachRequest) (*openintentv1.Reach, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	return s.reachOf(ctx, c, req.GetAgentId())
}

// reachOf returns the reach of an agent, with what a probe has found beside what is stored.
func (s *Service) reachOf(ctx context.Context, c caller.Caller, agent string, probed ...reach.Probed) (*openintentv1.Reach, error) {
	if err := caller.CheckName("agent_id", agent); err != nil {
		return nil, err
	}
	var found *reach.Reach
	err := s.DB.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error {
		known, err := mayKnow(tx, c, agent)
		switch {
		case err != nil:
			return err
		case !known:
			return agents.ErrNotFound
		}
		all, err := s.Here.Read(tx, []string{agent})
		found = all[agent]
		return err
	})
	if err != nil {
		return nil, err
	}
	for _, path := range probed {
		found.Confirm(path)
	}
	made := found.ToWire()
	if c.Owns(agent) {
		made.Waiting, err = s.waitingFor(ctx, c, agent)
	}
	return made, err
}

// waitingFor returns what must be answered and was not handed to the agent yet.
func (s *Service) waitingFor(ctx context.Context, c caller.Caller, agent string) (*openintentv1.ReachWaiting, error) {
	count, oldest, err := s.Messaging.Unheard(ctx, c, agent)
	if err != nil {
		return nil, err
	}
	waiting := &openintentv1.ReachWaiting{Count: int32(count)} //nolint:gosec // at most a page
	if count > 0 {
		waiting.OldestAt = timestamppb.New(oldest)
	}
	return waiting, nil
}
