package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// A stream that ends late leaves alone the lease of the one that has replaced it.
func TestAConsumerReleasesItsOwnLeaseAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		found, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
		require.NoError(t, err)
		active, replaced := h.subscriptions.supplier.NewConsumer(found.No), h.subscriptions.supplier.NewConsumer(found.No)
		taken, _, err := active.Acquire(t.Context(), found, h.clock.Now(), record.Wanted{})
		require.NoError(t, err)
		require.NotNil(t, taken)
		leased := func() int {
			return h.rows(t, "subscriptions", "consumer = ? AND consumer_until IS NOT NULL", active.Name)
		}
		require.NoError(t, replaced.Release(t.Context(), true))
		require.Equal(t, 1, leased())
		require.NoError(t, active.Release(t.Context(), true))
		require.Zero(t, leased())
	})
}

// A replica renews no lease that another replica's consumer has taken, although its own consumer has not noticed yet.
func TestAReplicaRenewsItsOwnLeasesAlone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		found, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
		require.NoError(t, err)
		ours := h.subscriptions.supplier.NewConsumer(found.No)
		taken, _, err := ours.Acquire(t.Context(), found, h.clock.Now(), record.Wanted{})
		require.NoError(t, err)
		require.NotNil(t, taken)
		h.clock.Advance(time.Second)
		until := func() int { // as renewed now
			return h.rows(t, "subscriptions", "consumer_until = ?", database.Micros(h.clock.Now().Add(record.LeaseTime)))
		}
		require.NoError(t, h.subscriptions.supplier.Renew(t.Context()))
		require.Equal(t, 1, until())
		require.NoError(t, h.subscriptions.changes.Change(t.Context(), found.No, record.Wanted{}, func(c *record.Change) error {
			c.Locked.Consumer = "of another replica"
			return nil
		}))
		h.clock.Advance(time.Second)
		require.NoError(t, h.subscriptions.supplier.Renew(t.Context()))
		require.Zero(t, until())
	})
}
