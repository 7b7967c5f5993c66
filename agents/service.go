package agents

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"openintent/caller"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
)

// Config is what a Service needs.
type Config struct {
	DB *database.DB
	// Logger is told of every change of status; nil discards.
	Logger *slog.Logger
}

// Service keeps the agents. Make it with New, add the hooks, then serve.
type Service struct {
	openintentv1.UnimplementedAgentServiceServer

	db     *database.DB
	logger *slog.Logger

	attention attention

	onDeparting   []func(tx *database.Tx, agentID string) (notBefore time.Time, err error)
	onDeparted    []func(tx *database.Tx, agentID string, at time.Time) error
	afterDeparted []func(ctx context.Context, agentID string)
	onChanged     []func(agentID string)
	onTakingRole  []aheadHook
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	now := cfg.DB.Now()
	return &Service{db: cfg.DB, logger: cfg.Logger, attention: attention{since: now, sweptAt: now}}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterAgentServiceServer(r, s) }

// OnDeparting adds what tells, in the transaction of a deregistration, from when the latest thing is that the departure
// makes void; zero for nothing. The departure gets no earlier time. The agent's row is locked then, as for OnDeparted. Add
// hooks before serving.
func (s *Service) OnDeparting(fn func(tx *database.Tx, agentID string) (notBefore time.Time, err error)) {
	s.onDeparting = append(s.onDeparting, fn)
}

// OnDeparted adds what must happen in the transaction of a deregistration; an error undoes the deregistration. The
// agent's row is locked then, so the hook must not lock the head of an intent. Add hooks before serving.
func (s *Service) OnDeparted(fn func(tx *database.Tx, agentID string, at time.Time) error) {
	s.onDeparted = append(s.onDeparted, fn)
}

// AfterDeparted adds what happens after the commit of a deregistration, before the call answers. Nothing is repeated
// after a crash: what must happen is noted by an OnDeparted hook. Add hooks before serving.
func (s *Service) AfterDeparted(fn func(ctx context.Context, agentID string)) {
	s.afterDeparted = append(s.afterDeparted, fn)
}

// OnChanged adds what happens after each commit that changed an agent's role or status. Add hooks before serving.
func (s *Service) OnChanged(fn func(agentID string)) { s.onChanged = append(s.onChanged, fn) }

// GetAgent gives one record to any caller.
func (s *Service) GetAgent(ctx context.Context, req *openintentv1.GetAgentRequest) (*openintentv1.Agent, error) {
	if _, err := caller.Known(ctx); err != nil {
		return nil, err
	}
	var agent *Agent
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		agent, err = find(tx, req.GetAgentId())
		return err
	})
	return reply(agent, err)
}

// owner gives the caller if it speaks for the agent.
func owner(ctx context.Context, agentID string) (caller.Caller, error) {
	c, err := caller.Known(ctx)
	if err == nil {
		err = c.CheckOwns(agentID)
	}
	return c, err
}
