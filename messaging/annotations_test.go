package messaging

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// annotate stores an annotation of a message, with a signal that tells it from others.
func (h *house) annotate(t require.TestingT, agent string, m *wireMessage, signal string) {
	by := as(agent)
	c, err := caller.Known(by)
	require.NoError(t, err)
	err = h.messaging.HoldMessage(context.Background(), c, agent, m.GetChannelId(), m.GetId(), message.Current, func(seen *Sighting) error {
		return seen.Annotate(message.AnnotationReaction, agent, message.AnnotationDetails{Change: "added", Signal: signal})
	})
	require.NoError(t, err)
}

// annotated is a request for a stream that includes annotations.
func annotated(scope *openintentv1.SubscribeRequest, after *int64) *openintentv1.SubscribeRequest {
	scope.Include, scope.AfterPosition = []string{"annotations"}, after
	return scope
}

func ofChannel(id string) *openintentv1.SubscribeRequest {
	return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: id}}
}

func ofIntent(id string) *openintentv1.SubscribeRequest {
	return &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: id}}
}

// said is what a delivery says in a word: a message's text, an annotation's signal in brackets.
func said(d *wireDelivery) string {
	if a := d.GetAnnotation(); a != nil {
		return "<" + a.GetSignal() + ">"
	}
	if d.GetEvent() != nil {
		return "[" + d.GetEvent().GetEventType() + "]"
	}
	return textOf(d.GetMessage())
}

// replay is what a stream after a position shows until it has caught up, with the positions.
func (h *house) replay(t *testing.T, agent string, req *openintentv1.SubscribeRequest) (shown []string, places []int64) {
	f, err := h.trySubscribe(as(agent), req)
	require.NoError(t, err)
	defer f.cancel()
	for len(f.marks) == 0 {
		select {
		case d := <-f.deliveries:
			if f.received(d) {
				shown, places = append(shown, said(d)), append(places, d.GetPosition())
			}
		case err := <-f.ended:
			require.NoError(t, err)
		case <-time.After(patience):
			require.Fail(t, "the stream does not catch up")
		}
	}
	return shown, places
}

func TestStreamsIncludeAnnotationsOnlyWhenAsked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		elsewhere := h.create(t, &createRequest{IntentId: intentID, Name: "elsewhere"})
		plain := []*streaming{h.follow(t, "bob", id, nil), h.followIntent(t, "bob", id)}
		var including []*streaming
		for _, req := range []*openintentv1.SubscribeRequest{ofChannel(id), ofIntent(intentID)} {
			f, err := h.trySubscribe(as("bob"), annotated(req, nil))
			require.NoError(t, err)
			t.Cleanup(f.cancel)
			including = append(including, f)
		}
		first := h.say(t, "alice", id, "one")
		h.annotate(t, "bob", first, "seen")
		h.annotate(t, "alice", h.say(t, "alice", elsewhere, "other"), "elsewhere")
		h.say(t, "carol", id, "two")
		h.annotate(t, "carol", first, "done")
		h.say(t, "alice", id, "end")
		require.Equal(t, []string{"one", "two", "end"}, plain[0].texts(t, 3))
		require.Equal(t, []string{"one", "other", "two", "end"}, plain[1].texts(t, 4))
		for i, expected := range [][]string{
			{"one", "<seen>", "two", "<done>", "end"},
			{"one", "<seen>", "other", "<elsewhere>", "two", "<done>", "end"},
		} {
			position := int64(0)
			for _, word := range expected {
				d := including[i].next(t)
				require.Equal(t, word, said(d))
				require.Greater(t, d.GetPosition(), position)
				position = d.GetPosition()
				if a := d.GetAnnotation(); a != nil && a.GetSignal() != "elsewhere" {
					require.Equal(t, d.GetPosition(), a.GetPosition())
					require.Equal(t, first.GetId(), a.GetMessageId())
					require.Equal(t, id, a.GetChannelId())
					require.Equal(t, "message_reaction", a.GetType())
					require.Equal(t, intentID, d.GetIntentId())
					require.Equal(t, h.channel(t, id).GetName(), d.GetChannelName())
				}
			}
		}
	})
}

