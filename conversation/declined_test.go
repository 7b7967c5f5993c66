package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// asked is an ask that waits.
type asked struct {
	done chan struct{}
	got  *openintentv1.Message
	err  error
}

// asking begins an ask, and returns it with its request once that is stored.
func (h *house) asking(t *testing.T, form *openintentv1.AskRequest) (*asked, *openintentv1.Message) {
	t.Helper()
	a := &asked{done: make(chan struct{})}
	form.ChannelId = h.channel
	if form.TimeoutSeconds == nil {
		form.TimeoutSeconds = ptr(600.0)
	}
	before := len(h.list(t))
	go func() {
		defer close(a.done)
		a.got, a.err = h.talk.Ask(as("alice"), form)
	}()
	var all []*openintentv1.Message
	require.Eventually(t, func() bool { all = h.list(t); return len(all) > before }, 20*time.Second, time.Millisecond)
	return a, all[len(all)-1]
}

func (h *house) list(t *testing.T) []*openintentv1.Message {
	t.Helper()
	page, err := h.talk.ListMessages(asOperator(), &openintentv1.ListMessagesRequest{ChannelId: h.channel})
	require.NoError(t, err)
	return page.GetMessages()
}

// ended waits until the ask has ended.
func (a *asked) ended(t *testing.T) (*openintentv1.Message, error) {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(time.Minute):
		t.Fatal("the ask waits on")
	}
	return a.got, a.err
}

// waits requires that the ask has not ended.
func (a *asked) waits(t *testing.T) {
	t.Helper()
	select {
	case <-a.done:
		t.Fatalf("the ask has ended: %v", a.err)
	default:
	}
}

func (h *house) say(t *testing.T, agent string, m *openintentv1.Message, signal, note string) {
	t.Helper()
	_, err := h.AddReaction(as(agent), &openintentv1.AddReactionRequest{ChannelId: h.channel, MessageId: m.GetId(), Signal: signal, Note: &note})
	require.NoError(t, err)
}

func (h *house) explained(t *testing.T, m *openintentv1.Message, wait float64) *openintentv1.AwaitResponsesResponse {
	t.Helper()
	answer, err := h.talk.AwaitResponses(as("alice"), &openintentv1.AwaitResponsesRequest{
		ChannelId: h.channel, MessageId: m.GetId(), WaitSeconds: &wait, Explain: ptr(true),
	})
	require.NoError(t, err)
	return answer
}

func TestANoEndsTheAsk(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		a, request := h.asking(t, &openintentv1.AskRequest{To: "bob"})
		for _, signal := range []string{"seen", "blocked", "unclear"} {
			h.say(t, "bob", request, signal, "")
		}
		h.say(t, "alice", request, "declined", "") // the asker's own is none
		a.waits(t)
		h.say(t, "bob", request, "declined", "no time")
		_, err := a.ended(t)
		faulttest.Require(t, err, fault.Conflict, "DECLINED")
		refused := fault.From(err)
		require.Equal(t, `bob has declined the request ("no time"); it may still answer.`, refused.Message)
		require.Equal(t, map[string]string{"message_id": request.GetId(), "to": "bob", "note": "no time"}, refused.Metadata)

		answer := h.explained(t, request, 600)
		require.Equal(t, []string{"DECLINED", refused.Message, "no time"}, []string{answer.GetCause(), answer.GetExplanation(), answer.GetNote()})
		require.NoError(t, h.answer("bob", request.GetId(), 0), "the request can still be answered")
		require.Len(t, h.explained(t, request, 600).GetResponses(), 1)
	})
}

// A no without a note says nothing further, and one that was said before the ask was repeated counts at once.
func TestARepeatedAskGetsTheNo(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		form := func() *openintentv1.AskRequest {
			return &openintentv1.AskRequest{To: "bob", IdempotencyKey: ptr("once"), ChannelId: h.channel, TimeoutSeconds: ptr(600.0)}
		}
		a, request := h.asking(t, form())
		h.say(t, "bob", request, "declined", "")
		_, err := a.ended(t)
		require.Equal(t, "bob has declined the request; it may still answer.", fault.From(err).Message)
		require.NotContains(t, fault.From(err).Metadata, "note")
		_, err = h.talk.Ask(as("alice"), form())
		faulttest.Require(t, err, fault.Conflict, "DECLINED")

		_, err = h.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{ChannelId: h.channel, MessageId: request.GetId(), Signal: "declined"})
		require.NoError(t, err)
		ctx, cancel := context.WithTimeout(as("alice"), 50*time.Millisecond)
		defer cancel()
		_, err = h.talk.Ask(ctx, form())
		require.ErrorIs(t, err, context.DeadlineExceeded, "it waits again")
		require.NoError(t, h.answer("bob", request.GetId(), 0))
		got, err := h.talk.Ask(as("alice"), form())
		require.NoError(t, err)
		require.Equal(t, "bob", got.GetSender())
	})
}

