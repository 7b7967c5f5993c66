package agents

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/reach"
)

// Config is what a Service needs.
type Config struct {
	DB *database.DB
	// Reach knows who can be reached; nil where nobody asks for it.
	Reach *reach.Here
	// Logger receives a line for every change of status; nil discards them.
	Logger *slog.Logger
}

// Service keeps the agents. Make it with New, add the hooks, then serve.
type Service struct {
	openintentv1.UnimplementedAgentServiceServer

	db     *database.DB
	logger *slog.Logger
	here   *reach.Here

	attention attention
	// mostCounted is how far a list counts.
	mostCounted int64

	onDeparting   []func(tx *database.Tx, agentID string) (notBefore time.Time, err error)
	onDeparted    []func(tx *database.Tx, agentID string, at time.Time) error
	afterDeparted []func(ctx context.Context, agentID string)
	onChanged     []func(agentID string)
	onTakingRole  []aheadHook
	onTakingPart  []func(tx *database.Tx, by caller.Caller, agentID, intentID string) error
}

// New makes a Service.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	now := cfg.DB.Now()
	return &Service{db: cfg.DB, logger: cfg.Logger, here: cfg.Reach, attention: attention{since: now, sweptAt: now}, mostCounted: mostCounted}
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterAgentServiceServer(r, s) }

// OnDeparting adds a hook that runs in the transaction of a deregistration. It returns the time of the latest thing that the
// departure makes void, or zero if there is none; the departure never gets an earlier time. The agent's row is locked
// meanwhile, as for OnDeparted. Add hooks before serving.
func (s *Service) OnDeparting(fn func(tx *database.Tx, agentID string) (notBefore time.Time, err error)) {
	s.onDeparting = append(s.onDeparting, fn)
}

// OnDeparted adds a hook that runs in the transaction of a deregistration; its error undoes the deregistration. The
// agent's row is locked meanwhile, so the hook must not lock the head of an intent. Add hooks before serving.
func (s *Service) OnDeparted(fn func(tx *database.Tx, agentID string, at time.Time) error) {
	s.onDeparted = append(s.onDeparted, fn)
}

// AfterDeparted adds a hook that runs after the commit of a deregistration, before the call answers. It is not repeated
// after a crash, so an OnDeparted hook must note the work that has to happen. Add hooks before serving.
func (s *Service) AfterDeparted(fn func(ctx context.Context, agentID string)) {
	s.afterDeparted = append(s.afterDeparted, fn)
}

// OnTakingPart adds a hook that runs in the transaction of a registration that names an intent in which the agent takes part. It runs
// before the agent's row is locked, so it may lock the intent's head; its error undoes the registration. Add hooks before serving.
func (s *Service) OnTakingPart(fn func(tx *database.Tx, by caller.Caller, agentID, intentID string) error) {
	s.onTakingPart = append(s.onTakingPart, fn)
}

// OnChanged adds a hook that runs after each commit that changed an agent's role or status. Add hooks before serving.
func (s *Service) OnChanged(fn func(agentID string)) { s.onChanged = append(s.onChanged, fn) }

// GetAgent returns one record to any caller whose scope shows all agents, and the records of its own key to any other.
func (s *Service) GetAgent(ctx context.Context, req *openintentv1.GetAgentRequest) (*openintentv1.Agent, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if !c.Scope.ShowsAllAgents() && !c.Owns(req.GetAgentId()) {
		return nil, ErrNotFound
	}
	var agent *Agent
	var reached map[string]*reach.Reach
	err = s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		agent, err = find(tx, req.GetAgentId())
		if err == nil && len(req.GetInclude()) > 0 {
			reached, err = s.here.Read(tx, []string{agent.ID})
		}
		return err
	})
	return withReach(agent, reached, err)
}

// withReach is the reply with a record and, if it was read, its agent's reach.
func withReach(agent *Agent, reached map[string]*reach.Reach, err error) (*openintentv1.Agent, error) {
	made, err := reply(agent, err)
	if err == nil && reached != nil {
		made.Reach = reached[agent.ID].ToWire()
	}
	return made, err
}

// owner returns the caller if it speaks for the agent, and refuses it otherwise.
func owner(ctx context.Context, agentID string) (caller.Caller, error) {
	c, err := caller.Known(ctx)
	if err == nil {
		err = c.CheckOwns(agentID)
	}
	return c, err
}
