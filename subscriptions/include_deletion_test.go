package subscriptions

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

// The deletion of a request ends it, and is told to those to whom the request was shown until then: its addressee, but nobody whom it was
// not for, and not after the request's own time was over.
func TestTheDeletionOfARequestIsDelivered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		subs := make(map[string]*openintentv1.Subscription)
		for _, agent := range []string{"bob", "carl"} {
			subs[agent] = h.subscribe(t, agent, &createInput{
				ChannelId: &channel, Include: []string{"annotations"}, EventTypes: []string{"message_deleted", "channel_message"},
			})
		}
		question := h.asks(t, "ann", channel, "bob", "which?")
		late := h.sendAs(t, "ann", &openintentv1.SendMessageRequest{
			ChannelId: channel, To: ptr("bob"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(), Payload: &structpb.Struct{},
			ExpiresAt: h.in(time.Minute),
		})
		stream, other := h.stream(t, subs["bob"], nil), h.stream(t, subs["carl"], nil)
		for _, asked := range []*wireMessage{question, late} {
			require.Equal(t, asked.GetId(), stream.next(t).GetMessage().GetId())
		}
		h.erase(t, question)
		deleted := stream.next(t)
		told := deleted.GetAnnotation()
		require.Equal(t, []string{"message_deleted", question.GetId(), "ann"}, []string{told.GetType(), told.GetMessageId(), told.GetAgentId()})
		_, err := h.tryAcknowledge(subs["bob"], deleted.GetNumber())
		require.NoError(t, err)
		h.clock.Advance(2 * time.Minute)
		h.erase(t, late)
		h.send(t, "ann", channel, "*", "the end")
		require.Equal(t, "the end", textOf(stream.next(t).GetMessage()))
		require.Equal(t, "the end", textOf(other.next(t).GetMessage()))
	}, restless)
}
