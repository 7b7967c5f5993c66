package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// asksOf returns what a message asks of an agent.
func (h *house) asksOf(t *testing.T, agent, messageID string) *openintentv1.GetAttentionResponse {
	t.Helper()
	block, err := h.GetAttention(as(agent), &openintentv1.GetAttentionRequest{ChannelId: h.channel, MessageId: messageID})
	require.NoError(t, err)
	return block
}

// waitsFor returns the block of the only message in an agent's inbox.
func (h *house) waitsFor(t *testing.T, agent string) *openintentv1.Attention {
	t.Helper()
	page, err := h.talk.GetInbox(as(agent), &openintentv1.GetInboxRequest{AgentId: agent, Include: []string{"attention"}})
	require.NoError(t, err)
	require.Len(t, page.GetItems(), 1)
	return page.GetItems()[0].GetAttention()
}

// A claim changes what a message asks of its holder and of others, everywhere, and only the holder sees the fence.
func TestClaimsChangeWhatMessagesAsk(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, one())
		require.Equal(t, "role_request", h.asksOf(t, "carol", asked).GetReason())
		require.Nil(t, h.asksOf(t, "carol", asked).Claim)
		got := h.claims(t, "bob", asked)

		mine, others := h.asksOf(t, "bob", asked), h.asksOf(t, "carol", asked)
		require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND, mine.GetPolicy())
		require.Equal(t, openintentv1.Injection_INJECTION_BUFFERED, mine.GetInjection())
		require.Equal(t, got.GetFence(), mine.GetClaim().GetFence())
		require.Equal(t, "claimed_by_other", others.GetReason())
		require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND, others.GetPolicy())
		require.Equal(t, "bob", others.GetClaim().GetHolder())
		require.Nil(t, others.GetClaim().Fence)
		require.Equal(t, got.GetFence(), h.waitsFor(t, "bob").GetClaim().GetFence())
		require.Equal(t, "claimed_by_other", h.waitsFor(t, "carol").GetReason())
		require.Nil(t, h.waitsFor(t, "carol").GetClaim().Fence)
		bob := "bob"
		shown, err := h.GetAttention(as("alice"), &openintentv1.GetAttentionRequest{
			ChannelId: h.channel, MessageId: asked, AgentId: &bob,
		})
		require.NoError(t, err)
		require.Nil(t, shown.GetClaim().Fence, "the sender is not the holder either")
		_, err = h.GetAttention(as("carol"), &openintentv1.GetAttentionRequest{ChannelId: h.channel, MessageId: asked, AgentId: &bob})
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND") // another recipient does not learn what it asks of bob

		h.clock.Advance(2 * time.Minute)
		require.Equal(t, "role_request", h.asksOf(t, "carol", asked).GetReason(), "nobody waits for the sweep")
		require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND, h.asksOf(t, "bob", asked).GetPolicy())
		require.Nil(t, h.asksOf(t, "bob", asked).Claim)
	})
}

// A quorum is taken once claims and answers take up all places.
func TestAQuorumIsTakenWhenItsPlacesAre(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol", "dave")
		asked := h.asks(t, quorum(2))
		bobs := h.claims(t, "bob", asked)
		require.Equal(t, "role_request", h.asksOf(t, "dave", asked).GetReason(), "a place is free")
		h.claims(t, "carol", asked)
		require.Equal(t, "claimed_by_other", h.asksOf(t, "dave", asked).GetReason())
		require.NoError(t, h.answer("bob", asked, bobs.GetFence()))
		require.Equal(t, "claimed_by_other", h.asksOf(t, "dave", asked).GetReason(), "an answer has taken a place")
		require.Equal(t, "role_request", h.asksOf(t, "carol", asked).GetReason())
	})
}

func (h *house) reacts(t *testing.T, agent, messageID, signal string) {
	t.Helper()
	h.clock.Advance(time.Second)
	_, err := h.AddReaction(as(agent), &openintentv1.AddReactionRequest{ChannelId: h.channel, MessageId: messageID, Signal: signal})
	require.NoError(t, err)
}

