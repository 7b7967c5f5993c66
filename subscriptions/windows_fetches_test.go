package subscriptions

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"

	"openintent/subscriptions/waiting"
)

// Fetches at the same time, at two replicas, all see that a window has ended, and one of them numbers it.
func TestFetchesAtTheSameTimeShareWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas = append(replicas, h.replica(t))
		}
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		for range 10 {
			h.send(t, "ann", talk, "bob", "one")
			h.send(t, "ann", talk, "bob", "two")
			require.Empty(t, h.fetch(t, sub))
			h.clock.Advance(waiting.Silence)
			var mutex sync.Mutex
			var found []*wireDelivery
			var all sync.WaitGroup
			for i := range 8 {
				all.Go(func() {
					some, err := replicas[i%len(replicas)].tryFetch(as("bob"), sub, 1000)
					assert.NoError(t, err)
					mutex.Lock()
					defer mutex.Unlock()
					found = append(found, some...)
				})
			}
			all.Wait()
			require.Len(t, found, 1)
			require.Equal(t, []string{"one", "two"}, spoken(found[0]))
			require.Zero(t, h.rows(t, "subscription_waiting", "1 = 1"))
			require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"))
			h.acknowledge(t, sub, found[0].GetNumber())
		}
		require.Empty(t, h.fetch(t, sub), "nothing comes again")
	})
}