// Calls that cannot say that it was a no wait on.
func TestWhatANoDoesNotEnd(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, request := h.asking(t, &openintentv1.AskRequest{To: "bob"})
		h.say(t, "bob", request, "declined", "")
		ctx, cancel := context.WithTimeout(as("alice"), 50*time.Millisecond)
		defer cancel()
		_, err := h.talk.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{ChannelId: h.channel, MessageId: request.GetId(), WaitSeconds: ptr(600.0)})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		short, cancelShort := context.WithTimeout(as("alice"), 50*time.Millisecond)
		defer cancelShort()
		_, err = h.talk.AskAll(short, &openintentv1.AskAllRequest{ChannelId: h.channel, To: "bob", TimeoutSeconds: ptr(600.0), IdempotencyKey: ptr("k")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
		all := h.list(t)
		h.say(t, "bob", all[len(all)-1], "declined", "")
		again, cancelAgain := context.WithTimeout(as("alice"), 50*time.Millisecond)
		defer cancelAgain()
		_, err = h.talk.AskAll(again, &openintentv1.AskAllRequest{ChannelId: h.channel, To: "bob", TimeoutSeconds: ptr(600.0), IdempotencyKey: ptr("k")})
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

// Of a role, others may answer. If nobody does, the explanation says who has said no.
func TestTheNoOfOneOfARole(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		a, request := h.asking(t, &openintentv1.AskRequest{To: "role:worker", TimeoutSeconds: ptr(60.0)})
		for _, name := range []string{"bob", "carol"} {
			_, err := h.talk.GetInbox(as(name), &openintentv1.GetInboxRequest{AgentId: name})
			require.NoError(t, err)
		}
		h.say(t, "bob", request, "declined", "no time")
		a.waits(t)
		explained := h.explained(t, request, 0)
		require.Equal(t, "NOT_ANSWERED", explained.GetCause())
		require.Contains(t, explained.GetExplanation(), `2 agents received the request and did not answer; bob has declined it ("no time").`)
		require.Empty(t, explained.GetNote())
		h.say(t, "carol", request, "declined", "")
		h.say(t, "alice", request, "declined", "") // the asker's own is none
		explained = h.explained(t, request, 0)
		require.Equal(t, "DECLINED", explained.GetCause())
		require.Contains(t, explained.GetExplanation(), `bob has declined it ("no time"), carol has declined it.`)
		h.clock.Advance(time.Minute)
		h.wake(t)
		_, err := a.ended(t)
		faulttest.Require(t, err, fault.TimedOut, "MESSAGE_TIMEOUT")
		require.Equal(t, "DECLINED", fault.From(err).Metadata["cause"])
		require.Contains(t, fault.From(err).Message, `bob has declined it ("no time"), carol has declined it. The request has expired.`)
	})
}

// However many say no, the cause is that all have. The explanation names the first ones.
func TestTheNoOfManyOfARole(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		names := []string{"a1", "a2", "a3", "a4", "a5", "a6", "a7"}
		h.hire(t, names...)
		_, request := h.asking(t, &openintentv1.AskRequest{To: "role:worker", TimeoutSeconds: ptr(60.0)})
		for _, name := range names {
			_, err := h.talk.GetInbox(as(name), &openintentv1.GetInboxRequest{AgentId: name})
			require.NoError(t, err)
		}
		for _, name := range names[:6] {
			h.say(t, name, request, "declined", "")
		}
		require.Equal(t, "NOT_ANSWERED", h.explained(t, request, 0).GetCause(), "the seventh has said nothing")
		h.say(t, "a7", request, "declined", "")
		explained := h.explained(t, request, 0)
		require.Equal(t, "DECLINED", explained.GetCause())
		require.Contains(t, explained.GetExplanation(), "a1 has declined it, a2 has declined it")
		require.Contains(t, explained.GetExplanation(), "a5 has declined it, and so did 2 more.")
	})
}

// wake lets those who wait look again, because the clock has moved: access to the intent changes.
func (h *house) wake(t *testing.T) {
	t.Helper()
	_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: h.intent, AgentId: "zoe"})
	require.NoError(t, err)
}

// Withdrawn and closed are told apart, too.
func TestOtherEndsOfAWait(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		a, request := h.asking(t, &openintentv1.AskRequest{To: "bob"})
		_, err := h.talk.DeleteMessage(as("alice"), &openintentv1.DeleteMessageRequest{ChannelId: h.channel, MessageId: request.GetId()})
		require.NoError(t, err)
		_, err = a.ended(t)
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_DELETED")
		require.Equal(t, "WITHDRAWN", h.explained(t, request, 600).GetCause())

		a, request = h.asking(t, &openintentv1.AskRequest{To: "bob"})
		h.abandon(t)
		_, err = a.ended(t)
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
		require.Equal(t, "CHANNEL_CLOSED", h.explained(t, request, 600).GetCause())
	})
}
