package subscriptions

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/record"
)

// If a stream of an agent's own log has delivered what the database has lost, it ends with an error, and a cursor from that
// stream is refused.
func TestAnOwnLogThatWentBackEndsItsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		first := h.follow(t, "bob", nil)
		requireNext(t, first, "0 caught up")
		h.send(t, "ann", talk, "bob", "kept")
		requireNext(t, first, "1 kept")
		first.cancel()
		_ = first.end(t)

		past := databasetest.Remember(t, h.db, "before")
		live := h.follow(t, "bob", nil)
		requireNext(t, live, "1 caught up")
		h.send(t, "ann", talk, "bob", "lost")
		requireNext(t, live, "2 lost")
		past.PutBack(t)
		h.clock.Advance(time.Second) // so that the head differs
		h.send(t, "ann", talk, "bob", "another")
		faulttest.Require(t, live.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
		beyond := int64(2)
		_, err := h.tryFollow(as("bob"), t, "bob", &beyond)
		faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")

		again := h.follow(t, "bob", nil)
		requireNext(t, again, "2 caught up")
		h.send(t, "ann", talk, "bob", "after")
		requireNext(t, again, "3 after")
	})
}

// A stream gives no number again that the database has lost: who acknowledges it acknowledges nothing else.
func TestAStreamGivesNoLostNumberAgain(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		talk := h.open(t, h.intent(t), "talk")
		for _, stored := range []bool{true, false} { // before it is sent, as in subscriptions with digests
			input := &createInput{ChannelId: &talk}
			if stored {
				input.DigestSeconds = ptr(int32(600))
			}
			sub := h.subscribe(t, "bob", input)
			name := fmt.Sprint("before_", stored)
			var past *databasetest.Past
			var s *stream[wireDelivery]
			if stored { // the database still knows the stream
				s = h.stream(t, sub, nil)
				h.send(t, "ann", talk, "bob", "kept")
				h.acknowledge(t, sub, s.next(t).GetNumber())
				past = databasetest.Remember(t, h.db, name)
			} else {
				past = databasetest.Remember(t, h.db, name)
				s = h.stream(t, sub, nil)
				h.warmUp(t, s, sub, talk)
			}
			h.send(t, "ann", talk, "bob", "lost")
			lost := s.next(t)
			require.Equal(t, "lost", textOf(lost.GetMessage()))
			past.PutBack(t)
			h.clock.Advance(time.Second) // so that the entries differ
			for _, text := range []string{"another", "a further one"} {
				h.send(t, "ann", talk, "bob", text)
				d := s.next(t)
				require.Equal(t, text, textOf(d.GetMessage()))
				require.Greater(t, d.GetNumber(), lost.GetNumber())
			}
			_, err := h.tryAcknowledge(sub, 0, lost.GetNumber())
			faulttest.Require(t, err, fault.VersionMismatch, "DELIVERY_COMES_AGAIN")
			s.cancel()
			require.ErrorIs(t, s.end(t), context.Canceled)
			require.Equal(t, int64(2), h.get(t, sub).GetOutstandingCount())
		}
	})
}

// Another replica has given the lost numbers of an agent's own log to other messages before a stream that has sent the lost ones looks. The
// stream ends.
func TestAnOwnLogThatWasNumberedAnewEndsItsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		first := h.follow(t, "bob", nil)
		requireNext(t, first, "0 caught up")
		h.send(t, "ann", talk, "bob", "kept")
		requireNext(t, first, "1 kept")
		past := databasetest.Remember(t, h.db, "before")
		h.clock.Advance(time.Second) // so that the entries differ
		h.send(t, "ann", talk, "bob", "lost")
		requireNext(t, first, "2 lost")
		h.send(t, "ann", talk, "bob", "lost, too")
		requireNext(t, first, "3 lost, too")

		release := h.subscriptions.ownLogs.Hold("bob")
		past.PutBack(t)
		var own *record.Subscription
		require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) (err error) {
			own, err = record.FindNamed(tx, "bob", record.OwnName)
			return err
		}))
		h.clock.Advance(time.Second)
		for _, text := range []string{"another", "a further one", "one more"} {
			h.send(t, "ann", talk, "bob", text)
		}
		h.looking(t, own).gatherAll(t)
		release()
		faulttest.Require(t, first.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
	})
}

