package ownlog

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/messaging/reading"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// Logs are the agents' own logs that something here streams. All streams of an agent share one gatherer. So a further stream costs the
// same, however many intents reach the agent, and what happens there is looked at once.
type Logs struct {
	db            *database.DB
	messaging     *messaging.Service
	changes       *record.GroupCommit
	supplier      *delivering.Supplier
	logger        *slog.Logger
	deliveryTrace reading.DeliveryTrace
	create        func(context.Context, *record.Subscription) error
	lookAgain     time.Duration

	running sync.WaitGroup

	mutex sync.Mutex
	of    map[string]*ownLogNumbers
}

// Config configures the own logs of a replica.
type Config struct {
	DB        *database.DB
	Messaging *messaging.Service
	Changes   *record.GroupCommit
	Supplier  *delivering.Supplier
	Logger    *slog.Logger
	// Trace is told of each entry that a stream gets; nil when nobody wants to know.
	Trace reading.DeliveryTrace
	// Create stores a new log, and begins it. It returns record.ErrNameTaken if the agent has one.
	Create func(context.Context, *record.Subscription) error
	// LookAgain is how long a stream waits before it tries again what has failed.
	LookAgain time.Duration
}

// New makes the own logs of a replica.
func New(cfg Config) *Logs {
	return &Logs{
		db: cfg.DB, messaging: cfg.Messaging, changes: cfg.Changes, supplier: cfg.Supplier, logger: cfg.Logger, deliveryTrace: cfg.Trace,
		create: cfg.Create, lookAgain: cfg.LookAgain, of: make(map[string]*ownLogNumbers),
	}
}

// Wait waits until nothing looks any more.
func (o *Logs) Wait() { o.running.Wait() }

// join adds a stream, and asks for a look. The caller must call leave.
func (o *Logs) join(st *ownLogStream) {
	o.mutex.Lock()
	l := o.of[st.own.Subscriber]
	if l == nil {
		l = &ownLogNumbers{
			logs: o, agent: st.own.Subscriber, no: st.own.No, news: make(chan struct{}), streams: make(map[*ownLogStream]struct{}),
			gatherer: o.supplier.NewGatherer(st.own.No, st.own.Subscriber, 0),
		}
		l.gatherer.Anchor = new(delivering.Anchor)
		l.ctx, l.end = context.WithCancel(context.Background())
		l.watch = o.messaging.Watch(messaging.Watched{Agent: l.agent, Calls: l.wake})
		l.watch.Subscription(l.no)
		o.of[l.agent] = l
	}
	l.mutex.Lock()
	l.asked++
	l.number = max(l.number, st.own.LastNumber)
	st.log, st.joined = l, l.asked
	l.streams[st] = struct{}{}
	l.mutex.Unlock()
	o.mutex.Unlock()
	l.wake()
}

// Streams returns how many streams each agent has here.
func (o *Logs) Streams() map[string]int {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	all := make(map[string]int, len(o.of))
	for agent, l := range o.of {
		l.mutex.Lock()
		all[agent] = len(l.streams)
		l.mutex.Unlock()
	}
	return all
}

// Hold keeps an agent's log from looking, as if no wake-up came, until release is called.
func (o *Logs) Hold(agent string) (release func()) {
	o.mutex.Lock()
	l := o.of[agent]
	o.mutex.Unlock()
	for held := false; !held; {
		l.mutex.Lock()
		held, l.looking = !l.looking, true
		l.mutex.Unlock()
	}
	return func() { o.running.Go(l.lookOn) }
}

// leave removes a stream. With the last one goes what was kept for the agent's streams.
func (o *Logs) leave(st *ownLogStream) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	l := st.log
	l.mutex.Lock()
	delete(l.streams, st)
	last := len(l.streams) == 0
	l.mutex.Unlock()
	if !last {
		return
	}
	if o.of[l.agent] == l {
		delete(o.of, l.agent)
	}
	l.end()
	l.watch.Close()
}

// remove makes the next stream begin with a log anew.
func (o *Logs) remove(l *ownLogNumbers) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	if o.of[l.agent] == l {
		delete(o.of, l.agent)
	}
}

// LookForNumbers wakes the logs to which another replica has added numbers, those that have lost numbers, those at which a look failed,
// and those that have not been looked at for long. It runs one statement for very many logs.
func (o *Logs) LookForNumbers(ctx context.Context) error {
	o.mutex.Lock()
	logs := make([]*ownLogNumbers, 0, len(o.of))
	for _, l := range o.of {
		logs = append(logs, l)
	}
	o.mutex.Unlock()
	for some := range slices.Chunk(logs, manyLogs) {
		nos, numbers := make([]int64, len(some)), make(map[int64]int64, len(some))
		for i, l := range some {
			nos[i] = l.no
		}
		err := o.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
			clear(numbers)
			in, argument := tx.In("subscription_no", nos)
			return tx.Pipeline(database.Statement{
				SQL:  "SELECT subscription_no, last_number FROM subscriptions WHERE " + in,
				Args: []any{argument},
				Scan: func(row database.Row) error {
					var no, number int64
					err := row.Scan(&no, &number)
					numbers[no] = number
					return err
				},
			})
		})
		if err != nil {
			return err
		}
		for _, l := range some {
			if l.mustLook(numbers[l.no]) {
				l.wake()
			}
		}
	}
	return nil
}

// manyLogs bounds how many logs one query covers.
const manyLogs = 1000
