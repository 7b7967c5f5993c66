package messaging

import (
	"context"
	"log/slog"
	"time"

	"google.golang.org/genproto/googleapis/rpc/status"
	"google.golang.org/grpc"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/messaging/following"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
	"openintent/messaging/writing"
	"openintent/reach"
)

// Config is what a Service needs. A bound that is zero takes its default.
type Config struct {
	DB       *database.DB
	Intents  *intents.Service
	Agents   *agents.Service
	Channels *channels.Service
	// Logger is told what could not be done. When it is nil, nobody is told.
	Logger *slog.Logger
	// MaxPayloadBytes bounds a message's payload and metadata together. It is 256 KiB when zero.
	MaxPayloadBytes int
	// MaxUnreadFromStrangers bounds the unread messages of one API key to one agent or role that has no relation to their sender. It is
	// 10,000 when zero.
	MaxUnreadFromStrangers int
	// Retention is how long messages are kept after their intent has ended. It is 24 hours when zero.
	Retention time.Duration
	// LookAgain is how long somebody who waits goes at most without looking again, if nothing wakes them. It is 5 seconds
	// when zero.
	LookAgain time.Duration
	// Notifications lets replicas on one database wake those who wait on the others. Without them a replica hears of the
	// others' messages when it looks again.
	Notifications bool
	// RecordEvery is how often the service writes down what readers were handed. It is 500 milliseconds when zero.
	RecordEvery time.Duration
	// Refusal returns the form in which a stream tells of a message that was refused: the status with which a call would
	// have ended that sent the message alone.
	Refusal func(error) *status.Status
	// ObserveBatch is told the size of each committed batch, and whether one round trip stored it; nil when nobody counts.
	ObserveBatch func(size int, atOnce bool)
	// ObserveRefused is told why a message did not get into the writer's queue; nil when nobody counts.
	ObserveRefused func(reason string)
	// ObserveLoss is told how many entries of an intent's log the database has lost, as far as this server knows; nil when nobody counts.
	ObserveLoss func(entries int64)
	// ObserveNotifications is told how many notifications were sent to other replicas or received from them; nil when nobody
	// counts.
	ObserveNotifications func(sent, received int)
	// Tracing shows in traces what becomes of messages. DeliveryTrace is told of each message that a stream hands to a consumer; nil when nobody
	// wants to know.
	Tracing       writing.Tracing
	DeliveryTrace reading.DeliveryTrace
	// Reach is told what agents were handed and what their models saw; nil when nobody wants to know.
	Reach *reach.Here
	// Kept, which only tests set, bounds each cache in entries, and LookedAt how many messages one page of a reading looks at.
	Kept     int
	LookedAt int
}

const (
	defaultMaxPayloadBytes = 256 << 10
	defaultMaxUnread       = 10_000
	defaultRetention       = 24 * time.Hour
	defaultLookAgain       = 5 * time.Second
	defaultRecordEvery     = 500 * time.Millisecond
)

// Service is the messaging room. Make it with New, then call Start.
type Service struct {
	openintentv1.UnimplementedMessageServiceServer

	db              *database.DB
	intents         *intents.Service
	agents          *agents.Service
	channels        *channels.Service
	reader          reading.Reader
	logger          *slog.Logger
	maxPayloadBytes int
	retention       time.Duration
	lookAgain       time.Duration
	lookedAt        int
	refusal         func(error) *status.Status

	hub    *wake.Hub
	relay  *database.Notifier // nil without notifications
	writer *writing.Writer
	tails  *following.Tails
	offers *offers
	// inboxes are those for which calls wait here. catchments are what is kept of the agents that something here watches, and looking looks
	// for what wake-ups did not tell them.
	inboxes    *inboxWatches
	catchments *keptCatchments
	looking    *loop.Loop
	piles      *piles

	followAgent AgentFollower
	// here is told what models saw, and knows who can be reached; nil when nobody wants to know.
	here *reach.Here
	// rest is what a sweep does between its pieces (sweep.go).
	rest      func(ctx context.Context, worked time.Duration) error
	onPurged  []func(tx *database.Tx, intentNo int64) error
	onRemoved []func(intentNo int64, positions []int64) database.Statement
}

