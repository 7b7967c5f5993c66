package subscriptions

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
	"openintent/internal/fault"
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

// errDeadAmong says that some of the acknowledged deliveries are dead letters by now. It never leaves the room.
var errDeadAmong = errors.New("some of the deliveries are dead letters")

// settler stores what the ledgers of this replica hold, many at a time: the deliveries that were sent and not acknowledged, the
// acknowledgements, and the positions. While it commits, the next ones gather. It does not wait for others when somebody waits
// for it, and it waits for no locks: it comes back to a subscription that somebody else has locked.
type settler struct {
	db     *database.DB
	logger *slog.Logger
	// delay is settleDelay; tests set another before anything is sent. took is how long the settler needed the last time, for all ledgers.
	delay time.Duration
	took  atomic.Int64

	mutex sync.Mutex
	byNo  map[int64]*ledger
	byID  map[string]*ledger
	// due contains the ledgers that have something to store, each with the process's time at which it is stored; the zero time means
	// without delay.
	due                     schedule[*ledger]
	started, stopped, ended bool
	// changed wakes the settler when something has to be stored earlier than it knew.
	changed  chan struct{}
	finished chan struct{}
}

func newSettler(db *database.DB, logger *slog.Logger) *settler {
	return &settler{
		db: db, logger: logger, delay: settleDelay, byNo: make(map[int64]*ledger), byID: make(map[string]*ledger),
		changed: make(chan struct{}, 1), finished: make(chan struct{}),
	}
}

// open registers the ledger of a stream that has become active.
func (s *settler) open(l *ledger) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.byNo[l.no], s.byID[l.id] = l, l
}

// of returns the ledger of a subscription whose active stream runs on this replica, or nil.
func (s *settler) of(no int64) *ledger {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.byNo[no]
}

// named is like of, by the subscription's id.
func (s *settler) named(id string) *ledger {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.byID[id]
}

func (s *settler) remove(l *ledger) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.due.remove(l)
	if s.byNo[l.no] == l {
		delete(s.byNo, l.no)
		delete(s.byID, l.id)
	}
}

// add asks for a ledger to be stored within some time; 0 means without delay. It returns false if the settler has ended.
func (s *settler) add(l *ledger, within time.Duration) bool {
	at := time.Time{}
	if within > 0 {
		at = processTime().Add(within)
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.ended || l.scheduled() && !at.Before(l.at) {
		return !s.ended
	}
	if s.due.add(l, at); s.due.next() == l {
		s.wake()
	}
	return true
}

// wake lets the settler see that something has to be stored earlier than it knew.
func (s *settler) wake() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

func (s *settler) start() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.started = true
	go s.run()
}

// stop tries once to store what is left, and then returns. What somebody else has locked at that time comes again later.
func (s *settler) stop() {
	s.mutex.Lock()
	s.stopped = true
	started := s.started
	s.mutex.Unlock()
	s.wake()
	if started {
		<-s.finished
	}
}

// run stores what is due until stop was called.
func (s *settler) run() {
	defer close(s.finished)
	for {
		ledgers, next, stopped := s.take()
		began := processTime()
		for some := range slices.Chunk(ledgers, settleBatch) {
			s.settle(portionsOf(some, stopped))
		}
		if len(ledgers) > 0 {
			s.took.Store(int64(processTime().Sub(began)))
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
func (s *settler) rest(until time.Time) {
	if until.IsZero() {
		<-s.changed
		return
	}
	timer := time.NewTimer(until.Sub(processTime()))
	defer timer.Stop()
	select {
	case <-s.changed:
	case <-timer.C:
	}
}

// take takes the ledgers that are due, in the order of their subscriptions, and returns when the next one is. When the settler
// was stopped, all are due.
func (s *settler) take() (ledgers []*ledger, next time.Time, stopped bool) {
	now := processTime()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for l := s.due.next(); l != nil; l = s.due.next() {
		if !s.stopped && l.at.After(now) {
			next = l.at
			break
		}
		s.due.remove(l)
		ledgers = append(ledgers, l)
	}
	s.ended = s.stopped
	slices.SortFunc(ledgers, func(a, b *ledger) int { return cmp.Compare(a.no, b.no) })
	return ledgers, next, s.stopped
}

func portionsOf(ledgers []*ledger, whole bool) []*portion {
	portions := make([]*portion, 0, len(ledgers))
	for _, l := range ledgers {
		if p := l.portion(whole); p != nil {
			portions = append(portions, p)
		}
	}
	return portions
}

// settle stores some portions in one transaction. If the data of one portion makes it fail, each is stored by itself.
func (s *settler) settle(portions []*portion) {
	if len(portions) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), settlePatience)
	defer cancel()
	err := s.write(ctx, portions)
	conflict := database.IsConflict(err)
	if err != nil && !conflict && (len(portions) == 1 || isPassing(err)) {
		s.logger.Warn("could not store which deliveries were sent; those that are not acknowledged are sent again",
			"subscriptions", len(portions), "error", err)
	}
	for _, p := range portions {
		switch {
		case err == nil:
			s.conclude(p)
		case conflict:
			p.ledger.putBack(p)
			s.add(p.ledger, settleRetry)
		case isPassing(err):
			// When the database is back, it may have lost commits, and the logs may have grown again past lost places.
			p.ledger.fence(errConsumerLost)
			answer(p.waiters, settlement{err: err})
		case len(portions) > 1:
			s.settle([]*portion{p})
		default:
			p.ledger.fence(err)
			answer(p.waiters, settlement{err: err})
		}
	}
}

func (s *settler) write(ctx context.Context, portions []*portion) (err error) {
	defer fault.Recover(&err) // nobody else recovers on the settler's goroutine
	return s.db.Write(ctx, func(tx *database.Tx) error { return settleIn(tx, portions) })
}

// isPassing reports whether an error only means that the database was unavailable.
func isPassing(err error) bool {
	return database.IsUnavailable(err) || database.IsCommitUnknown(err) || errors.Is(err, context.DeadlineExceeded)
}

// conclude tells a ledger what became of its portion.
func (s *settler) conclude(p *portion) {
	switch {
	case p.skipped:
		p.ledger.putBack(p)
		s.add(p.ledger, lockedRetry)
	case p.refused != nil:
		p.ledger.fence(p.refused)
		answer(p.waiters, settlement{err: errConsumerLost})
	default:
		p.ledger.noteSettled(p)
	}
}
