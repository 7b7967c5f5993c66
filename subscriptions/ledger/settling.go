package ledger

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/record"
	"openintent/subscriptions/schedule"
)

const (
	// settleDelay is the least time that a delivery that was sent may wait to be stored. What is acknowledged within its time is seldom
	// stored. If the server dies, the deliveries of this time come again as first attempts.
	settleDelay = 50 * time.Millisecond
	// longestSettleDelay is the longest such time. It grows when storing takes long and when the agent takes long to acknowledge
	// (ledger.patience). It is so long that a server with as much to do as it can does not come there: a delivery that is stored and removed
	// again costs more than any other, so agents would wait still longer for what comes after it.
	longestSettleDelay = 3 * time.Second
	// confirmDelay is how long the end of a stream of acknowledgements may wait for those of other streams, to be stored with them.
	confirmDelay = 25 * time.Millisecond
	// settleRetry is how long to wait before trying again what could not be stored.
	settleRetry = 250 * time.Millisecond
	// lockedRetry is how long to wait for a subscription that somebody else has locked.
	lockedRetry = 5 * time.Millisecond
	// settleBatch bounds how many subscriptions one transaction settles.
	settleBatch = 250
	// settlePatience bounds one transaction.
	settlePatience = 30 * time.Second
)

// errDead says that some of the acknowledged deliveries are dead letters by now. It never leaves the room.
var errDead = errors.New("some of the deliveries are dead letters")

// Settler stores what the ledgers of this replica hold, many at a time: the deliveries that were sent and not acknowledged, the
// acknowledgements, and the positions. While it commits, the next ones gather. It does not wait for others when somebody waits
// for it, and it waits for no locks: it comes back to a subscription that somebody else has locked.
type Settler struct {
	db     *database.DB
	logger *slog.Logger
	// Delay is settleDelay; tests set another before anything is sent. took is how long the settler needed the last time, for all ledgers.
	Delay time.Duration
	took  atomic.Int64

	mutex sync.Mutex
	byNo  map[int64]*Ledger
	byID  map[string]*Ledger
	// due contains the ledgers that have something to store, each with the process's time at which it is stored; the zero time means
	// without delay.
	due                     schedule.Queue[*Ledger]
	started, stopped, ended bool
	// changed wakes the settler when something has to be stored earlier than it knew.
	changed  chan struct{}
	finished chan struct{}
}

// NewSettler makes the settler of a replica; call Start, too.
func NewSettler(db *database.DB, logger *slog.Logger) *Settler {
	return &Settler{
		db: db, logger: logger, Delay: settleDelay, byNo: make(map[int64]*Ledger), byID: make(map[string]*Ledger),
		changed: make(chan struct{}, 1), finished: make(chan struct{}),
	}
}

// Open registers the ledger of a stream that has become active.
func (s *Settler) Open(l *Ledger) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.byNo[l.no], s.byID[l.id] = l, l
}

// Of returns the ledger of a subscription whose active stream runs on this replica, or nil.
func (s *Settler) Of(no int64) *Ledger {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.byNo[no]
}

// Named is like Of, by the subscription's id.
func (s *Settler) Named(id string) *Ledger {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.byID[id]
}

func (s *Settler) remove(l *Ledger) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.due.Remove(l)
	if s.byNo[l.no] == l {
		delete(s.byNo, l.no)
		delete(s.byID, l.id)
	}
}

// add asks for a ledger to be stored within some time; 0 means without delay. It returns false if the settler has ended.
func (s *Settler) add(l *Ledger, within time.Duration) bool {
	at := time.Time{}
	if within > 0 {
		at = record.ProcessTime().Add(within)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended || l.Scheduled() && !at.Before(l.At) {
		return !s.ended
	}
	if s.due.Add(l, at); s.due.Next() == l {
		s.wake()
	}
	return true
}

// wake lets the settler see that something has to be stored earlier than it knew.
func (s *Settler) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// Start lets the settler store what is due, until Stop is called.
func (s *Settler) Start() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.started = true
	go s.run()
}

