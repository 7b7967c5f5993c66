package messaging

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/wake"
)

// followIntent begins a stream of a channel's intent from now on.
func (h *house) followIntent(t *testing.T, agent, channelID string) *streaming {
	return h.subscribeIntent(as(agent), t, h.channel(t, channelID).GetIntentId(), nil)
}

// said receives as many deliveries and describes them: a message's text, and an event's type in brackets.
func (f *streaming) said(t require.TestingT, count int) []string {
	said := make([]string, count)
	for i := range said {
		switch d := f.next(t); {
		case d.GetEvent() != nil:
			said[i] = "[" + d.GetEvent().GetEventType() + "]"
		case d.GetBackfill():
			said[i] = "<" + textOf(d.GetMessage())
		default:
			said[i] = textOf(d.GetMessage())
		}
	}
	return said
}

// explicitIn opens a channel of an intent for the given members.
func (h *house) explicitIn(t *testing.T, intentID, name string, members ...string) string {
	return h.create(t, &createRequest{
		IntentId: intentID, Name: name, Members: members, MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
	})
}

// askFor sends a request with a text.
func (h *house) askFor(t *testing.T, agent, channelID, to, text string) *wireMessage {
	return h.send(t, agent, &sendRequest{
		ChannelId: channelID, To: &to, MessageType: ptr(request), Payload: content(text),
	})
}

func TestAnIntentsStreamHasItsChannelsAndEvents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one := h.open(t)
		intentID := h.channel(t, one).GetIntentId()
		f := h.followIntent(t, "bob", one)
		m := h.say(t, "alice", one, "a")
		event := h.log(t, intentID, "thought")
		d := f.next(t)
		require.Empty(t, cmpMessages(m, d.GetMessage()))
		require.Equal(t, intentID, d.GetIntentId())
		require.Equal(t, h.channel(t, one).GetName(), d.GetChannelName())
		require.Nil(t, d.GetAuditEvent())
		d = f.next(t)
		require.Equal(t, event.GetId(), d.GetEvent().GetId())
		require.Equal(t, event.GetEventHash(), d.GetEvent().GetEventHash())
		require.Equal(t, h.positionOf(t, one), d.GetPosition())
		require.Nil(t, d.GetMessage())
		require.Empty(t, d.GetChannelName())

		audited := h.create(t, &createRequest{IntentId: intentID, Name: "other", Options: &optionsInput{Audit: ptr(true)}})
		m = h.say(t, "alice", audited, "b")
		d = f.next(t)
		require.Equal(t, m.GetId(), d.GetMessage().GetId(), "a channel made meanwhile is followed")
		require.Equal(t, m.GetId(), d.GetAuditEvent().GetPayload().GetFields()["message_id"].GetStringValue())
		h.setStatus(t, intentID, completed)
		d = f.next(t)
		require.Equal(t, "status_changed", d.GetEvent().GetEventType())
		h.log(t, intentID, "epilogue")
		require.Equal(t, []string{"[epilogue]"}, f.said(t, 1), "the intent's end does not end the stream")
		require.Len(t, f.marks, 1)
	})
}

func TestIntentsStreamsAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		intentID, last := h.channel(t, id).GetIntentId(), h.positionOf(t, id)
		try := func(ctx context.Context, intentID string, after *int64) error {
			f, err := h.trySubscribe(ctx, &openintentv1.SubscribeRequest{
				Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intentID}, AfterPosition: after,
			})
			if err == nil {
				f.cancel()
			}
			return err
		}
		faulttest.Require(t, try(as("bob"), intentID, ptr(last+1)), fault.Conflict, "CURSOR_BEYOND_LOG")
		faulttest.Require(t, try(as("bob"), "nothing", nil), fault.NotFound, "INTENT_NOT_FOUND")
		faulttest.Require(t, try(context.Background(), intentID, nil), fault.Unauthenticated, "UNAUTHENTICATED")
		h.admit(t, intentID, "alice")
		f := faulttest.Require(t, try(as("bob"), intentID, nil), fault.Denied, "FORBIDDEN")
		require.Equal(t, "read", f.Metadata["required_permission"])
		require.NoError(t, try(asOperator(), intentID, nil))
		_, err := h.trySubscribe(as("alice"), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intentID}, EventTypes: []string{"a\x00"},
		})
		faulttest.RequireBadField(t, err, "event_types")
	})
}

