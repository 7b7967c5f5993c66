package intents

import (
	"cmp"
	"context"
	"log/slog"
	"strings"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/jsonvalue"
)

// Bounds of the caches, in entries; an entry that falls out is read again.
const (
	keptNumbers = 65_536
	keptRules   = 16_384
	keptUsages  = 65_536
)

// Config is what a Service needs.
type Config struct {
	DB *database.DB
	// Logger receives warnings, for example of event logs that do not verify; nil discards them.
	Logger *slog.Logger
	// DefaultAccess says what everyone may do with an intent that has no access control list. PolicyOpen, the default, lets
	// everyone write; PolicyClosed admits only the agents related to the intent. See Rules.Level.
	DefaultAccess Policy
	// EventRetention is how long SweepEvents keeps events; 0 means for ever.
	EventRetention time.Duration
	// QuotaBytes is how much one intent may hold, approximately; 0 is no bound. See Usage.
	QuotaBytes int64
	// Stock is how many things of each kind one key may hold, approximately; 0 is no bound. See Stock.
	Stock map[string]int64
	// ObserveLead is called after each commit to an intent with a newest time more than a second ahead of the clock; may be nil.
	ObserveLead func()
	// Kept, which only tests set, bounds each cache in entries.
	Kept int
}

// Service answers IntentService, EventService, AccessService and CoordinatorService. Make it with New.
type Service struct {
	openintentv1.UnimplementedIntentServiceServer
	openintentv1.UnimplementedEventServiceServer
	openintentv1.UnimplementedAccessServiceServer
	openintentv1.UnimplementedCoordinatorServiceServer

	db     *database.DB
	logger *slog.Logger
	// defaultAccess is PolicyOpen or PolicyClosed.
	defaultAccess Policy
	looking       looking

	numbers *lru.Cache[string, int64]  // by intent id; no other intent ever gets the same number, see database.Further
	rules   *EpochCache[int64, *Rules] // by intent number

	lead        leadWatch
	observeLead func()

	verifications verifications
	removal       eventRemoval
	sweeping      sweeping
	usage         *Usage
	stock         *Stock

	onEnding     []func(tx *database.Tx, head *Head) error
	onTerminal   []func(tx *database.Tx, head *Head, at time.Time) error
	onSuspending []func(tx *database.Tx, head *Head, at time.Time) error
	onResumed    []func(tx *database.Tx, head *Head, at time.Time) error
	onChanged    []func(intentNo int64)
	onAppended   []func(intentNo int64)
	onNamed      []func(intentNo int64, agentIDs []string)
}

// New makes a service on an open database.
func New(cfg Config) *Service {
	logger := cfg.Logger
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db:            cfg.DB,
		logger:        logger,
		observeLead:   cfg.ObserveLead,
		removal:       eventRemoval{retention: cfg.EventRetention, piece: removalPiece, atOnce: sweptIntents},
		sweeping:      sweeping{intents: sweptIntents, entries: sweptEntries},
		usage:         newUsage(cfg.DB, cfg.QuotaBytes, cmp.Or(cfg.Kept, keptUsages)),
		stock:         newStock(cfg.DB, cfg.Stock, cmp.Or(cfg.Kept, keptUsages)),
		defaultAccess: cmp.Or(cfg.DefaultAccess, PolicyOpen),
		looking:       looking{candidates: mostCounted, atOnce: lookedAtOnce},
		numbers:       newCache[string, int64](cmp.Or(cfg.Kept, keptNumbers)),
		rules:         NewEpochCache[int64, *Rules](cmp.Or(cfg.Kept, keptRules)),
	}
	s.db.OnWrite(func(tx *database.Tx) { tx.AfterCommit(func() { s.announce(tx) }) })
	s.OnTerminal(freeIntent)
	return s
}

// newCache makes a cache of a positive size, for which the constructor returns no error.
func newCache[K comparable, V any](size int) *lru.Cache[K, V] {
	cache, err := lru.New[K, V](size)
	if err != nil {
		panic(err)
	}
	return cache
}

// Register adds the four services to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) {
	openintentv1.RegisterIntentServiceServer(r, s)
	openintentv1.RegisterEventServiceServer(r, s)
	openintentv1.RegisterAccessServiceServer(r, s)
	openintentv1.RegisterCoordinatorServiceServer(r, s)
}

// OnEnding adds a hook that runs in the transaction in which an intent is completed or abandoned, after its head is locked and before
// anything says that it has ended: what the intent still has to say comes before its end. Call it before the service is used.
func (s *Service) OnEnding(fn func(tx *database.Tx, head *Head) error) {
	s.onEnding = append(s.onEnding, fn)
}

// OnTerminal adds a hook that runs in the transaction in which an intent is completed or abandoned, after its head is locked
// and its status is changed. An error of the hook undoes everything. Add hooks before serving.
func (s *Service) OnTerminal(fn func(tx *database.Tx, head *Head, at time.Time) error) {
	s.onTerminal = append(s.onTerminal, fn)
}

// OnSuspending adds a hook that runs in the transaction in which an intent begins to wait for input. The intent's head is
// locked, and its status is still the former one; an error of the hook undoes everything. Add hooks before serving.
func (s *Service) OnSuspending(fn func(tx *database.Tx, head *Head, at time.Time) error) {
	s.onSuspending = append(s.onSuspending, fn)
}