// Stop tries once to store what is left, and then returns. What somebody else has locked at that time comes again later.
func (s *Settler) Stop() {
	s.mutex.Lock()
	s.stopped = true
	started := s.started
	s.mutex.Unlock()
	s.wake()
	if started {
		<-s.finished
	}
}

// run stores what is due until Stop was called.
func (s *Settler) run() {
	defer close(s.finished)
	for {
		ledgers, next, stopped := s.take()
		began := record.ProcessTime()
		for some := range slices.Chunk(ledgers, settleBatch) {
			s.settle(portionsOf(some, stopped))
		}
		if len(ledgers) > 0 {
			s.took.Store(int64(record.ProcessTime().Sub(began)))
		}
		if stopped {
			return
		}
		if len(ledgers) == 0 {
			s.rest(next)
		}
	}
}

// rest waits for something to store, and no longer than until a time. The zero time means that nothing waits.
func (s *Settler) rest(until time.Time) {
	if until.IsZero() {
		<-s.changed
		return
	}
	timer := time.NewTimer(until.Sub(record.ProcessTime()))
	defer timer.Stop()
	select {
	case <-s.changed:
	case <-timer.C:
	}
}

// take takes the ledgers that are due, in the order of their subscriptions, and returns when the next one is. When the settler
// was stopped, all are due.
func (s *Settler) take() (ledgers []*Ledger, next time.Time, stopped bool) {
	now := record.ProcessTime()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for l := s.due.Next(); l != nil; l = s.due.Next() {
		if !s.stopped && l.At.After(now) {
			next = l.At
			break
		}
		s.due.Remove(l)
		ledgers = append(ledgers, l)
	}
	s.ended = s.stopped
	slices.SortFunc(ledgers, func(a, b *Ledger) int { return cmp.Compare(a.no, b.no) })
	return ledgers, next, s.stopped
}

func portionsOf(ledgers []*Ledger, whole bool) []*portion {
	portions := make([]*portion, 0, len(ledgers))
	for _, l := range ledgers {
		if p := l.portion(whole); p != nil {
			portions = append(portions, p)
		}
	}
	return portions
}

// settle stores some portions in one transaction. If one portion makes it fail, each is stored by itself.
func (s *Settler) settle(portions []*portion) {
	if len(portions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	outcome, err := database.Together(len(portions), func() error {
		return s.db.Write(ctx, func(tx *database.Tx) error { return settleIn(tx, portions) })
	})
	singly := outcome == database.Spoiled || outcome == database.Panicked && len(portions) > 1
	if err != nil && outcome != database.Contended && !singly {
		s.logger.Warn("could not store which deliveries were sent; those that are not acknowledged are sent again",
			"subscriptions", len(portions), "error", err)
	}
	for _, p := range portions {
		switch {
		case outcome == database.Stored:
			s.conclude(p)
		case outcome == database.Contended:
			p.ledger.putBack(p)
			s.add(p.ledger, settleRetry)
		case singly:
			s.settle([]*portion{p})
		case outcome == database.Away || outcome == database.Uncertain:
			// When the database is back, it may have lost commits, and the logs may have grown again past lost places.
			p.ledger.Fence(record.ErrConsumerLost)
			answer(p.waiters, settlement{err: err})
		default:
			p.ledger.Fence(err)
			answer(p.waiters, settlement{err: err})
		}
	}
}

// conclude tells a ledger what became of its portion.
func (s *Settler) conclude(p *portion) {
	switch {
	case p.skipped:
		p.ledger.putBack(p)
		s.add(p.ledger, lockedRetry)
	case p.refused != nil:
		p.ledger.Fence(p.refused)
		answer(p.waiters, settlement{err: record.ErrConsumerLost})
	default:
		p.ledger.noteSettled(p)
	}
}
