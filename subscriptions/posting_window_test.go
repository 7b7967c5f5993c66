package subscriptions

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database/databasetest"
	"openintent/subscriptions/record"
)

// A lone post takes three transactions: one numbers the delivery, one takes the lease, and one stores the outcome and releases the lease.
func TestALonePostTakesThreeTransactions(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			locked := new(locks)
			h := newHouse(t, engine, locked.count, webhooked)
			endpoint := newHook(t, nil)
			intentID := h.intent(t)
			channelID := h.open(t, intentID, "news")
			sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
			for sent := range 3 {
				locked.Store(0)
				h.send(t, "a", channelID, "b", fmt.Sprint("message ", sent))
				h.settled(t, sub, int64(sent+1))
				eventually(t, func() bool { return h.rows(t, "subscriptions", "consumer IS NOT NULL") == 0 }, "the lease was not released")
				require.Equal(t, int64(3), locked.Load())
			}
			require.Len(t, endpoint.all(), 3)
		})
	}
}

// The poster gathers the rest of a long backlog as soon as its posts have made room. It needs no wake-up for that.
func TestABacklogLongerThanTheWindowIsPosted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		begun, proceed := make(chan struct{}, 1), make(chan struct{})
		endpoint := newHook(t, func(p arrival) int {
			if p.text() == "first" {
				begun <- struct{}{}
				<-proceed
			}
			return http.StatusOK
		})
		intentID := h.intent(t)
		channels := []string{h.open(t, intentID, "news"), h.open(t, intentID, "talk")} // one channel keeps no more than a window
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", channels[0], "b", "first")
		<-begun
		const backlog = record.MaxUnfinished + 5
		var sending sync.WaitGroup
		for sender := range 5 {
			sending.Go(func() {
				for range backlog / 5 {
					h.sendAside(t, fmt.Sprint("sender-", sender), channels[sender%2], "b", "more")
				}
			})
		}
		sending.Wait()
		close(proceed)
		h.settled(t, sub, 1+backlog)
		require.Len(t, endpoint.all(), 1+backlog)
	}, webhooked)
}
