package subscriptions

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
)

// receiverFor makes a receiver that looks by hand.
func (h *house) receiverFor(t *testing.T, sub *subscription) *receiver {
	r := h.subscriptions.receiverFor(sub, false)
	t.Cleanup(r.close)
	return r
}

// gatherAll looks and gathers until there is nothing more to look at. It returns the progress of each look.
func (r *receiver) gatherAll(t *testing.T) (looks []*progress) {
	t.Helper()
	for more := true; more; {
		seen, err := r.refresh(as(r.sub.subscriber))
		require.NoError(t, err)
		_, err = r.gatherer.gather(as(r.sub.subscriber), seen)
		require.NoError(t, err)
		looks, more = append(looks, seen), seen.more
	}
	return looks
}

// A look after a message reads the intent of that message, and none of the others. Another one that begins to reach the subscriber is read
// alone, too.
func TestALookReadsOnlyWhatHasMoved(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var channels []string
		for range 4 {
			channels = append(channels, h.open(t, h.intent(t), "talk"))
			h.send(t, "bob", channels[len(channels)-1], "eve", "x")
		}
		sub, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
		require.NoError(t, err)
		r := h.receiverFor(t, sub)
		h.send(t, "ann", channels[0], "bob", "before the first look")
		first := r.gatherAll(t)
		require.Len(t, first, 1)
		require.Len(t, first[0].backlogs, 1)
		require.Len(t, first[0].states, 1, "the others have not grown")
		require.Empty(t, r.gatherAll(t)[0].states, "nothing has happened")
		h.send(t, "ann", channels[1], "bob", "x")
		seen := r.gatherAll(t)[0]
		require.Len(t, seen.states, 1)
		require.Len(t, seen.backlogs, 1)
		h.send(t, "ann", h.open(t, h.intent(t), "talk"), "bob", "x")
		seen = r.gatherAll(t)[0]
		require.Len(t, seen.states, 1, "a further intent begins to reach the agent")
		require.Len(t, seen.backlogs, 1)
		require.Empty(t, r.gatherAll(t)[0].states)
		r.gatherer.beginPass()
		require.Empty(t, r.gatherAll(t)[0].backlogs, "a pass")
		require.Equal(t, 3, h.rows(t, "subscription_deliveries", "1 = 1"))
	})
}

// A look finds a bounded number of intents that have grown, and goes on with the others. What was read in very many intents without finding
// anything is stored, so that the next receiver need not read it again.
func TestALookOfWhoIsFarBehindIsBrief(t *testing.T) {
	h := newHouse(t, database.SQLite)
	var channels []string
	for n := range maxBehind + 40 {
		channels = append(channels, h.open(t, h.intent(t), "talk"))
		h.send(t, "bob", channels[n], "eve", "x")
	}
	sub, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", &createInput{}).GetId())
	require.NoError(t, err)
	for n, channel := range channels {
		to := "eve"
		if n%2 == 0 {
			to = "bob"
		}
		h.send(t, "ann", channel, to, fmt.Sprint(n))
	}
	r := h.receiverFor(t, sub)
	looks := r.gatherAll(t)
	require.Len(t, looks, 2)
	require.Len(t, looks[0].backlogs, maxBehind)
	require.Len(t, looks[1].backlogs, 40)
	require.Equal(t, len(channels)/2, h.rows(t, "subscription_deliveries", "1 = 1"))
	require.Empty(t, r.gatherer.behind)
	require.LessOrEqual(t, len(r.gatherer.scanned), maxBehind)

	for range 2 { // what is scanned counts beside what was scanned before
		for _, channel := range channels {
			h.send(t, "ann", channel, "eve", "x")
		}
		r.gatherAll(t)
	}
	require.LessOrEqual(t, len(r.gatherer.scanned), maxBehind)
	again := h.receiverFor(t, sub).gatherAll(t)
	require.Less(t, len(again[0].backlogs), maxBehind, "the others are stored")
}