// If an agent's log was lost completely and another agent's log was created in its place, the stream does not continue with the
// other log.
func TestALostOwnLogEndsItsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		talk := h.open(t, h.intent(t), "talk")
		past := databasetest.Remember(t, h.db, "before")
		lost := h.follow(t, "bob", nil)
		requireNext(t, lost, "0 caught up")
		past.PutBack(t)
		other := h.follow(t, "carol", nil)
		requireNext(t, other, "0 caught up")
		h.send(t, "ann", talk, "bob", "to bob")
		h.send(t, "ann", talk, "carol", "to carol")
		requireNext(t, other, "1 to carol")
		faulttest.Require(t, lost.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
	})
}

// A gatherer has looked at messages that are not for the subscriber, and those messages are lost. It gathers the messages that
// take their places, also if the log has grown beyond these places when it looks again.
func TestAGathererForgetsHowFarItLookedAtALostLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		for name, req := range map[string]*createInput{"narrow": {IntentId: &intentID}, "wide": {}} {
			req.MessageType = request.Enum()
			h.asks(t, "ann", talk, "bob", "before it subscribes")
			sub, err := h.subscriptions.find(as("bob"), h.subscribe(t, "bob", req).GetId())
			require.NoError(t, err)
			r := h.looking(t, sub)
			gather := func() {
				seen, err := r.refresh(t.Context())
				require.NoError(t, err)
				_, err = r.gatherer.Gather(t.Context(), seen)
				require.NoError(t, err)
			}
			past := databasetest.Remember(t, h.db, name)
			for further := range 5 {
				h.clock.Advance(time.Second) // so that the entries differ from those that are lost
				for range 3 {
					h.send(t, "ann", talk, "bob", "not asked for")
				}
				gather()
				require.Len(t, r.gatherer.Scanned, 1, "%s %d", name, further)
				past.PutBack(t)
				h.clock.Advance(time.Second)
				h.asks(t, "ann", talk, "bob", "asked for")
				for range further {
					h.send(t, "ann", talk, "bob", "not asked for")
				}
				gather()
				require.Equal(t, 1, h.rows(t, "subscription_deliveries", "subscription_no = ?", sub.No), "%s, %d more", name, further)
				past.PutBack(t)
			}
		}
	})
}

// A stream has sent a message that is lost before anything of it is stored. What takes the message's place comes under another number, and the
// stream stores nothing of what is lost.
func TestAStreamSendsWhatTakesThePlaceOfALostMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		for name, req := range map[string]*createInput{"narrow": {IntentId: &intentID}, "wide": {}} {
			sub := h.subscribe(t, "bob", req)
			s := h.stream(t, sub, nil)
			h.warmUp(t, s, sub, talk)
			past := databasetest.Remember(t, h.db, name)
			h.send(t, "ann", talk, "bob", "lost")
			lost := s.next(t)
			require.Equal(t, "lost", textOf(lost.GetMessage()))
			past.PutBack(t)
			h.clock.Advance(time.Second) // so that the entries differ
			h.send(t, "ann", talk, "bob", "another")
			d := s.next(t)
			require.Equal(t, "another", textOf(d.GetMessage()), name)
			require.Greater(t, d.GetNumber(), lost.GetNumber())
			h.send(t, "ann", talk, "bob", "after")
			require.Equal(t, "after", textOf(s.next(t).GetMessage()), name)
			s.cancel()
			require.ErrorIs(t, s.end(t), context.Canceled)
		}
	})
}
