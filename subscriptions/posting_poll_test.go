package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/messaging/reading"
)

// A poll causes an examination of the subscriptions that may have missed something, and leaves the others at rest.
func TestAPollExaminesOnlyWhatMissedSomething(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, webhooked) // nobody looks without a wake-up
	endpoint := newHook(t, nil)
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
			until, _ = h.subscriptions.poster.Resting()
			return len(until) == 3
		}, "the subscriptions did not come to rest")
		return until
	}
	h.send(t, "a", channelIDs[0], "b", "woken for")
	endpoint.await(t, 2)
	before := resting()
	h.pollAll(t)
	require.Equal(t, before, resting(), "no subscription has missed anything")

	h.silent(t).send(t, "a", channelIDs[1], "b", "not woken for")
	h.pollAll(t)
	endpoint.await(t, 4)
	rested := 0
	for no, until := range resting() {
		if until.Equal(before[no]) {
			rested++
		}
	}
	require.Equal(t, 1, rested, "two subscriptions have missed something")
}

// silent is another replica, whose wake-ups do not reach this one, and which posts nothing.
func (h *house) silent(t *testing.T) rooms {
	silent := h.replica(t, webhooked)
	silent.subscriptions.Stop()
	return silent
}

// pollAll looks once for what no wake-up announced.
func (h *house) pollAll(t *testing.T) {
	require.NoError(t, h.messaging.LookForMissed(t.Context()))
	require.NoError(t, h.subscriptions.poll(t.Context()))
}
