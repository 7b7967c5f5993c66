package subscriptions

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// aDay is how far these tests set the clock back: much further than anything can wait.
const aDay = 24 * time.Hour

func TestAClockSetBackPutsOffNoPost(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var works atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if works.Load() {
				return http.StatusOK
			}
			return http.StatusBadRequest
		})
		intentID := h.intent(t)
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		h.send(t, "a", h.open(t, intentID, "news"), "b", "late")
		eventually(t, func() bool { return h.get(t, sub).GetLastError() != "" }, "the post has failed")
		works.Store(true)
		h.clock.Advance(-aDay)
		require.Equal(t, "late", endpoint.await(t, 1)[0])
	}, webhooked, restless)
}

func TestAClockSetBackPutsOffNoDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(20)), MaxAttempts: ptr(int32(2)),
		})
		h.send(t, "ann", channel, "bob", "one")
		s := h.stream(t, sub, nil)
		require.Equal(t, int32(1), s.next(t).GetAttempt())
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 1 }, "the delivery is stored")
		h.clock.Advance(-aDay)
		require.Equal(t, int32(2), s.next(t).GetAttempt())
		h.clock.Advance(-aDay)
		eventually(t, func() bool { return h.get(t, sub).GetDeadLetterCount() == 1 }, "the delivery is given up")
	}, restless)
}