// OnResumed adds a hook that runs in the transaction in which a suspended intent goes on. The intent's head is locked, and its
// status is the new one; an error of the hook undoes everything. Add hooks before serving.
func (s *Service) OnResumed(fn func(tx *database.Tx, head *Head, at time.Time) error) {
	s.onResumed = append(s.onResumed, fn)
}

// OnChanged adds a hook that runs after each commit that raised an intent's epoch: rules have changed, so decisions that depend
// on them must be made again. The call only means "look again", and the hook must not block. Events alone, such as the copies
// of audited messages, do not call it, because each of them would wake everyone who waits for rules. Add hooks before serving.
func (s *Service) OnChanged(fn func(intentNo int64)) {
	s.onChanged = append(s.onChanged, fn)
}

// OnAppended adds a hook that runs after each commit that gave positions of an intent's log to events, messages or other
// things that the rooms above keep there, unless the room above tells that itself (Head.TellAbove). The call only means "look
// again", and the hook must not block. Add hooks before serving.
func (s *Service) OnAppended(fn func(intentNo int64)) {
	s.onAppended = append(s.onAppended, fn)
}

// OnNamed adds a hook that runs after each commit through which an intent names more agents, or the room above lists more
// agents there: as creator, in an assignment, in an access entry, as coordinator, as member. The call only means "look again",
// and the hook must not block. Add hooks before serving.
func (s *Service) OnNamed(fn func(intentNo int64, agentIDs []string)) {
	s.onNamed = append(s.onNamed, fn)
}

// announce runs the hooks after a commit: for the intents whose epoch the transaction raised, for those whose log it made
// longer, and for the agents that they newly name.
func (s *Service) announce(tx *database.Tx) {
	for _, head := range lockedBy(tx) {
		s.watchLead(head)
		for _, changed := range s.onChanged {
			if head.raised {
				changed(head.IntentNo)
			}
		}
		for _, appended := range s.onAppended {
			if head.grown && !head.toldAbove {
				appended(head.IntentNo)
			}
		}
		for _, named := range s.onNamed {
			if len(head.named) > 0 {
				named(head.IntentNo, head.named)
			}
		}
	}
}

// Resolve returns the number of an intent, or ErrIntentNotFound.
func (s *Service) Resolve(tx *database.Tx, intentID string) (int64, error) {
	if no, ok := s.numbers.Get(intentID); ok {
		return no, nil
	}
	if strings.ContainsRune(intentID, 0) {
		return 0, ErrIntentNotFound // PostgreSQL refuses such a text even as an argument
	}
	var no int64
	if err := tx.Pipeline(database.ReadValue(&no, "SELECT intent_no FROM intents WHERE id = ?", intentID)); err != nil {
		return 0, err
	}
	if no == 0 {
		return 0, ErrIntentNotFound
	}
	s.numbers.Add(intentID, no)
	return no, nil
}

// read runs a handler's reads in one snapshot, for the proven caller.
func (s *Service) read(ctx context.Context, fn func(tx *database.Tx, c caller.Caller) error) error {
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	return s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) error { return fn(tx, c) })
}

// readHeavy is read for a page of a list.
func (s *Service) readHeavy(ctx context.Context, fn func(tx *database.Tx, c caller.Caller) error) error {
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	return s.db.ReadHeavy(ctx, c.Reader(), func(tx *database.Tx) error { return fn(tx, c) })
}

// write runs a handler's writes in one transaction, for the proven caller.
func (s *Service) write(ctx context.Context, fn func(tx *database.Tx, c caller.Caller) error) error {
	c, err := caller.Known(ctx)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return fn(tx, c) })
}

// log appends an event that the server itself makes, in the trace of the call that caused it.
func log(head *Head, c caller.Caller, actor, eventType string, payload *jsonvalue.Builder) error {
	_, err := head.Log(EventDraft{Type: eventType, Actor: actor, Payload: payload.Object(), TraceID: c.TraceID})
	return err
}

// view finds an intent without locking it, and refuses if the acting agent lacks the needed level.
func (s *Service) view(tx *database.Tx, c caller.Caller, acting, intentID string, need Permission) (Head, error) {
	no, err := s.Resolve(tx, intentID)
	if err != nil {
		return Head{}, err
	}
	return s.viewNumber(tx, c, acting, no, need)
}

// viewNumber is view by the intent's number.
func (s *Service) viewNumber(
	tx *database.Tx, c caller.Caller, acting string, intentNo int64, need Permission,
) (Head, error) {
	head, err := ReadHead(tx, intentNo)
	if err != nil {
		return Head{}, err
	}
	rules, err := s.Rules(tx, intentNo, head.Epoch)
	if err != nil {
		return Head{}, err
	}
	return head, rules.Require(c, acting, need, head.Now())
}

// take finds and locks an intent, and refuses if the acting agent lacks the needed level.
func (s *Service) take(tx *database.Tx, c caller.Caller, acting, intentID string, need Permission) (*Head, error) {
	head, rules, err := s.lockWithRules(tx, intentID)
	if err != nil {
		return nil, err
	}
	return head, rules.Require(c, acting, need, head.Now())
}

// lockWithRules finds and locks an intent without checking the caller's level.
func (s *Service) lockWithRules(tx *database.Tx, intentID string) (*Head, *Rules, error) {
	no, err := s.Resolve(tx, intentID)
	if err != nil {
		return nil, nil, err
	}
	heads, err := Lock(tx, no)
	if err != nil {
		return nil, nil, err
	}
	rules, err := s.Rules(tx, no, heads[0].Epoch)
	return heads[0], rules, err
}
