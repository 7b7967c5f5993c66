package conversation

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/obligation"
)

func TestALateAnswerIsAMessageBelowTheRequest(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob", func(r *openintentv1.SendMessageRequest) { r.ExpiresInSeconds = ptr(60.0) })
		h.returns(t, step)
		faulttest.Require(t, h.answer("bob", asked.GetId(), 0), fault.Conflict, "MESSAGE_EXPIRED")
		_, err := h.talk.SendMessage(as("bob"), &openintentv1.SendMessageRequest{ChannelId: h.channel, To: ptr("alice"), ParentId: ptr(asked.GetId())})
		require.NoError(t, err)
		_, err = h.talk.SendMessage(as("eve"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: ptr(asked.GetId())})
		faulttest.RequireBadField(t, err, "parent_id")
		h.signal(t, "bob", asked, "declined")
		require.Equal(t, []string{"bob obligation_return 1", "operator obligation_declined"}, h.toldOf(t))
	})
}

func TestEvictionSparesWhatIsOwed(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		small, err := h.channels.CreateChannel(as("alice"), &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "small", Options: &openintentv1.ChannelOptions{MaxMessages: ptr(int64(1))},
		})
		require.NoError(t, err)
		owed := h.oblige(t, "bob", func(r *openintentv1.SendMessageRequest) { r.ChannelId = small.GetId() })
		for range 3 {
			_, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: small.GetId()})
			require.NoError(t, err)
		}
		get := func() error {
			_, err := h.talk.GetMessage(as("bob"), &openintentv1.GetMessageRequest{ChannelId: small.GetId(), MessageId: owed.GetId()})
			return err
		}
		for range 3 {
			h.clock.Advance(10 * 24 * time.Hour)
			require.NoError(t, h.talk.Sweep(context.Background()))
		}
		require.NoError(t, get(), "what the knock names can be fetched")
		h.returns(t, 0)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
		_, err = h.discharge(as("alice"), owed)
		require.NoError(t, err)
		h.clock.Advance(time.Minute)
		require.NoError(t, h.talk.Sweep(context.Background()))
		require.Error(t, get(), "then it goes as the others did")
	})
}

func TestTheEndOfAnIntentListsWhatWasOpen(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		first, second := h.oblige(t, "bob"), h.oblige(t, "eric")
		done := h.oblige(t, "frank")
		_, err := h.discharge(as("alice"), done)
		require.NoError(t, err)
		h.abandon(t)
		require.Equal(t, []string{"carla obligations_ended_with_intent"}, h.toldOf(t))
		inbox, err := h.talk.GetInbox(as("carla"), &openintentv1.GetInboxRequest{AgentId: "carla"})
		require.NoError(t, err)
		text, err := json.Marshal(inbox.GetItems()[0].GetMessage().GetPayload().AsMap())
		require.NoError(t, err)
		require.Contains(t, string(text), first.GetId())
		require.Contains(t, string(text), second.GetId())
		require.NotContains(t, string(text), done.GetId())
		require.NotContains(t, string(text), "the lock", "and nothing of what they say")
		h.returns(t, 24*time.Hour)
		require.Len(t, h.toldOf(t), 1)
		ended, err := h.discharge(as("alice"), first)
		require.NoError(t, err)
		require.Equal(t, caller.System, ended.GetAgentId())
	})
}

func TestTheEndOfAChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: h.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t), "closing it discharges nothing")
		other, err := h.channels.CreateChannel(as("alice"), &openintentv1.CreateChannelRequest{IntentId: h.intent, Name: "other"})
		require.NoError(t, err)
		elsewhere := h.oblige(t, "eric", func(r *openintentv1.SendMessageRequest) { r.ChannelId = other.GetId() })
		found := h.owedAt(t)
		_, err = h.channels.DeleteChannel(asOperator(), &openintentv1.DeleteChannelRequest{ChannelId: h.channel})
		require.NoError(t, err)
		require.NoError(t, h.lookAtObligation(t.Context(), found[0]), "a sweep that has found it before the channel went")
		h.returns(t, step)
		require.Equal(t, []string{"operator obligations_ended_with_channel", "eric obligation_return 1"}, h.toldOf(t)[1:],
			"what is owed in another channel of the intent stays open")
		_, err = h.discharge(as("alice"), asked)
		require.Error(t, err)
		closed, err := h.discharge(as("alice"), elsewhere)
		require.NoError(t, err)
		require.Equal(t, "alice", closed.GetAgentId())
	})
}

// owedAt returns the places of the obligations with a step to come, the next one first, as a sweep finds them.
func (h *house) owedAt(t *testing.T) (found []obligation.Place) {
	t.Helper()
	require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) (err error) {
		found, err = obligation.ToLookAt(tx, h.clock.Now().Add(time.Hour), 100)
		return err
	}))
	return found
}

func TestADeletedRequestOwesNothing(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		_, err := h.talk.DeleteMessage(as("alice"), &openintentv1.DeleteMessageRequest{ChannelId: h.channel, MessageId: asked.GetId()})
		require.NoError(t, err)
		closed, err := h.discharge(asOperator(), asked)
		require.NoError(t, err)
		require.Equal(t, "alice", closed.GetAgentId(), "the deletion has discharged it")
		require.Nil(t, closed.Note)
		h.returns(t, 24*time.Hour)
		require.Empty(t, h.toldOf(t))
	})
}
