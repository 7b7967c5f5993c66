package leases

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/writing"
	"openintent/tasks"
)

// Config is what a Service needs.
type Config struct {
	DB        *database.DB
	Intents   *intents.Service
	Tasks     *tasks.Service
	Messaging *messaging.Service
	// Logger receives a line for each lease that the server ends; nil discards them.
	Logger *slog.Logger
	// LookAgain is how long a call that waits goes at most without a look and a sign of life. It is 5 seconds when zero.
	LookAgain time.Duration
	// ClockEndsWaits is true on a server whose clock a test moves. Elsewhere a clock that is set must not end what waits.
	ClockEndsWaits bool
}

// Service is the room of leases. Make it with New.
type Service struct {
	openintentv1.UnimplementedLeaseServiceServer

	db        *database.DB
	intents   *intents.Service
	tasks     *tasks.Service
	messaging *messaging.Service
	logger    *slog.Logger
	lookAgain time.Duration
	// clockEndsWaits is true if a wait also ends when the clock shows that its time is over.
	clockEndsWaits bool
	swept          int // intents at which one run of the sweep looks
}

const defaultLookAgain = 5 * time.Second

// New makes the room, and registers what must happen here when an intent is suspended, goes on or ends, and when a task ends.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.LookAgain == 0 {
		cfg.LookAgain = defaultLookAgain
	}
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, tasks: cfg.Tasks, messaging: cfg.Messaging,
		logger: cfg.Logger, lookAgain: cfg.LookAgain, clockEndsWaits: cfg.ClockEndsWaits, swept: sweptIntents,
	}
	cfg.Intents.OnSuspending(pause)
	cfg.Intents.OnResumed(resume)
	cfg.Intents.OnTerminal(s.endForIntent)
	cfg.Tasks.OnEnded(s.endForTask)
	return s
}

// Register adds the service to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterLeaseServiceServer(r, s) }

// change is one change of an intent's leases under the lock of its head.
type change struct {
	surroundings
	service *Service
	tx      *database.Tx
	caller  caller.Caller
	// untold are the former holders of the leases that the change has ended, with what they are told (tell).
	untold []writing.Notice
}

// begin locks an intent and reads what its leases are judged by. agents are those whose presence counts.
func (s *Service) begin(tx *database.Tx, c caller.Caller, intentNo int64) (*change, error) {
	heads, err := intents.Lock(tx, intentNo)
	if err != nil {
		return nil, err
	}
	head := heads.Get(intentNo)
	rules, err := s.intents.Rules(tx, intentNo, head.Epoch)
	return &change{surroundings: surroundings{head: head, rules: rules}, service: s, tx: tx, caller: c}, err
}

// around returns the surroundings of an agent's leases.
func (c *change) around(agentID string) (surroundings, error) {
	presences, err := agents.LoadPresences(c.tx, []string{agentID})
	around := c.surroundings
	around.presence = presences[agentID]
	return around, err
}

// resolve returns the number of the intent, for a proven caller.
func (s *Service) resolve(ctx context.Context, intentID string) (c caller.Caller, intentNo int64, err error) {
	if c, err = caller.Known(ctx); err != nil {
		return c, 0, err
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		intentNo, err = s.intents.Resolve(tx, intentID)
		return err
	})
	return c, intentNo, err
}