// A follower that does not receive falls behind further than what is shared, and still misses nothing.
func TestSlowFollowerOfAnIntentMissesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(5000))}})
		other := h.create(t, &createRequest{
			IntentId: h.channel(t, id).GetIntentId(), Name: "other", Options: &optionsInput{MaxMessages: ptr(int64(5000))},
		})
		const count = 647 // messages and events are more than a tail keeps
		slow, quick := h.followIntent(t, "bob", id), h.followIntent(t, "carol", id)
		h.fill(t, id, "alice", count)
		h.fill(t, other, "alice", count)
		for _, f := range []*streaming{quick, slow} {
			for range 2 {
				for i := range count {
					require.Equal(t, fmt.Sprint(i+1), textOf(f.next(t).GetMessage()))
				}
			}
		}
		h.say(t, "alice", id, "end")
		require.Equal(t, []string{"end"}, slow.said(t, 1))
	})
}

func TestLostWakeUpsOfAnIntentDelayAndDoNotLose(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	id := one.open(t)
	bob := one.followIntent(t, "bob", id)
	other.say(t, "alice", id, "one")
	other.log(t, other.channel(t, id).GetIntentId(), "thought")
	require.Equal(t, []string{"one", "[thought]"}, bob.said(t, 2))
	other.askFor(t, "alice", id, "role:tester", "two")
	other.register(t, "bob", "tester")
	require.Contains(t, []string{"two", "<two"}, bob.said(t, 1)[0], "whichever came first")
	other.admit(t, other.channel(t, id).GetIntentId(), "alice")
	faulttest.Require(t, bob.end(t), fault.Denied, "FORBIDDEN")
}

// Nothing that was evicted or removed, or whose time has run out, while a client took its time is delivered any more.
func TestSlowFollowerOfAnIntentGetsWhatIsLeft(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		open := h.open(t)
		intentID := h.channel(t, open).GetIntentId()
		doomed := h.create(t, &createRequest{IntentId: intentID, Name: "doomed"})
		short := h.create(t, &createRequest{
			IntentId: intentID, Name: "short", Options: &optionsInput{MaxMessages: ptr(int64(2))},
		})
		slow, quick := h.followIntent(t, "bob", open), h.followIntent(t, "carol", open)
		h.say(t, "alice", open, "under way")
		h.say(t, "alice", doomed, "deleted")
		h.send(t, "alice", &sendRequest{ChannelId: open, Payload: content("over"), ExpiresAt: h.in(time.Minute)})
		for i := range 5 {
			h.say(t, "alice", short, fmt.Sprint(i))
		}
		for quick.said(t, 1)[0] != "4" { // the tail has seen them all then
		}
		h.deleteChannel(t, doomed)
		h.clock.Advance(time.Hour)
		h.awaitSightOfIntent(t, open)
		require.Equal(t, []string{"under way", "3", "4"}, slow.said(t, 3))
		h.sweep(t)
		replay := h.subscribeIntent(as("bob"), t, intentID, ptr(int64(1)))
		require.Equal(t, []string{"under way", "3", "4"}, replay.said(t, 3))
	})
}

func TestTailsOfIntentsEndWithTheirFollowers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		both := []*streaming{h.followIntent(t, "bob", id), h.follow(t, "bob", id, nil)}
		key := h.key(t, id)
		require.True(t, h.listensFor(key))
		require.True(t, h.listensFor(wake.FeedTopic(key.IntentNo)))
		h.say(t, "alice", id, "one")
		for _, f := range both {
			require.Equal(t, []string{"one"}, f.said(t, 1))
			f.cancel()
			require.ErrorIs(t, f.end(t), context.Canceled)
		}
		h.messaging.tails.Stop()
		require.False(t, h.listensFor(key))
		require.False(t, h.listensFor(wake.FeedTopic(key.IntentNo)))
	})
}
