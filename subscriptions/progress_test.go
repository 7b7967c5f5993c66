package subscriptions

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/messaging"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// looking looks by hand.
type looking struct {
	sub      *record.Subscription
	gatherer *delivering.Gatherer
	watch    *messaging.Watch
}

func (h *house) looking(t *testing.T, sub *record.Subscription) *looking {
	r := &looking{sub: sub, gatherer: h.subscriptions.supplier.NewGatherer(sub.No, sub.Subscriber, sub.IntentNo)}
	r.watch = h.messaging.Watch(messaging.Watched{Agent: sub.Subscriber, IntentNo: sub.IntentNo})
	r.watch.Subscription(sub.No)
	t.Cleanup(r.watch.Close)
	return r
}

func (r *looking) refresh(ctx context.Context) (*delivering.Progress, error) {
	return r.gatherer.Look(ctx, r.watch)
}

// gatherAll looks and gathers until there is nothing more to look at. It returns the progress of each look.
func (r *looking) gatherAll(t *testing.T) (looks []*delivering.Progress) {
	t.Helper()
	for more := true; more; {
		seen, err := r.refresh(as(r.sub.Subscriber))
		require.NoError(t, err)
		_, err = r.gatherer.Gather(as(r.sub.Subscriber), seen)
		require.NoError(t, err)
		looks, more = append(looks, seen), seen.More
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
		r := h.looking(t, sub)
		h.send(t, "ann", channels[0], "bob", "before the first look")
		first := r.gatherAll(t)
		require.Len(t, first, 1)
		require.Len(t, first[0].Backlogs, 1)
		require.Len(t, first[0].States, 1, "the others have not grown")
		require.Empty(t, r.gatherAll(t)[0].States, "nothing has happened")
		h.send(t, "ann", channels[1], "bob", "x")
		seen := r.gatherAll(t)[0]
		require.Len(t, seen.States, 1)
		require.Len(t, seen.Backlogs, 1)
		h.send(t, "ann", h.open(t, h.intent(t), "talk"), "bob", "x")
		seen = r.gatherAll(t)[0]
		require.Len(t, seen.States, 1, "a further intent begins to reach the agent")
		require.Len(t, seen.Backlogs, 1)
		require.Empty(t, r.gatherAll(t)[0].States)
		r.gatherer.BeginPass()
		require.Empty(t, r.gatherAll(t)[0].Backlogs, "a pass")
		require.Equal(t, 3, h.rows(t, "subscription_deliveries", "1 = 1"))
	})
}

// A look finds a bounded number of intents that have grown, and goes on with the others. What was read in very many intents without finding
// anything is stored, so that the next receiver need not read it again.
func TestALookOfWhoIsFarBehindIsBrief(t *testing.T) {
	h := newHouse(t, database.SQLite)
	var channels []string
	for n := range record.MaxBehind + 40 {
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
	r := h.looking(t, sub)
	looks := r.gatherAll(t)
	require.Len(t, looks, 2)
	require.Len(t, looks[0].Backlogs, record.MaxBehind)
	require.Len(t, looks[1].Backlogs, 40)
	require.Equal(t, len(channels)/2, h.rows(t, "subscription_deliveries", "1 = 1"))
	require.Empty(t, r.gatherer.Behind)
	require.LessOrEqual(t, len(r.gatherer.Scanned), record.MaxBehind)

	for range 2 { // what is scanned counts beside what was scanned before
		for _, channel := range channels {
			h.send(t, "ann", channel, "eve", "x")
		}
		r.gatherAll(t)
	}
	require.LessOrEqual(t, len(r.gatherer.Scanned), record.MaxBehind)
	again := h.looking(t, sub).gatherAll(t)
	require.Less(t, len(again[0].Backlogs), record.MaxBehind, "the others are stored")
}
