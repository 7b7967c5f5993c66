package mcp

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// What an agent owes is told apart from what it has not answered, and neither hides the other.
func TestAModelIsToldHowMuchItOwes(t *testing.T) {
	each(t, func(t *testing.T, h *house) {
		alice, ben := h.join(t, "alice"), h.join(t, "ben")
		intent, err := alice.direct.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Report"})
		require.NoError(t, err)
		channel, err := alice.direct.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: "report",
		})
		require.NoError(t, err)
		ask := func(obligation *openintentv1.Obligation) *openintentv1.Message {
			asked, err := alice.direct.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: channel.GetId(), To: &ben.direct.Agent, MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
				Obligation: obligation, Payload: &structpb.Struct{},
			})
			require.NoError(t, err)
			return asked
		}
		counts := func(of *agent, tool string) []any {
			answer, _ := of.call(t, tool, nil)
			return []any{answer["unread"], answer["unanswered"], answer["owed"], answer["more_owed"]}
		}
		require.Equal(t, []any{0.0, 0.0, 0.0, nil}, counts(ben, "whoami"))
		concerns := func(of *agent) []any {
			answer, _ := of.call(t, "whoami", nil)
			return []any{answer["concerns"], answer["more_concerns"], answer["read_only"]}
		}
		require.Equal(t, []any{0.0, nil, nil}, concerns(ben))

		ask(nil)
		owed := ask(&openintentv1.Obligation{})
		require.Equal(t, []any{2.0, 2.0, 1.0, nil}, counts(ben, "whoami"))
		require.Equal(t, []any{2.0, 2.0, 1.0, nil}, counts(ben, "inbox"))
		require.Equal(t, []any{2.0, nil, nil}, concerns(ben), "two questions")
		told := alice.post(t, &openintentv1.SendMessageRequest{ChannelId: channel.GetId(), To: &ben.direct.Agent, Payload: &structpb.Struct{}})
		inbox, _ := ben.call(t, "inbox", arguments{"policy": "ack_only"})
		require.Len(t, list(t, inbox, "messages"), 1)
		require.Equal(t, told, list(t, inbox, "messages")[0]["id"])
		inbox, _ = ben.call(t, "inbox", arguments{"policy": "must_respond", "limit": 1})
		require.Len(t, list(t, inbox, "messages"), 1)
		require.Equal(t, "must_respond", list(t, inbox, "messages")[0]["policy"])
		inbox, _ = ben.call(t, "inbox", arguments{"policy": "must_respond", "cursor": inbox["cursor"]})
		require.Equal(t, owed.GetId(), list(t, inbox, "messages")[0]["id"])
		require.Equal(t, "INVALID_FIELD", ben.refused(t, "inbox", arguments{"policy": "unspecified"}).Refused)
		ben.call(t, "mark", arguments{"messages": []string{told}, "signal": "read"})
		ben.call(t, "reply", arguments{"message": owed.GetId(), "text": "I am at it."})
		require.Equal(t, []any{1.0, 1.0, 1.0, nil}, counts(ben, "whoami"), "an answer does not discharge it")
		require.Zero(t, counts(alice, "whoami")[2], "what others owe to alice is no debt of alice")

		for range owedCounted {
			ask(&openintentv1.Obligation{})
		}
		require.Equal(t, []any{21.0, 21.0, 20.0, true}, counts(ben, "whoami"))
		require.Equal(t, []any{21.0, 21.0, 20.0, true}, counts(ben, "inbox"))
		_, err = alice.direct.Obligations.DischargeObligation(t.Context(), &openintentv1.DischargeObligationRequest{
			ChannelId: channel.GetId(), MessageId: owed.GetId(),
		})
		require.NoError(t, err)
		require.Equal(t, []any{20.0, nil}, counts(ben, "whoami")[2:])
	})
}

// owedCounted is how many obligations the door counts at most.
const owedCounted = 20
