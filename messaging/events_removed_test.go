package messaging

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// removeEvents removes all events but the newest of each log, as a replica that keeps events for an hour does two hours later.
func (h *house) removeEvents(t *testing.T) {
	t.Helper()
	h.clock.Advance(2 * time.Hour)
	sweeper := intents.New(intents.Config{DB: h.db, EventRetention: time.Hour})
	require.NoError(t, sweeper.SweepEvents(context.Background()))
}

// tryIntent begins a stream of an intent after a position.
func (h *house) tryIntent(t *testing.T, intentID string, after int64, types ...string) (*streaming, error) {
	t.Helper()
	f, err := h.trySubscribe(as("bob"), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intentID}, AfterPosition: &after, EventTypes: types,
	})
	if err == nil {
		t.Cleanup(f.cancel)
	}
	return f, err
}

func TestAStreamIsNotResumedBeforeRemovedEvents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		h.say(t, "alice", id, "before")
		h.log(t, intentID, "removed")
		removed := h.positionOf(t, id)
		h.say(t, "alice", id, "after")
		h.log(t, intentID, "left")
		_, err := h.tryIntent(t, intentID, 1)
		require.NoError(t, err)
		h.removeEvents(t)

		refusal := faulttest.Require(t, errorOf(h.tryIntent(t, intentID, 1)), fault.Conflict, "EVENTS_REMOVED")
		require.Equal(t, strconv.FormatInt(removed, 10), refusal.Metadata["removed_through"])
		faulttest.Require(t, errorOf(h.tryIntent(t, intentID, removed-1, "comment")), fault.Conflict, "EVENTS_REMOVED")
		f, err := h.tryIntent(t, intentID, removed)
		require.NoError(t, err)
		require.Equal(t, []string{"after", "[left]"}, f.said(t, 2))
		f, err = h.tryIntent(t, intentID, 0)
		require.NoError(t, err, "all that is left")
		require.Equal(t, []string{"before", "after", "[left]"}, f.said(t, 3))
		f, err = h.tryIntent(t, intentID, 1, "channel_message")
		require.NoError(t, err, "messages only")
		require.Equal(t, []string{"before", "after"}, f.said(t, 2))
		require.Equal(t, []string{"before", "after"}, h.follow(t, "bob", id, ptr(int64(1))).texts(t, 2), "a channel has no logged events")
	})
}

func errorOf(_ *streaming, err error) error { return err }

// A follower that has fallen behind, and would skip what was removed meanwhile, ends with the reason.
func TestASlowFollowerEndsBeforeRemovedEvents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(5000))}})
		intentID := h.channel(t, id).GetIntentId()
		slow, quick := h.followIntent(t, "bob", id), h.followIntent(t, "carol", id)
		h.fill(t, id, "alice", 1300)
		h.log(t, intentID, "removed")
		require.Len(t, quick.texts(t, 1300), 1300)
		require.Equal(t, []string{"[removed]"}, quick.said(t, 1))
		h.fill(t, id, "alice", 1300)
		h.log(t, intentID, "left")
		h.removeEvents(t)
		err := drain(t, slow, 1300)
		faulttest.Require(t, err, fault.Conflict, "EVENTS_REMOVED")
		require.Len(t, quick.texts(t, 1300), 1300, "whoever has passed them goes on")
		require.Equal(t, []string{"[left]"}, quick.said(t, 1))
	})
}

// drain receives until a stream ends, at most so many messages, and returns the reason of the end.
func drain(t *testing.T, f *streaming, most int) error {
	t.Helper()
	for range most {
		select {
		case d := <-f.deliveries:
			require.NotNil(t, d.GetMessage())
		case err := <-f.ended:
			return err
		case <-time.After(patience):
			require.Fail(t, "nothing comes")
		}
	}
	require.Fail(t, "the stream has not ended")
	return nil
}
