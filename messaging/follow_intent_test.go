package messaging

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
)

// followIntent begins a stream of a channel's intent from now on.
func (h *house) followIntent(t *testing.T, agent, channelID string) *following {
	return h.subscribeIntent(as(agent), t, h.channel(t, channelID).GetIntentId(), nil)
}

// said receives as many deliveries and describes them: a message's text, and an event's type in brackets.
func (f *following) said(t require.TestingT, count int) []string {
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
		requireFault(t, try(as("bob"), intentID, ptr(last+1)), fault.Conflict, "CURSOR_BEYOND_LOG")
		requireFault(t, try(as("bob"), "nothing", nil), fault.NotFound, "INTENT_NOT_FOUND")
		requireFault(t, try(context.Background(), intentID, nil), fault.Unauthenticated, "UNAUTHENTICATED")
		h.admit(t, intentID, "alice")
		f := requireFault(t, try(as("bob"), intentID, nil), fault.Denied, "FORBIDDEN")
		require.Equal(t, "read", f.Metadata["required_permission"])
		require.NoError(t, try(asOperator(), intentID, nil))
		_, err := h.trySubscribe(as("alice"), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: intentID}, EventTypes: []string{"a\x00"},
		})
		requireBadField(t, err, "event_types")
	})
}

// A follower that does not receive falls behind further than what is shared, and still misses nothing.
func TestSlowFollowerOfAnIntentMissesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(5000))}})
		other := h.create(t, &createRequest{
			IntentId: h.channel(t, id).GetIntentId(), Name: "other", Options: &optionsInput{MaxMessages: ptr(int64(5000))},
		})
		const count = tailLength/2 + tailPage + 7
		slow, quick := h.followIntent(t, "bob", id), h.followIntent(t, "carol", id)
		h.fill(t, id, "alice", count)
		h.fill(t, other, "alice", count)
		for _, f := range []*following{quick, slow} {
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
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		bob := h.followIntent(t, "bob", id)
		h.deafen()
		h.say(t, "alice", id, "one")
		h.log(t, h.channel(t, id).GetIntentId(), "thought")
		require.Equal(t, []string{"one", "[thought]"}, bob.said(t, 2))
		h.askFor(t, "alice", id, "role:tester", "two")
		h.register(t, "bob", "tester")
		require.Contains(t, []string{"two", "<two"}, bob.said(t, 1)[0], "whichever came first")
		h.admit(t, h.channel(t, id).GetIntentId(), "alice")
		requireFault(t, bob.end(t), fault.Denied, "FORBIDDEN")
	}, restless)
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
		h.awaitSightOf(t, intentScope(h.key(t, open).IntentNo), open)
		require.Equal(t, []string{"under way", "3", "4"}, slow.said(t, 3))
		h.sweep(t)
		replay := h.subscribeIntent(as("bob"), t, intentID, ptr(int64(1)))
		require.Equal(t, []string{"under way", "3", "4"}, replay.said(t, 3))
	})
}

func TestTailsOfIntentsEndWithTheirFollowers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		both := []*following{h.followIntent(t, "bob", id), h.follow(t, "bob", id, nil)}
		require.Len(t, h.messaging.tails.byScope, 2)
		h.say(t, "alice", id, "one")
		for _, f := range both {
			require.Equal(t, []string{"one"}, f.said(t, 1))
			f.cancel()
			require.ErrorIs(t, f.end(t), context.Canceled)
		}
		h.messaging.tails.stop()
		require.Empty(t, h.messaging.tails.byScope)
		require.Empty(t, h.messaging.hub.listeners)
	})
}

// What a look adds to an intent's shared items joins what was shared, unless rules have changed or it is old.
func TestSharedItemsOfAnIntent(t *testing.T) {
	sightAt := func(last int64) *sight {
		return &sight{section: section{look: look{head: intents.Head{Epoch: 1, LastPosition: last}, now: noon}}}
	}
	rows := func(places ...int64) (items []item) {
		for _, at := range places {
			items = append(items, item{place: at, message: &Message{Position: at}, forms: new(forms)})
		}
		return items
	}
	first := sightAt(4)
	first.share(&sight{}, false, 4, nil, 4)
	require.Empty(t, first.items)
	second := sightAt(9)
	second.share(first, !second.stale(first), first.through, rows(6, 7), 9)
	require.Equal(t, [...]int64{4, 9}, [...]int64{second.after, second.through})
	third := sightAt(12)
	third.share(second, !third.stale(second), second.through, rows(12), 12)
	require.Equal(t, [...]int64{4, 12}, [...]int64{third.after, third.through})
	require.Equal(t, rows(7, 12), third.since(6))
	require.Equal(t, rows(6, 7, 12), third.since(4))
	require.Equal(t, rows(12), third.since(9))
	require.Empty(t, third.since(12))
	changed := sightAt(13)
	changed.head.Epoch = 2
	changed.share(third, !changed.stale(third), third.through, rows(13), 13)
	require.Equal(t, [...]int64{12, 13}, [...]int64{changed.after, changed.through})
	require.Equal(t, rows(13), changed.items)
}
