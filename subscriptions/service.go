package subscriptions

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/loop"
	"openintent/messaging"
	"openintent/webhooks"
)

// Config is what a Service needs. Zero times take their defaults.
type Config struct {
	DB        *database.DB
	Intents   *intents.Service
	Agents    *agents.Service
	Channels  *channels.Service
	Messaging *messaging.Service
	// Webhooks checks URLs and posts to them.
	Webhooks *webhooks.Sender
	// Encode gives a message of the contract in its JSON form, for what is posted.
	Encode func(proto.Message) ([]byte, error)
	// Logger is told what could not be done; nil discards.
	Logger *slog.Logger
	// LookAgain is how long a waiting party waits at most before it looks without having been woken; 5 seconds when zero.
	LookAgain time.Duration
	// RenewEvery is how often consumers say that they live; 3 seconds when zero.
	RenewEvery time.Duration
}

const defaultLookAgain = 5 * time.Second

// Service is the subscriptions' room; make it with New, then Start it.
type Service struct {
	openintentv1.UnimplementedSubscriptionServiceServer

	db        *database.DB
	intents   *intents.Service
	channels  *channels.Service
	messaging *messaging.Service
	webhooks  *webhooks.Sender
	logger    *slog.Logger
	lookAgain time.Duration

	consumers consumers
	renewing  *loop.Loop
	poster    *poster
	lookout   *lookout
	surveying *loop.Loop
}

// New makes the room, and registers that a departed agent's subscriptions end and that streams of what reaches an agent are
// served here.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, channels: cfg.Channels, messaging: cfg.Messaging, webhooks: cfg.Webhooks,
		logger:    cfg.Logger,
		lookAgain: cmp.Or(cfg.LookAgain, defaultLookAgain),
	}
	s.poster = newPoster(s, cfg.Encode)
	s.lookout = newLookout(s)
	s.surveying = loop.New("survey of agents' streams", s.lookAgain, cfg.Logger, s.lookout.survey)
	s.renewing = loop.New("consumers of subscriptions", cmp.Or(cfg.RenewEvery, renewEvery), cfg.Logger, s.renew)
	cfg.Agents.OnDeparted(endSubscriptions)
	cfg.Messaging.OnSubscribeAgent(s.followAgent)
	cfg.Messaging.OnPurged(dropPurged)
	return s
}

// Register adds the room's gRPC service.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	openintentv1.RegisterSubscriptionServiceServer(r, s)
}

// Start begins the room's own work. Where one process serves the database alone, whoever had deliveries is gone.
func (s *Service) Start() {
	if s.db.Engine() == database.SQLite {
		if err := s.forgetConsumers(context.Background()); err != nil {
			s.logger.Warn("consumers from before the start keep their deliveries a little longer", "error", err)
		}
	}
	s.renewing.Start()
	s.surveying.Start()
	s.poster.start()
}

// Stop ends the room's own work: posts that are under way are given up and made again later. Streams and waits end with
// their calls' contexts, which the server cancels before.
func (s *Service) Stop() {
	s.poster.stop()
	s.surveying.Stop()
	s.renewing.Stop()
}

// find gives a subscription of the caller's; another agent's, and an agent's own log, is errNotFound.
func (s *Service) find(ctx context.Context, id string) (found *subscription, err error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("subscription_id", id); err != nil {
		return nil, errNotFound
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		found, err = find(tx, id)
		return err
	})
	if err == nil && (found.own() || found.subscriber != c.Agent && !c.IsOperator) {
		return nil, errNotFound
	}
	return found, err
}

// subscriberFrom gives the agent that a request speaks of: the caller, or whom the operator names.
func subscriberFrom(c caller.Caller, named string) (string, error) {
	subscriber, err := c.ActAs("subscriber_id", named)
	if err != nil || subscriber == c.Agent {
		return subscriber, err
	}
	return subscriber, caller.CheckName("subscriber_id", subscriber)
}