// dispositionOf returns what an agent did with a message, as its sender reads it.
func (h *house) dispositionOf(t *testing.T, messageID, agent string) string {
	t.Helper()
	list, err := h.talk.ListMessageDeliveries(as("alice"), &openintentv1.ListMessageDeliveriesRequest{
		ChannelId: h.channel, MessageId: messageID,
	})
	require.NoError(t, err)
	for _, one := range list.GetDeliveries() {
		if one.GetAgentId() == agent {
			return one.GetDisposition()
		}
	}
	require.Fail(t, "there is no record of the agent", agent)
	return ""
}

func TestDispositionsFollowFromReactions(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		for _, row := range [][2]string{
			{"unclear", ""}, {"x-own", ""}, {"seen", "acknowledged"}, {"agree", "acknowledged"}, {"working", "claimed"}, {"claimed", "claimed"},
			{"queued", "deferred"}, {"blocked", "deferred"}, {"done", "responded"}, {"declined", "ignored"},
		} {
			asked := h.asks(t, structpb.NewStringValue("any"))
			h.reacts(t, "bob", asked, row[0])
			require.Equal(t, row[1], h.dispositionOf(t, asked, "bob"), row[0])
		}
	})
}

// The last act counts: a disposition that the agent set, a reaction, a claim or an answer.
func TestTheLastThingDoneIsTheDisposition(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob", "carol")
		asked := h.asks(t, structpb.NewStringValue("any"))
		h.reacts(t, "bob", asked, "queued")
		h.reacts(t, "bob", asked, "seen")
		h.reacts(t, "bob", asked, "unclear")
		require.Equal(t, "acknowledged", h.dispositionOf(t, asked, "bob"))
		require.Empty(t, h.dispositionOf(t, asked, "carol"))
		h.clock.Advance(time.Second)
		got := h.claims(t, "bob", asked)
		require.Equal(t, "claimed", h.dispositionOf(t, asked, "bob"))
		require.NoError(t, h.release("bob", asked, got.GetFence()))
		require.Equal(t, "acknowledged", h.dispositionOf(t, asked, "bob"), "what was done before counts again")
		_, err := h.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{
			ChannelId: h.channel, MessageId: asked, Signal: "seen",
		})
		require.NoError(t, err)
		require.Equal(t, "deferred", h.dispositionOf(t, asked, "bob"))
		h.clock.Advance(time.Second)
		_, err = h.SetDisposition(as("bob"), &openintentv1.SetDispositionRequest{
			ChannelId: h.channel, MessageId: asked, Disposition: "failed",
		})
		require.NoError(t, err)
		require.Equal(t, "failed", h.dispositionOf(t, asked, "bob"))
		h.reacts(t, "bob", asked, "working")
		require.Equal(t, "claimed", h.dispositionOf(t, asked, "bob"))
		h.clock.Advance(time.Second)
		require.NoError(t, h.answer("bob", asked, 0))
		require.Equal(t, "responded", h.dispositionOf(t, asked, "bob"))
	})
}

// Who sees a message without receiving it says nothing of what became of it, and only what is deferred has an end.
func TestARecipientSaysWhatItDid(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		asked := h.asks(t, one())
		said := &openintentv1.SetDispositionRequest{ChannelId: h.channel, MessageId: asked, Disposition: "failed"}
		for _, other := range []context.Context{as("alice"), asOperator()} {
			_, err := h.SetDisposition(other, said)
			faulttest.Require(t, err, fault.Denied, "NOT_A_RECIPIENT")
		}
		said.Until = timestamppb.New(h.clock.Now().Add(time.Hour))
		_, err := h.SetDisposition(as("bob"), said)
		faulttest.RequireBadField(t, err, "until")
		said.Disposition = "deferred"
		got, err := h.SetDisposition(as("bob"), said)
		require.NoError(t, err)
		require.Equal(t, said.GetUntil().AsTime(), got.GetUntil().AsTime())
	})
}

// The operator may react to what it does not receive. That makes it no recipient.
func TestTheOperatorsReactionMakesNoRecord(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.hire(t, "bob")
		asked := h.asks(t, one())
		_, err := h.AddReaction(asOperator(), &openintentv1.AddReactionRequest{ChannelId: h.channel, MessageId: asked, Signal: "seen"})
		require.NoError(t, err)
		list, err := h.talk.ListMessageDeliveries(as("alice"), &openintentv1.ListMessageDeliveriesRequest{
			ChannelId: h.channel, MessageId: asked,
		})
		require.NoError(t, err)
		require.Len(t, list.GetDeliveries(), 1)
	})
}
