package mcp

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// deliveries returns what became of an agent's message with one recipient.
func (a *agent) delivery(t *testing.T, channel, message, recipient string) *openintentv1.MessageDelivery {
	t.Helper()
	page, err := a.direct.Messages.ListMessageDeliveries(t.Context(), &openintentv1.ListMessageDeliveriesRequest{
		ChannelId: channel, MessageId: message,
	})
	require.NoError(t, err)
	for _, delivery := range page.GetDeliveries() {
		if delivery.GetAgentId() == recipient {
			return delivery
		}
	}
	return nil
}

func TestMarkSaysWhatBecameOfMessages(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		one, two := ann.ask(t, room, "bob", "one", nil), ann.ask(t, room, "bob", "two", nil)
		marks := func(signal string) {
			t.Helper()
			answer, _ := bob.call(t, "mark", arguments{"messages": []string{one, two, one}, "signal": signal})
			require.Equal(t, object{"marked": 2.0}, answer)
		}
		marks("read")
		require.NotNil(t, ann.delivery(t, room, two, "bob").GetReadAt())
		marks("surfaced")
		require.NotNil(t, ann.delivery(t, room, one, "bob").GetSurfacedAt())
		for signal, disposition := range map[string]string{
			"seen": "acknowledged", "agree": "acknowledged", "working": "claimed", "claimed": "claimed", "queued": "deferred",
			"blocked": "deferred", "declined": "ignored", "done": "responded",
			"responded": "responded", "acknowledged": "acknowledged", "deferred": "deferred", "ignored": "ignored",
			"superseded": "superseded", "failed": "failed",
		} {
			fresh := ann.ask(t, room, "bob", signal, nil)
			answer, _ := bob.call(t, "mark", arguments{"messages": []string{fresh}, "signal": signal})
			require.Equal(t, object{"marked": 1.0}, answer)
			require.Equal(t, disposition, ann.delivery(t, room, fresh, "bob").GetDisposition(), signal)
		}
		marks("unclear")
		thread, _ := ann.call(t, "read", arguments{"thread": one})
		require.NotContains(t, thread, "claimed_by")
	})
}

// What cannot be marked is named with the reason, and the rest is marked.
func TestMarkNamesWhatItLeavesOut(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		mine, own, others := ann.ask(t, room, "bob", "?", nil), bob.tell(t, room, "own"), ann.ask(t, room, "cora", "?", nil)
		for _, signal := range []string{"read", "surfaced", "failed", "seen"} {
			answer, _ := bob.call(t, "mark", arguments{"messages": []string{others, mine, "nowhere"}, "signal": signal})
			require.EqualValues(t, 1, answer["marked"], signal)
			refused := list(t, answer, "refused")
			require.Len(t, refused, 1, signal)
			require.Equal(t, "MESSAGE_NOT_FOUND", refused[0]["refused"])
			require.Equal(t, []any{others, "nowhere"}, refused[0]["messages"])
		}
		require.Equal(t, "MESSAGE_NOT_FOUND", bob.refused(t, "mark", arguments{"messages": []string{others}, "signal": "seen"}).Refused)
		require.Equal(t, "MESSAGE_NOT_FOUND", bob.refused(t, "mark", arguments{"messages": []string{others}, "signal": "read"}).Refused)
		require.Equal(t, "NOT_A_RECIPIENT", bob.refused(t, "mark", arguments{"messages": []string{own}, "signal": "ignored"}).Refused)
		var many []string
		for i := range 21 {
			many = append(many, fmt.Sprint("m", i))
		}
		for _, given := range []arguments{
			{"messages": many, "signal": "read"}, {"messages": []string{}, "signal": "read"}, {"messages": []string{mine}, "signal": "x-own"},
			{"messages": []string{mine}}, {"signal": "read"},
		} {
			require.Equal(t, "INVALID_FIELD", bob.refused(t, "mark", given).Refused)
		}
	})
}

// A note goes with what the contract has a note or a reason for, and whoever asked reads it there.
func TestMarkSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		ann, bob := h.join(t, "ann"), h.join(t, "bob")
		room := ann.open(t, ann.intent(t, "Report", nil), "room")
		noted := func(signal, note string) string {
			t.Helper()
			asked := ann.ask(t, room, "bob", signal, nil)
			answer, _ := bob.call(t, "mark", arguments{"messages": []string{asked}, "signal": signal, "note": note})
			require.Equal(t, object{"marked": 1.0}, answer)
			return asked
		}
		for _, signal := range []string{"declined", "queued"} {
			asked := noted(signal, "I only write")
			listed, err := ann.direct.Reactions.ListReactions(t.Context(), &openintentv1.ListReactionsRequest{ChannelId: room, MessageId: asked})
			require.NoError(t, err)
			require.Len(t, listed.GetReactions(), 1)
			require.Equal(t, []string{signal, "I only write"}, []string{listed.GetReactions()[0].GetSignal(), listed.GetReactions()[0].GetNote()})
		}
		superseded := noted("superseded", "Cora has done it")
		again, err := bob.direct.Attention.SetDisposition(t.Context(), &openintentv1.SetDispositionRequest{
			ChannelId: room, MessageId: superseded, Disposition: "superseded", Reason: new("Cora has done it"),
		})
		require.NoError(t, err)
		require.Equal(t, ann.delivery(t, room, superseded, "bob").GetDisposedAt().AsTime(), again.GetDisposedAt().AsTime(), "it was so already")

		ended, err := ann.direct.Messages.AwaitResponses(t.Context(), &openintentv1.AwaitResponsesRequest{
			ChannelId: room, MessageId: noted("declined", "Not today"), WaitSeconds: new(harness.Patience.Seconds()), Explain: new(true),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"DECLINED", "Not today"}, []string{ended.GetCause(), ended.GetNote()})

		asked := ann.ask(t, room, "bob", "?", nil)
		for signal, note := range map[string]string{"read": "x", "surfaced": "x", "declined": strings.Repeat("x", 201), "failed": strings.Repeat("x", 201)} {
			said := bob.refused(t, "mark", arguments{"messages": []string{asked}, "signal": signal, "note": note})
			require.Equal(t, "INVALID_FIELD", said.Refused, signal)
			require.True(t, strings.HasPrefix(said.Message, "note:"), said.Message)
		}
		require.Nil(t, ann.delivery(t, room, asked, "bob").GetReadAt(), "a refused mark marks nothing")
	})
}