// A stream after any position shows the rest of what a stream from the beginning shows: nothing twice, and nothing left out.
func TestStreamsWithAnnotationsGoOnAfterAnyPosition(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		var messages []*wireMessage
		for i := range 12 {
			messages = append(messages, h.say(t, "alice", id, fmt.Sprint(i)))
			h.annotate(t, "bob", messages[rand.IntN(len(messages))], fmt.Sprint("r", i))
			if i%3 == 0 {
				h.annotate(t, "carol", h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol"), Payload: content("private")}), "hidden")
			}
		}
		last := h.positionOf(t, id)
		for _, scope := range []func() *openintentv1.SubscribeRequest{
			func() *openintentv1.SubscribeRequest { return ofChannel(id) },
			func() *openintentv1.SubscribeRequest { return ofIntent(intentID) },
		} {
			whole, places := h.replay(t, "bob", annotated(scope(), ptr(int64(0))))
			require.Contains(t, whole, "<r11>")
			require.NotContains(t, whole, "<hidden>")
			for after := int64(0); after <= last; after++ {
				rest, at := h.replay(t, "bob", annotated(scope(), &after))
				from := 0
				for from < len(places) && places[from] <= after {
					from++
				}
				require.Equal(t, append([]string(nil), whole[from:]...), append([]string(nil), rest...), "after %d", after)
				require.Equal(t, append([]int64(nil), places[from:]...), append([]int64(nil), at...))
			}
		}
	})
}

// A page of a stream ends where there is no more room for annotations, and the next one goes on there.
func TestMoreAnnotationsThanAPageHasAllCome(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		m := h.say(t, "alice", id, "one")
		words := []string{"one"}
		for i := range reading.FirstChunk + 1 {
			h.annotate(t, "bob", m, fmt.Sprint(i))
			words = append(words, fmt.Sprint("<", i, ">"))
		}
		for _, scope := range []*openintentv1.SubscribeRequest{ofChannel(id), ofIntent(h.channel(t, id).GetIntentId())} {
			shown, _ := h.replay(t, "bob", annotated(scope, ptr(int64(0))))
			require.Equal(t, words, withoutEvents(shown))
		}
	})
}

func TestFiltersOfAnnotations(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		m := h.say(t, "alice", id, "one")
		h.annotate(t, "bob", m, "seen")
		_, err := h.intents.AppendEvent(asOperator(), &openintentv1.AppendEventRequest{
			IntentId: intentID, EventType: "message_reaction", Payload: content("forged"),
		})
		require.NoError(t, err)
		kind := notify
		for name, row := range map[string]struct {
			change   func(*openintentv1.SubscribeRequest)
			expected []string
		}{
			"all":             {func(*openintentv1.SubscribeRequest) {}, []string{"one", "<seen>"}},
			"its type":        {func(r *openintentv1.SubscribeRequest) { r.EventTypes = []string{"message_reaction"} }, []string{"<seen>"}},
			"another type":    {func(r *openintentv1.SubscribeRequest) { r.EventTypes = []string{"message_edited"} }, nil},
			"messages":        {func(r *openintentv1.SubscribeRequest) { r.EventTypes = []string{"channel_message"} }, []string{"one"}},
			"a kind":          {func(r *openintentv1.SubscribeRequest) { r.MessageType = &kind }, []string{"one"}},
			"a correlation":   {func(r *openintentv1.SubscribeRequest) { r.CorrelationId = ptr("msg_0") }, nil},
			"without include": {func(r *openintentv1.SubscribeRequest) { r.Include = nil }, []string{"one", "[message_reaction]"}},
		} {
			req := annotated(ofIntent(intentID), ptr(int64(0)))
			row.change(req)
			shown, _ := h.replay(t, "bob", req)
			require.Equal(t, row.expected, withoutEvents(shown), name)
		}
	})
}

// withoutEvents leaves out the events that the server itself logs.
func withoutEvents(shown []string) (kept []string) {
	for _, word := range shown {
		if word[0] != '[' || word == "[message_reaction]" {
			kept = append(kept, word)
		}
	}
	return kept
}

// Whoever sees a message now sees its annotations, whenever these were stored: also when only the caller's own receipt makes the
// message visible, and no longer when the message is evicted, expired, or out of the caller's sight.
func TestAnnotationsFollowTheSightOfTheirMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(3))}})
		intentID := h.channel(t, id).GetIntentId()
		live, err := h.trySubscribe(as("bob"), annotated(ofChannel(id), nil))
		require.NoError(t, err)
		carol, err := h.trySubscribe(as("carol"), annotated(ofIntent(intentID), nil))
		require.NoError(t, err)
		t.Cleanup(live.cancel)
		t.Cleanup(carol.cancel)
		expiring := h.send(t, "alice", &sendRequest{
			ChannelId: id, MessageType: ptr(openintentv1.MessageType_MESSAGE_TYPE_BROADCAST), Payload: content("short"), ExpiresAt: h.in(time.Minute),
		})
		_, err = h.tryRead(as("bob"), id, expiring.GetId())
		require.NoError(t, err)
		require.Equal(t, "short", said(live.next(t)))
		require.Equal(t, "short", said(carol.next(t)))
		h.clock.Advance(time.Hour)
		h.annotate(t, "alice", expiring, "late")
		require.Equal(t, "<late>", said(live.next(t)), "bob has read it in time")
		h.say(t, "alice", id, "mark")
		require.Equal(t, "mark", said(live.next(t)))
		require.Equal(t, "mark", said(carol.next(t)), "carol has not, so she is not told of the reaction")
		for _, agent := range []string{"bob", "carol"} {
			shown, _ := h.replay(t, agent, annotated(ofChannel(id), ptr(int64(0))))
			require.Equal(t, agent == "bob", len(shown) == 3, agent)
		}
		for i := range 3 {
			h.say(t, "alice", id, fmt.Sprint(i))
		}
		shown, _ := h.replay(t, "bob", annotated(ofIntent(intentID), ptr(int64(0))))
		require.Equal(t, []string{"0", "1", "2"}, withoutEvents(shown), "the annotation is evicted with its message")
		h.sweep(t)
		require.Zero(t, h.rows(t, "annotations", "1 = 1"), "and removed")
	})
}

func TestAnnotationsGoWithTheirChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID := h.channel(t, id).GetIntentId()
		m := h.say(t, "alice", id, "one")
		for i := range 2*sweepBatch + 1 {
			h.annotate(t, "bob", m, fmt.Sprint(i))
		}
		f, err := h.trySubscribe(as("bob"), annotated(ofChannel(id), ptr(h.positionOf(t, id))))
		require.NoError(t, err)
		h.deleteChannel(t, id)
		faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")
		shown, _ := h.replay(t, "bob", annotated(ofIntent(intentID), ptr(int64(0))))
		require.Empty(t, withoutEvents(shown))
		h.sweep(t)
		require.Zero(t, h.rows(t, "annotations", "1 = 1"))
	})
}

func TestClosingEndsAnnotatedStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob", "carol")
		begin := h.positionOf(t, id)
		carol, err := h.trySubscribe(as("carol"), annotated(ofChannel(id), nil))
		require.NoError(t, err)
		h.removeMember(t, id, "carol")
		faulttest.Require(t, carol.end(t), fault.Denied, "NOT_A_MEMBER")
		f, err := h.trySubscribe(as("bob"), annotated(ofChannel(id), nil))
		require.NoError(t, err)
		h.annotate(t, "bob", h.say(t, "alice", id, "one"), "seen")
		h.closeChannel(t, id)
		require.Equal(t, "one", said(f.next(t)))
		require.Equal(t, "<seen>", said(f.next(t)))
		faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")
		late, err := h.trySubscribe(as("bob"), annotated(ofChannel(id), &begin))
		require.NoError(t, err)
		require.Equal(t, "one", said(late.next(t)))
		require.Equal(t, "<seen>", said(late.next(t)))
		faulttest.Require(t, late.end(t), fault.Conflict, "CHANNEL_CLOSED")
	})
}

// A wake-up after an annotation crosses replicas, in both scopes.
func TestAnnotationsWakeOtherReplicas(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, notified)
	id := one.open(t)
	m := one.say(t, "alice", id, "one")
	for _, req := range []*openintentv1.SubscribeRequest{ofChannel(id), ofIntent(one.channel(t, id).GetIntentId())} {
		f, err := other.trySubscribe(as("bob"), annotated(req, nil))
		require.NoError(t, err)
		t.Cleanup(f.cancel)
		one.annotate(t, "bob", m, "seen")
		require.Equal(t, "<seen>", said(f.next(t)))
	}
}

// After a loss, an annotation in the place of a lost message shows streams that they have missed something, and the other way
// round. That holds for streams that include no annotations too.
func TestAnnotationsShowThatTheLogHasLostCommits(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		m := h.say(t, "alice", id, "kept")
		intentID := h.channel(t, id).GetIntentId()
		past := databasetest.Remember(t, h.db, "before")
		including := func(req *openintentv1.SubscribeRequest) *streaming {
			f, err := h.trySubscribe(as("bob"), annotated(req, nil))
			require.NoError(t, err)
			t.Cleanup(f.cancel)
			return f
		}
		live := []*streaming{h.followIntent(t, "bob", id), including(ofIntent(intentID)), including(ofChannel(id))}
		h.say(t, "alice", id, "lost")
		for _, f := range live {
			require.Equal(t, "lost", said(f.next(t)))
		}
		past.PutBack(t)
		h.annotate(t, "bob", m, "instead")
		for _, f := range live {
			faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
		}
		past.PutBack(t)
		live = []*streaming{including(ofIntent(intentID)), including(ofChannel(id))}
		h.annotate(t, "bob", m, "lost")
		for _, f := range live {
			require.Equal(t, "<lost>", said(f.next(t)))
		}
		past.PutBack(t)
		h.say(t, "alice", id, "instead")
		for _, f := range live {
			faulttest.Require(t, f.end(t), fault.Conflict, "CURSOR_BEYOND_LOG")
		}
	})
}
