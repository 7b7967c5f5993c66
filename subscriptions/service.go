package subscriptions

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/proto"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/internal/webhooks"
	"openintent/messaging"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/ledger"
	"openintent/subscriptions/ownlog"
	"openintent/subscriptions/posting"
	"openintent/subscriptions/record"
)

// Config configures a Service. Zero times mean the defaults.
type Config struct {
	DB        *database.DB
	Intents   *intents.Service
	Agents    *agents.Service
	Channels  *channels.Service
	Messaging *messaging.Service
	// Webhooks checks URLs and posts to them.
	Webhooks *webhooks.Sender
	// Encode encodes a message of the contract in its JSON form, for posting.
	Encode func(proto.Message) ([]byte, error)
	// Logger receives failures; nil discards them.
	Logger *slog.Logger
	// Paused returns why what these makers made is paused; those whose works go on are not in it. ShownMaker returns what clients see of a
	// maker. A maker is the KeyID and the Subject of the caller that made a subscription. Nil: nothing pauses, and nothing is shown.
	Paused     func(tx *database.Tx, makers ...string) (map[string]string, error)
	ShownMaker func(id, subject string) string
	// DeliveryTrace is told of each delivery that a consumer gets, and Posting of each that is posted; nil when nobody wants to know.
	DeliveryTrace reading.DeliveryTrace
	Posting       posting.Trace
	// LookAgain is the longest time that anyone waits for a wake-up before looking without one; zero means 5 seconds.
	LookAgain time.Duration
	// RenewEvery is how often consumers renew their leases; zero means every 3 seconds.
	RenewEvery time.Duration
	// ClockEndsWaits is true on a server whose clock a test moves. Elsewhere a clock that is set must not end what waits.
	ClockEndsWaits bool
}

const defaultLookAgain = 5 * time.Second

// Service is the room of subscriptions; make it with New, then call Start.
type Service struct {
	openintentv1.UnimplementedSubscriptionServiceServer
	openintentv1.UnimplementedExperimentalServiceServer

	db        *database.DB
	intents   *intents.Service
	channels  *channels.Service
	messaging *messaging.Service
	webhooks  *webhooks.Sender
	logger    *slog.Logger
	pausedOf  func(tx *database.Tx, makers ...string) (map[string]string, error)
	shown     func(id, subject string) string

	changes  *record.GroupCommit
	settler  *ledger.Settler
	supplier *delivering.Supplier
	poster   *posting.Poster
	ownLogs  *ownlog.Logs
	polling  *loop.Loop
}

// New makes the room. It registers what happens to subscriptions when an agent departs or an intent is purged. It also
// registers this room to serve the streams of everything that reaches an agent.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	cfg.LookAgain = cmp.Or(cfg.LookAgain, defaultLookAgain)
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, channels: cfg.Channels, messaging: cfg.Messaging, webhooks: cfg.Webhooks,
		logger: cfg.Logger, pausedOf: cfg.Paused, shown: cfg.ShownMaker,
	}
	s.changes, s.settler = record.NewGroupCommit(cfg.DB), ledger.NewSettler(cfg.DB, cfg.Logger)
	s.supplier = delivering.New(delivering.Config{
		DB: cfg.DB, Messaging: cfg.Messaging, Changes: s.changes, Settler: s.settler, Logger: cfg.Logger, Trace: cfg.DeliveryTrace,
		LookAgain: cfg.LookAgain, RenewEvery: cfg.RenewEvery, ClockEndsWaits: cfg.ClockEndsWaits,
	})
	s.poster = posting.New(posting.Config{
		DB: cfg.DB, Messaging: cfg.Messaging, Changes: s.changes, Supplier: s.supplier, Webhooks: cfg.Webhooks, Encode: cfg.Encode,
		Logger: cfg.Logger, Paused: s.paused, Trace: cfg.Posting, LookAgain: cfg.LookAgain,
	})
	s.ownLogs = ownlog.New(ownlog.Config{
		DB: cfg.DB, Messaging: cfg.Messaging, Changes: s.changes, Supplier: s.supplier, Logger: cfg.Logger, Trace: cfg.DeliveryTrace,
		Create: s.store, LookAgain: cfg.LookAgain,
	})
	s.polling = loop.New("poll for changes that no wake-up announced", cfg.LookAgain, cfg.Logger, s.poll)
	cfg.Intents.Stock().Include(stockKind)
	cfg.Agents.OnDeparted(endSubscriptions)
	cfg.Messaging.OnSubscribeAgent(s.ownLogs.Follow)
	cfg.Messaging.OnPurged(dropPurged)
	return s
}

// Register adds the room's gRPC services.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	openintentv1.RegisterSubscriptionServiceServer(r, s)
	openintentv1.RegisterExperimentalServiceServer(r, s)
}

// Start begins the room's background work. Where only one process serves the database, Start ends the leases of the previous
// process.
func (s *Service) Start() {
	s.supplier.Start()
	s.settler.Start()
	s.poster.Start()
	s.polling.Start()
	s.polling.Wake() // only the database knows which subscriptions to post
}

// Stop ends the room's background work. It cancels posts that are under way; they are made again later. Streams and waits end
// with the contexts of their calls, which the server cancels first.
func (s *Service) Stop() {
	s.polling.Stop()
	s.ownLogs.Wait()
	s.poster.Stop()
	s.settler.Stop()
	s.supplier.Stop()
}

// poll finds the changes to subscriptions that no wake-up announced, for the poster and for the agents' own logs.
func (s *Service) poll(ctx context.Context) error {
	return errors.Join(s.poster.Discover(ctx), s.ownLogs.LookForNumbers(ctx))
}

// find returns a subscription of the caller. For another agent's subscription, and for an agent's own log, it returns
// ErrNotFound.
func (s *Service) find(ctx context.Context, id string) (found *record.Subscription, err error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	if err := caller.CheckText("subscription_id", id); err != nil {
		return nil, record.ErrNotFound
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		found, err = record.Find(tx, id)
		return err
	})
	if err == nil && (found.Own() || found.Subscriber != c.Agent && !c.IsOperator) {
		return nil, record.ErrNotFound
	}
	if err != nil || c.Scope == nil {
		return found, err
	}
	covered, err := s.covered(ctx, c.Scope, found)
	if err == nil && !covered {
		err = record.ErrNotFound
	}
	return found, err
}

// subscriberFrom returns the agent that a request is for: the caller, or the agent that the operator names.
func subscriberFrom(c caller.Caller, named string) (string, error) {
	subscriber, err := c.ActAs("subscriber_id", named)
	if err != nil || subscriber == c.Agent {
		return subscriber, err
	}
	return subscriber, caller.CheckName("subscriber_id", subscriber)
}