// New makes the room, and registers what must happen here when a channel closes, an agent leaves or access changes.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.ObserveBatch == nil {
		cfg.ObserveBatch = func(int, bool) {}
	}
	if cfg.ObserveLoss == nil {
		cfg.ObserveLoss = func(int64) {}
	}
	if cfg.ObserveRefused == nil {
		cfg.ObserveRefused = func(string) {}
	}
	s := &Service{
		db: cfg.DB, intents: cfg.Intents, agents: cfg.Agents, channels: cfg.Channels, logger: cfg.Logger,
		reader:          reading.Reader{Intents: cfg.Intents, Channels: cfg.Channels},
		maxPayloadBytes: orDefault(cfg.MaxPayloadBytes, defaultMaxPayloadBytes),
		retention:       orDefault(cfg.Retention, defaultRetention),
		lookAgain:       orDefault(cfg.LookAgain, defaultLookAgain),
		lookedAt:        orDefault(cfg.LookedAt, maxLookedAt),
		refusal:         cfg.Refusal,
		hub:             wake.NewHub(),
		here:            cfg.Reach,
		rest:            loop.Rest,
	}
	if cfg.Notifications {
		s.relay = wake.NewRelay(s.db, s.logger, cfg.ObserveNotifications, s.hub)
	}
	if s.here != nil && s.relay != nil {
		s.hub.OnNews(s.here.Told)
		s.here.Telling(func(news string) { s.hub.Tell(news) })
	}
	s.inboxes = &inboxWatches{service: s, of: make(map[string]*inboxWatch)}
	s.catchments = newKeptCatchments(s)
	s.looking = loop.New("look for what no wake-up announced", s.lookAgain, s.logger, s.LookForMissed)
	losses := newLossLog(s.logger, s.db.Now, cfg.ObserveLoss)
	s.writer = writing.New(writing.Config{
		DB: s.db, Intents: s.intents, Channels: s.channels, Hub: s.hub, Logger: s.logger,
		ObserveBatch: cfg.ObserveBatch, ObserveRefused: cfg.ObserveRefused, Tracing: cfg.Tracing, Lost: losses.note,
	})
	s.intents.Usage().Include(intents.UsagePart{
		Table: "messages", Key: "position",
		Size: "octet_length(payload) + octet_length(metadata) + COALESCE(octet_length(conversation), 0)",
	})
	s.intents.Stock().Include(writing.StockKind)
	s.intents.Usage().Include(intents.UsagePart{Table: "message_revisions", Size: "octet_length(payload) + octet_length(metadata)"})
	s.piles = newPiles(s.db, orDefault(cfg.MaxUnreadFromStrangers, defaultMaxUnread), s.lookAtPile)
	s.offers = newOffers(s.db, s.logger, orDefault(cfg.RecordEvery, defaultRecordEvery), cfg.Reach)
	s.tails = following.New(following.Config{
		DB: s.db, Reader: s.reader, Hub: s.hub, Logger: s.logger, LookAgain: s.lookAgain, Offered: s.offers.record,
		Trace: cfg.DeliveryTrace, Lost: losses.note,
	})
	if cfg.Kept > 0 {
		s.keep(cfg.Kept)
	}
	cfg.Channels.OnClosing(message.ExpireInChannels)
	cfg.Channels.OnDeleting(s.scheduleRemoval)
	cfg.Channels.OnFloorRaised(writing.ScheduleEviction)
	cfg.Channels.OnChanged(func(key channels.Key) { s.hub.WakeUp(key, wake.ClosingTopic(key)) })
	cfg.Intents.OnTerminal(s.schedulePurge)
	cfg.Intents.OnChanged(func(intentNo int64) { s.hub.WakeUp(wake.IntentTopic(intentNo)) })
	cfg.Intents.OnAppended(func(intentNo int64) { s.hub.WakeUp(wake.FeedTopic(intentNo)) })
	cfg.Intents.OnNamed(s.hub.WakeNamed)
	cfg.Agents.OnDeparting(latestTie)
	cfg.Agents.OnDeparted(s.scheduleDeparture)
	cfg.Agents.AfterDeparted(s.finishDeparture)
	cfg.Agents.OnTakingRole(reading.AheadOf)
	cfg.Agents.OnTakingPart(s.takePart)
	cfg.Agents.OnChanged(func(agentID string) { s.hub.WakeUp(wake.AgentTopic(agentID)) })
	return s
}

