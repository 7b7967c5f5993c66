package subscriptions

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A look of a stream of an agent's own log after a message reads the intent of that message, and none of the others. What may change
// from where something reaches the agent takes a whole reading, and so does a look without a wake-up.
func TestALookReadsOnlyWhatHasMoved(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var channels []string
		for range 4 {
			intent := h.intent(t)
			channels = append(channels, h.open(t, intent, "talk"))
			h.send(t, "bob", channels[len(channels)-1], "eve", "x")
			h.send(t, "ann", channels[len(channels)-1], "bob", "the first word to bob there, by which the intent begins to reach bob")
		}
		own, err := h.subscriptions.ownLog(t.Context(), "bob")
		require.NoError(t, err)
		r := h.subscriptions.receiverWith(own, h.messaging.WatchIntentsNoting("bob"))
		defer r.close()
		look := func() *progress {
			t.Helper()
			seen, err := r.refresh(t.Context())
			require.NoError(t, err)
			for i := range seen.backlogs {
				for done := false; !done; {
					_, done, _, err = r.gatherer.step(t.Context(), seen.sub, &seen.backlogs[i], gatherPage)
					require.NoError(t, err)
				}
			}
			return seen
		}
		require.False(t, look().moved, "the first look")
		look() // what it gathered is looked at once more
		require.Empty(t, look().states, "nothing has happened")
		h.send(t, "ann", channels[1], "bob", "x")
		seen := look()
		require.True(t, seen.moved)
		require.Len(t, seen.states, 1)
		require.Len(t, seen.backlogs, 1)
		h.send(t, "ann", h.open(t, h.intent(t), "talk"), "bob", "x")
		seen = look()
		require.False(t, seen.moved, "a further intent begins to reach the agent")
		require.Len(t, seen.states, 5)
		look()
		h.send(t, "ann", channels[2], "bob", "x")
		r.whole = true
		seen = look()
		require.False(t, seen.moved, "a look without a wake-up")
		require.Len(t, seen.backlogs, 1)
	})
}
