package subscriptions

import (
	"testing"

	"openintent/messaging/reading"

	"github.com/stretchr/testify/assert"
)

func TestSubscriptionsAtRestCostNoGoroutine(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		const count = 64
		for range count {
			h.subscribe(t, "b", &createInput{
				IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
			})
		}
		atRest := func() bool {
			until, busy := h.subscriptions.poster.Resting()
			return len(until) == count && busy == 0
		}
		eventually(t, atRest, "the subscriptions did not come to rest")
		h.send(t, "a", channelID, "b", "to all of them")
		endpoint.await(t, count)
		eventually(t, atRest, "the subscriptions did not come to rest again")
		assert.Len(t, endpoint.all(), count)
	}, webhooked)
}