// keep sets how many entries each cache holds.
func (s *Service) keep(entries int) {
	s.offers.written.Resize(entries)
	s.offers.marked.Resize(entries)
	s.writer.Keep(entries)
	s.piles.keep(entries)
}

func orDefault[T comparable](value, fallback T) T {
	var zero T
	if value == zero {
		return fallback
	}
	return value
}

// AgentFollower streams what reaches an agent, as Subscribe's agent scope does: from after a position, or from now on. It
// calls admitted once, before it sends anything, with the position after which the stream begins.
type AgentFollower func(
	ctx context.Context, by caller.Caller, agentID string, after *int64, filter reading.Filter,
	admitted func(position int64) error, send func(*openintentv1.SubscribeResponse) error,
) error

// OnSubscribeAgent sets the function that streams the agent scope. Its positions are numbers in a log that the room above
// keeps. Call it before Start.
func (s *Service) OnSubscribeAgent(fn AgentFollower) { s.followAgent = fn }

// OnPurged registers what must happen in the transaction that removes an ended intent's last messages. The head is locked
// there. Call it before Start.
func (s *Service) OnPurged(fn func(tx *database.Tx, intentNo int64) error) {
	s.onPurged = append(s.onPurged, fn)
}

// OnRemoved registers a statement that runs in each transaction that removes messages. Call it before Start.
func (s *Service) OnRemoved(fn func(intentNo int64, positions []int64) database.Statement) {
	s.onRemoved = append(s.onRemoved, fn)
}

// Register adds the room's gRPC service.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterMessageServiceServer(r, s) }

// Start begins to write, and to hear of other replicas. It is called once.
func (s *Service) Start() {
	if s.relay != nil {
		s.relay.Start()
	}
	s.writer.Start()
	s.offers.loop.Start()
	s.looking.Start()
}

// Stop refuses further messages, and returns when all messages that were taken are committed. Waits and streams end with
// the contexts of their calls, which the server cancels before.
func (s *Service) Stop() {
	s.writer.Stop()
	s.tails.Stop()
	s.inboxes.running.Wait()
	s.looking.Stop()
	s.offers.stop()
	if s.relay != nil {
		s.relay.Stop() // last, because it tells of the last commits
	}
}

// Waiting counts the messages that wait to be stored, and the intents of which some are put aside because another server
// holds them.
func (s *Service) Waiting() (messages, intentsAside int) { return s.writer.Waiting() }

// Concluded counts the messages that this service has stored or refused since it was made.
func (s *Service) Concluded() int64 { return s.writer.Concluded() }

// locate finds a channel by id.
func (s *Service) locate(ctx context.Context, channelID string) (key channels.Key, err error) {
	if key, known := s.channels.Located(channelID); known {
		return key, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		key, err = s.channels.Locate(tx, channelID)
		return err
	})
	return key, err
}

// Steps are told how far a call that sends has come.
type Steps = writing.Steps

// WithSteps returns a context for one call that sends.
func WithSteps(ctx context.Context, steps *Steps) context.Context {
	return writing.WithSteps(ctx, steps)
}
