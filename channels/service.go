package channels

import (
	"cmp"
	"context"
	"log/slog"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
	"google.golang.org/grpc"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/tasks"
)

// Config is what a Service needs; the bounds have defaults.
type Config struct {
	DB      *database.DB
	Intents *intents.Service
	Tasks   *tasks.Service
	// Logger receives the failures of the sweep; nil discards them.
	Logger *slog.Logger
	// MaxNameLength bounds a channel's name, in characters; 128 when zero.
	MaxNameLength int
	// MaxMembers is how many agents a channel lists at most; 10,000 when zero.
	MaxMembers int
	// Kept, which only tests set, bounds each cache in entries.
	Kept int
}

const (
	defaultMaxNameLength = 128
	defaultMaxMembers    = 10_000

	// keptKeys and keptRules bound the caches, in entries; an entry that falls out is read again.
	keptKeys  = 65_536
	keptRules = 16_384
)

// Service is the channel room; make it with New.
type Service struct {
	openintentv1.UnimplementedChannelServiceServer

	db            *database.DB
	intents       *intents.Service
	tasks         *tasks.Service
	logger        *slog.Logger
	maxNameLength int
	maxMembers    int

	keys   *lru.Cache[string, Key]
	strays strays
	rules  *intents.EpochCache[Key, *Rules]

	onClosing     []closingHook
	onDeleting    []deletingHook
	onFloorRaised []func(tx *database.Tx, key Key) error
	onChanged     []func(key Key)
}

type (
	closingHook  func(tx *database.Tx, head *intents.Head, closed []*Rules, at time.Time) error
	deletingHook func(tx *database.Tx, head *intents.Head, key Key) error
)

// New makes the service. It adds hooks to the intents and the tasks below it, because their ends and suspensions close
// channels.
func New(cfg Config) *Service {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	s := &Service{
		db:            cfg.DB,
		intents:       cfg.Intents,
		tasks:         cfg.Tasks,
		logger:        cfg.Logger,
		maxNameLength: cmp.Or(cfg.MaxNameLength, defaultMaxNameLength),
		maxMembers:    cmp.Or(cfg.MaxMembers, defaultMaxMembers),
		keys:          newKeyCache(cmp.Or(cfg.Kept, keptKeys)),
		strays:        newStrays(),
		rules:         intents.NewEpochCache[Key, *Rules](cmp.Or(cfg.Kept, keptRules)),
	}
	s.intents.Stock().Include(stockKind)
	s.intents.OnTerminal(s.closeForIntent)
	s.intents.OnSuspending(s.closeForSuspension)
	s.tasks.OnEnded(s.closeForTask)
	return s
}

func newKeyCache(size int) *lru.Cache[string, Key] {
	cache, err := lru.New[string, Key](size)
	if err != nil {
		panic(err) // happens only if the size is not positive
	}
	return cache
}

// Register adds the ChannelService to a gRPC server.
func (s *Service) Register(r grpc.ServiceRegistrar) { openintentv1.RegisterChannelServiceServer(r, s) }

// OnClosing adds a hook that runs in the transaction that closes channels, whatever the cause. The closed rules carry their
// closing time, which is at, but not always their members, because closing many channels does not read those. An error of the
// hook undoes the closing and its cause. Add hooks before serving.
func (s *Service) OnClosing(fn func(tx *database.Tx, head *intents.Head, closed []*Rules, at time.Time) error) {
	s.onClosing = append(s.onClosing, fn)
}

// OnDeleting adds a hook that runs in the transaction that deletes a channel, after the closing. The rows of the channel stay
// until Remove. Add hooks before serving.
func (s *Service) OnDeleting(fn func(tx *database.Tx, head *intents.Head, key Key) error) {
	s.onDeleting = append(s.onDeleting, fn)
}

// OnFloorRaised adds a hook that runs in the transaction in which a lowered max_messages raises a channel's floor. The intent's
// head is locked; the messages up to the floor are evicted, but their rows still exist. An error of the hook undoes the
// change. Add hooks before serving.
func (s *Service) OnFloorRaised(fn func(tx *database.Tx, key Key) error) {
	s.onFloorRaised = append(s.onFloorRaised, fn)
}

// OnChanged adds a hook that runs after each commit that created, changed or closed a channel. The call only means "look
// again", and the hook must not block. Add hooks before serving.
func (s *Service) OnChanged(fn func(key Key)) { s.onChanged = append(s.onChanged, fn) }

// changed raises the epoch, so that cached rules are read again, and runs the hooks of OnChanged after the commit.
func (s *Service) changed(tx *database.Tx, head *intents.Head, keys ...Key) {
	head.RaiseEpoch()
	tx.AfterCommit(func() {
		for _, fn := range s.onChanged {
			for _, key := range keys {
				fn(key)
			}
		}
	})
}

// GetChannel returns one channel to a caller that may read its intent, or is a guest of the channel. By an address it tells nobody else
// whether there is a channel, and it bounds how often a key asks in vain.
func (s *Service) GetChannel(ctx context.Context, req *openintentv1.GetChannelRequest) (*openintentv1.Channel, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	var answer *openintentv1.Channel
	var related bool
	var now time.Time
	err = s.db.ReadFor(ctx, c.Reader(), func(tx *database.Tx) (err error) {
		now = tx.Now()
		answer, related, err = s.get(tx, c, req)
		return err
	})
	if req.Address != nil {
		err = s.strays.judge(c, now, err, related)
	}
	if err != nil {
		return nil, err
	}
	return answer, nil
}

// get returns the channel that a request names, and whether the caller has a relation to it or its intent.
func (s *Service) get(tx *database.Tx, c caller.Caller, req *openintentv1.GetChannelRequest) (_ *openintentv1.Channel, related bool, _ error) {
	key, err := s.named(tx, req)
	if err != nil {
		return nil, false, err
	}
	head, err := intents.ReadHead(tx, key.IntentNo)
	if err != nil {
		return nil, false, err
	}
	rules, err := s.Rules(tx, key, head.Epoch)
	if err != nil {
		return nil, false, err
	}
	if !c.Scope.CoversChannel(rules.IntentID, rules.ID) {
		return nil, false, ErrChannelNotFound
	}
	if err := s.requireSight(tx, c, &head, rules); err != nil {
		return nil, false, err
	}
	access, err := s.intents.Rules(tx, key.IntentNo, head.Epoch)
	if err != nil {
		return nil, false, err
	}
	related = caller.IsGuest(c.Agent) || access.Given(c.Agent, c.IsOperator, head.Now()) > intents.PermissionNone
	answers, err := s.answers(tx, &head, []*Rules{rules})
	if err != nil {
		return nil, false, err
	}
	return answers[0], related, nil
}

// requireRead refuses callers without read access to the intent.
func (s *Service) requireRead(tx *database.Tx, c caller.Caller, head *intents.Head) error {
	access, err := s.intents.Rules(tx, head.IntentNo, head.Epoch)
	if err != nil {
		return err
	}
	return access.Require(c, c.Agent, intents.PermissionRead, head.Now())
}
