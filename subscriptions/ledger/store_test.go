package ledger

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/subscriptions/record"
)

// streamed is a subscription with a ledger, whose stream is the consumer with the name "active".
type streamed struct {
	db    *database.DB
	clock *databasetest.Clock
	sub   *record.Subscription
}

// eachStreamed runs a test for each engine.
func eachStreamed(t *testing.T, run func(t *testing.T, s *streamed)) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			s := &streamed{clock: databasetest.NewClock()}
			s.db = databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine), Clock: s.clock.Now})
			s.sub = &record.Subscription{
				ID: record.IDPrefix + "1", Subscriber: "bob", Name: "work", AcknowledgeSeconds: 30, MaxAttempts: 10,
				CreatedAt: s.clock.Now(), ExpiresAt: s.clock.Now().Add(time.Hour),
			}
			require.NoError(t, s.db.Write(t.Context(), func(tx *database.Tx) error {
				inserted, err := record.Insert(tx, s.sub)
				require.True(t, inserted)
				return err
			}))
			run(t, s)
		})
	}
}

// change changes the stored subscription.
func (s *streamed) change(t *testing.T, decide record.Decision) {
	require.NoError(t, record.NewGroupCommit(s.db).Change(t.Context(), s.sub.No, record.Wanted{}, decide))
}

// settle stores portions, unless a transaction is rolled back for a reason.
func (s *streamed) settle(t *testing.T, rolledBack error, portions ...*portion) {
	require.ErrorIs(t, s.db.Write(t.Context(), func(tx *database.Tx) error {
		return errors.Join(settleIn(tx, portions), rolledBack)
	}), rolledBack)
}

// What a stream has sent is stored only as long as it has the lease, and while the subscription's numbers are those that it knows.
func TestWhatAStreamSentIsStoredOnlyWhileItIsTheConsumer(t *testing.T) {
	eachStreamed(t, func(t *testing.T, s *streamed) {
		s.change(t, func(c *record.Change) error {
			c.Locked.Consumer, c.Locked.ConsumerUntil = "active", c.Now.Add(record.LeaseTime)
			c.Locked.OfferedThrough, c.Locked.LastNumber, c.Locked.ReservedThrough = 5, 5, 5
			return nil
		})
		// The outcome of storing nothing but the reservation of further numbers.
		settle := func(adjust func(p *portion)) error {
			p := &portion{ledger: &Ledger{no: s.sub.No, Consumer: "active"}, settled: 5, given: 5, last: 5, end: 5}
			adjust(p)
			s.settle(t, nil, p)
			require.False(t, p.skipped)
			return p.refused
		}
		for name, adjust := range map[string]func(p *portion){
			"another one is the consumer":          func(p *portion) { p.ledger.Consumer = "replaced" },
			"the database lost what was stored":    func(p *portion) { p.settled = 6 },
			"somebody else gave numbers":           func(p *portion) { p.last = 4 },
			"somebody else reserved numbers":       func(p *portion) { p.end = 4 },
			"the database lost reserved numbers":   func(p *portion) { p.end = 6 },
			"a position lies beyond the log's end": func(p *portion) { p.positions = map[int64]int64{4711: 1} },
		} {
			require.ErrorIs(t, settle(adjust), record.ErrConsumerLost, name)
		}
		require.NoError(t, settle(func(*portion) {}))
		s.clock.Advance(time.Hour)
		require.ErrorIs(t, settle(func(*portion) {}), record.ErrEnded)
	})
}

// A transaction may run again after a conflict, and finds its portions as they were.
func TestAnEntryIsStoredAfterItsTransactionWasRolledBack(t *testing.T) {
	eachStreamed(t, func(t *testing.T, s *streamed) {
		l := NewSettler(s.db, nil).NewLedger(s.sub, "active", func() {})
		s.change(t, func(c *record.Change) error {
			c.Locked.Consumer, c.Locked.ConsumerUntil = "active", c.Now.Add(record.LeaseTime)
			l.Begin(c.Locked)
			return nil
		})
		given, err := l.Give(record.Delivery{DueAt: s.clock.Now(), Attempts: 1})
		require.NoError(t, err)
		delete(l.moved, 0) // there is no intent
		portions := portionsOf([]*Ledger{l}, true)
		portions[0].further = record.BlockSize
		for _, rolledBack := range []error{errors.New("rolled back"), nil} {
			s.settle(t, rolledBack, portions...)
			require.NoError(t, portions[0].refused)
		}
		l.noteSettled(portions[0])
		var kept []record.Delivery
		var now *record.Subscription
		require.NoError(t, s.db.Read(t.Context(), func(tx *database.Tx) error {
			kept, err = record.Deliveries(tx, record.UnfinishedOf(tx), "", s.sub.No)
			require.NoError(t, err)
			now, err = record.Find(tx, s.sub.ID)
			return err
		}))
		require.Equal(t, []int64{given.Number}, record.NumbersOf(kept))
		require.Equal(t, given.Number, now.LastNumber)
		require.Equal(t, given.Number+2*record.BlockSize-1, now.ReservedThrough)
	})
}
