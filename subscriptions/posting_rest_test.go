package subscriptions

import (
	"net/http"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// An endpoint that is left alone is tried again although the clock was set back meanwhile: by that clock it would be left alone too long.
func TestAClockSetBackEndsTheRestOfAnEndpoint(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var works atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if works.Load() {
				return http.StatusOK
			}
			return http.StatusInternalServerError
		})
		const failures = 5 // open the circuit
		intentID := h.intent(t)
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		for i := range failures {
			h.send(t, "a", h.open(t, intentID, "news "+strconv.Itoa(i)), "b", "late")
		}
		left := h.subscriptions.webhooks.Resting
		eventually(t, func() bool { return left(endpoint.URL) > 0 }, "the endpoint failed too often")
		h.clock.Advance(2 * time.Second) // by now the posts are due again
		eventually(t, func() bool {
			until, busy := h.subscriptions.poster.Resting()
			for _, at := range until {
				return busy == 0 && at.Equal(h.clock.Now().Add(left(endpoint.URL)).UTC())
			}
			return false
		}, "the subscription rests as long as the endpoint is left alone")
		works.Store(true)
		h.clock.Advance(-aDay)
		require.NotEmpty(t, endpoint.await(t, 1), "a single post, which tries the endpoint")
	}, webhooked, restless)
}
