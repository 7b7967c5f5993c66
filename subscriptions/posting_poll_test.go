package subscriptions

import (
	"testing"
	"time"

	"openintent/messaging/reading"

	"github.com/stretchr/testify/require"
)

// A poll causes an examination of the subscriptions that may have missed something, and leaves the others at rest.
func TestAPollExaminesOnlyWhatMissedSomething(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, nil)
		p := h.subscriptions.poster
		var channelIDs []string
		for range 2 {
			intentID := h.intent(t)
			channelIDs = append(channelIDs, h.open(t, intentID, "news"))
			h.subscribe(t, "b", &createInput{
				IntentId: &intentID, WebhookUrl: &endpoint.URL, EventTypes: []string{reading.MessageEventType},
			})
		}
		h.subscribe(t, "b", &createInput{WebhookUrl: &endpoint.URL})
		resting := func() (until map[int64]time.Time) {
			eventually(t, func() bool {
				p.mutex.Lock()
				defer p.mutex.Unlock()
				until = make(map[int64]time.Time)
				for _, f := range p.followed {
					if f.scheduled() {
						until[f.no] = f.at
					}
				}
				return len(until) == 3
			}, "the subscriptions did not come to rest")
			return until
		}
		h.send(t, "a", channelIDs[0], "b", "woken for")
		endpoint.await(t, 2)
		before := resting()
		require.NoError(t, h.subscriptions.poll(t.Context()))
		require.Equal(t, before, resting(), "no subscription has missed anything")

		p.mutex.Lock()
		for _, f := range p.followed {
			f.watch.Close()
		}
		p.mutex.Unlock()
		h.send(t, "a", channelIDs[1], "b", "not woken for")
		require.NoError(t, h.subscriptions.poll(t.Context()))
		endpoint.await(t, 4)
		rested := 0
		for no, until := range resting() {
			if until.Equal(before[no]) {
				rested++
			}
		}
		require.Equal(t, 1, rested, "two subscriptions have missed something")
	}, posting)
}
