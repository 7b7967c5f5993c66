package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/messaging/reading"
)

// What a stream has sent is stored only as long as it has the lease, and while the subscription's numbers are those that it knows.
func TestWhatAStreamSentIsStoredOnlyWhileItIsTheConsumer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		sub := h.subscribe(t, "bob", &createInput{ExpiresAt: h.in(time.Hour)})
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		require.NoError(t, h.subscriptions.changes.change(t.Context(), found.no, wanted{}, func(c *change) error {
			c.locked.consumer, c.locked.consumerUntil = "active", c.now.Add(leaseTime)
			c.locked.offeredThrough, c.locked.lastNumber, c.locked.reservedThrough = 5, 5, 5
			return nil
		}))
		// The outcome of storing nothing but the reservation of further numbers.
		settle := func(adjust func(p *portion)) error {
			p := &portion{ledger: &ledger{no: found.no, name: "active"}, settled: 5, given: 5, last: 5, end: 5}
			adjust(p)
			require.NoError(t, h.db.Write(t.Context(), func(tx *database.Tx) error { return settleIn(tx, []*portion{p}) }))
			require.False(t, p.skipped)
			return p.refused
		}
		for name, adjust := range map[string]func(p *portion){
			"another one is the consumer":          func(p *portion) { p.ledger.name = "replaced" },
			"the database lost what was stored":    func(p *portion) { p.settled = 6 },
			"somebody else gave numbers":           func(p *portion) { p.last = 4 },
			"somebody else reserved numbers":       func(p *portion) { p.end = 4 },
			"the database lost reserved numbers":   func(p *portion) { p.end = 6 },
			"a position lies beyond the log's end": func(p *portion) { p.positions = map[int64]int64{4711: 1} },
		} {
			require.ErrorIs(t, settle(adjust), errConsumerLost, name)
		}
		require.NoError(t, settle(func(*portion) {}))
		h.clock.Advance(time.Hour)
		require.ErrorIs(t, settle(func(*portion) {}), errEnded)
	})
}

// A stream that ends late leaves alone the lease of the one that has replaced it.
func TestAConsumerReleasesItsOwnLeaseAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		found, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
		require.NoError(t, err)
		active, replaced := h.subscriptions.newConsumer(found.no), h.subscriptions.newConsumer(found.no)
		taken, _, err := active.acquire(t.Context(), found, h.clock.Now(), wanted{})
		require.NoError(t, err)
		require.NotNil(t, taken)
		leased := func() int {
			return h.rows(t, "subscriptions", "consumer = ? AND consumer_until IS NOT NULL", active.name)
		}
		require.NoError(t, replaced.release(t.Context(), true))
		require.Equal(t, 1, leased())
		require.NoError(t, active.release(t.Context(), true))
		require.Zero(t, leased())
	})
}

// A replica renews no lease that another replica's consumer has taken, although its own consumer has not noticed yet.
func TestAReplicaRenewsItsOwnLeasesAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		found, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
		require.NoError(t, err)
		ours := h.subscriptions.newConsumer(found.no)
		taken, _, err := ours.acquire(t.Context(), found, h.clock.Now(), wanted{})
		require.NoError(t, err)
		require.NotNil(t, taken)
		h.clock.Advance(time.Second)
		until := func() int { // as renewed now
			return h.rows(t, "subscriptions", "consumer_until = ?", database.Micros(h.clock.Now().Add(leaseTime)))
		}
		require.NoError(t, h.subscriptions.renew(t.Context()))
		require.Equal(t, 1, until())
		require.NoError(t, h.subscriptions.changes.change(t.Context(), found.no, wanted{}, func(c *change) error {
			c.locked.consumer = "of another replica"
			return nil
		}))
		h.clock.Advance(time.Second)
		require.NoError(t, h.subscriptions.renew(t.Context()))
		require.Zero(t, until())
	})
}

// A fetch that numbers after the lease of a stream has run out takes everything from that stream: the mark by which it would go on, and
// what is left of the numbers that it has reserved.
func TestAFetchFencesAStreamWhoseLeaseHasRunOut(t *testing.T) {
	now := time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	leased := func(until time.Time) *change {
		return &change{now: now, locked: &subscription{
			name: "work", consumer: "stream", consumerUntil: until, lastNumber: 3, reservedThrough: 10,
		}}
	}
	c := leased(now)
	require.NoError(t, c.beginNumbering(""))
	require.Equal(t, fenced, c.locked.consumer)
	require.True(t, c.locked.consumerUntil.IsZero())
	require.Equal(t, int64(10), c.locked.lastNumber)
	require.True(t, c.locked.wasAbandoned(4))

	c = leased(now.Add(time.Microsecond))
	require.ErrorIs(t, c.beginNumbering(""), errInUse, "the lease has not run out")
	require.ErrorIs(t, c.beginNumbering("another stream"), errConsumerLost)
	require.Equal(t, int64(3), c.locked.lastNumber)
	require.NoError(t, c.beginNumbering("stream"))
	require.Equal(t, "stream", c.locked.consumer)
}

// What was read before an agent's own log began to number annotations has none of them. It is read anew, instead of numbered.
func TestWhatWasReadWithoutAnnotationsIsReadAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		stale, err := h.subscriptions.ownLog(t.Context(), "bob")
		require.NoError(t, err)
		channel := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", channel, "bob", "one")
		var intentNo int64
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.ReadValue(&intentNo, "SELECT intent_no FROM intent_heads"))
		}))
		page, err := h.messaging.ReadFeed(t.Context(), stale.feed(intentNo), 0, gatherPage)
		require.NoError(t, err)
		require.Len(t, page.Entries, 1)

		other, err := h.subscriptions.ownLog(t.Context(), "bob")
		require.NoError(t, err)
		require.NoError(t, h.subscriptions.numberAnnotations(t.Context(), other)) // as another replica does
		require.False(t, stale.filter.Annotations)
		number := func() []numbered {
			found, _, err := h.subscriptions.number(t.Context(), stale, "", intentNo, 0, page.Through, page.Entries)
			require.NoError(t, err)
			return found
		}
		require.Empty(t, number())
		require.True(t, stale.filter.Annotations, "the next reading has them")
		require.Equal(t, []string{reading.IncludeAnnotations}, stale.include)
		require.Len(t, number(), 1)
	})
}
