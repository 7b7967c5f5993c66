package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/reaction"
)

// handOver notes that an agent's model is given messages, and returns those that were not given lately.
func (r rooms) handOver(t require.TestingT, agent string, ids ...string) []string {
	answer, err := r.messaging.HandOver(as(agent), &openintentv1.HandOverRequest{AgentId: agent, MessageIds: ids})
	require.NoError(t, err)
	return answer.GetMessageIds()
}

// unhanded returns what waits for an agent and is due.
func (r rooms) unhanded(t require.TestingT, agent string) []string {
	page, err := r.messaging.GetInbox(as(agent), &inboxRequest{AgentId: agent, Unhanded: true})
	require.NoError(t, err)
	return idsIn(page)
}

// What was handed over is not due again, on any replica; but a question that must be answered is, after five minutes each time.
func TestWhatWasHandedOverIsNotDue(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		other := h.rooms
		if h.db.Engine() == database.PostgreSQL {
			other = h.replica(t)
		}
		channel := h.open(t)
		asked := h.asks(t, "a", channel, "b").GetId()
		told := h.send(t, "a", &sendRequest{ChannelId: channel, To: ptr("b"), Payload: content("told")}).GetId()
		require.Equal(t, []string{asked, told}, h.unhanded(t, "b"))
		require.Equal(t, []string{asked, told}, h.handOver(t, "b", asked, told, asked))
		require.Empty(t, other.handOver(t, "b", asked, told), "it is one caller's to give")
		require.Empty(t, other.unhanded(t, "b"))
		require.Equal(t, []string{asked, told}, idsIn(h.inbox(t, "b")), "it waits until it is answered or read")
		require.Equal(t, statusStored, h.deliveryTo(t, h.get(t, channel, asked), "b").GetStatus(), "the model may not have seen it")

		for range 2 {
			h.clock.Advance(handOverAgain - time.Second)
			require.Empty(t, other.unhanded(t, "b"))
			h.clock.Advance(2 * time.Second) // the log is a little ahead of the clock
			require.Equal(t, []string{asked}, other.unhanded(t, "b"), "its answer may have been lost")
			require.Equal(t, []string{asked}, h.handOver(t, "b", asked))
			require.Empty(t, h.unhanded(t, "b"))
		}
	})
}

// An agent that has lost an answer asks for what was handed over since a time. It gets the same messages again, without those that it has seen or
// put off meanwhile.
func TestWhatWasHandedOverSinceIsDue(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t)
		before, after := h.asks(t, "a", channel, "b").GetId(), h.asks(t, "a", channel, "b").GetId()
		h.handOver(t, "b", before)
		h.clock.Advance(time.Second)
		since := timestamppb.New(h.clock.Now())
		surfaced, deferred := h.asks(t, "a", channel, "b"), h.asks(t, "a", channel, "b")
		h.handOver(t, "b", after, surfaced.GetId(), deferred.GetId())
		h.clock.Advance(time.Second)
		_, err := h.trySurface(as("b"), "b", surfaced.GetId())
		require.NoError(t, err)
		h.dispose(t, "b", deferred, Disposition{Word: "deferred", Until: h.clock.Now().Add(time.Hour)})
		page, err := h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Unhanded: true, HandedSince: since})
		require.NoError(t, err)
		require.Equal(t, []string{after}, idsIn(page))
		_, err = h.tryInbox(as("b"), &inboxRequest{AgentId: "b", Unhanded: true, HandedSince: &timestamppb.Timestamp{Seconds: 1 << 60}})
		faulttest.RequireBadField(t, err, "handed_since")
	})
}

// What the agent has in hand, is done with or has put off is not due, however long ago it was handed over.
func TestWhatTheAgentHasInHandIsNotDue(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t)
		question := func() *wireMessage { return h.asks(t, "a", channel, "b") }
		due := func(m *wireMessage) bool {
			for _, id := range h.unhanded(t, "b") {
				if id == m.GetId() {
					return true
				}
			}
			return false
		}
		disposed := map[string]*wireMessage{}
		for _, word := range []string{"responded", "claimed", "ignored", "superseded", "failed", "acknowledged", "deferred"} {
			disposed[word] = question()
			h.dispose(t, "b", disposed[word], Disposition{Word: word})
		}
		later := question()
		h.dispose(t, "b", later, Disposition{Word: "deferred", Until: h.clock.Now().Add(time.Hour)})
		declined, queued := question(), question()
		h.react(t, "b", declined, "declined", true)
		h.react(t, "b", queued, "queued", true)
		takenBack := question()
		h.react(t, "b", takenBack, "declined", true)
		require.False(t, due(takenBack))
		h.react(t, "b", takenBack, "declined", false)
		surfaced := question()
		_, err := h.trySurface(as("b"), "b", surfaced.GetId())
		require.NoError(t, err)
		require.False(t, due(surfaced), "its model has seen it")
		answered := h.send(t, "a", &sendRequest{
			ChannelId: channel, To: ptr("b"), MessageType: ptr(openintentv1.MessageType_MESSAGE_TYPE_REQUEST), Collect: structpb.NewStringValue("all"),
		})
		h.reply(t, "b", channel, answered.GetId(), "mine")

		h.clock.Advance(handOverAgain + time.Second) // the log is a little ahead of the clock
		for word, m := range disposed {
			require.Equal(t, word == "acknowledged" || word == "deferred", due(m), word)
		}
		require.False(t, due(declined))
		require.True(t, due(queued))
		require.True(t, due(takenBack), "the signal was taken away")
		require.True(t, due(surfaced))
		require.False(t, due(answered))
		require.False(t, due(later), "it is put off for an hour")
		h.clock.Advance(time.Hour)
		require.True(t, due(later))
	})
}

// Nobody notes for another agent, nor of what is not the agent's.
func TestWhoHandsOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b").GetId()
		for reason, call := range map[string]struct {
			by    context.Context
			agent string
			kind  fault.Kind
		}{
			"NOT_AGENT_OWNER": {as("c"), "b", fault.Denied}, "OWN_MESSAGE": {as("a"), "a", fault.Denied}, "MESSAGE_NOT_FOUND": {as("c"), "c", fault.NotFound},
		} {
			_, err := h.messaging.HandOver(call.by, &openintentv1.HandOverRequest{AgentId: call.agent, MessageIds: []string{asked}})
			faulttest.Require(t, err, call.kind, reason)
		}
		require.Equal(t, []string{asked}, h.unhanded(t, "b"))
		_, err := h.messaging.HandOver(asOperator(), &openintentv1.HandOverRequest{AgentId: "b", MessageIds: []string{asked}})
		require.NoError(t, err)
		require.Empty(t, h.unhanded(t, "b"))
	})
}

// react sets a signal of an agent on a message.
func (h *house) react(t require.TestingT, agent string, m *wireMessage, signal string, present bool) {
	by, err := caller.Known(as(agent))
	require.NoError(t, err)
	require.NoError(t, h.messaging.HoldMessage(as(agent), by, agent, m.GetChannelId(), m.GetId(), message.Current, func(s *Sighting) error {
		one := reaction.Reaction{Agent: agent, Signal: signal, Present: present, Position: s.Message.Position, CreatedAt: s.Tx.Now(), Changes: 1}
		return one.Store(s.Tx, s.Message)
	}))
}
