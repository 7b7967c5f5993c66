package subscriptions

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/messaging"
	"openintent/messaging/message"
)

// notes stores an annotation of a type in an agent's name.
func (h *house) notes(t *testing.T, agent string, m *wireMessage, annotationType message.AnnotationType) {
	t.Helper()
	c, err := caller.Known(as(agent))
	require.NoError(t, err)
	err = h.messaging.HoldMessage(context.Background(), c, agent, m.GetChannelId(), m.GetId(), message.Current, func(seen *messaging.Sighting) error {
		return seen.Annotate(annotationType, agent, message.AnnotationDetails{For: []string{agent}})
	})
	require.NoError(t, err)
}

// Who holds a role hears what becomes of a request to it: that it was edited, claimed, free again, or deleted. Reactions and
// dispositions of others are for its sender, and nobody else than the holders hears anything.
func TestHoldersOfARoleHearWhatBecomesOfItsRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		channel := h.open(t, intentID, "talk")
		h.register(t, "bob", "judge")
		h.register(t, "carl", "judge")
		h.register(t, "dora", "clerk")
		streams, own := make(map[string]*stream[wireDelivery]), h.followIncluding(t, "carl", nil)
		for _, agent := range []string{"carl", "dora"} {
			streams[agent] = h.stream(t, h.subscribe(t, agent, &createInput{
				IntentId: &intentID, Include: []string{"annotations"},
			}), nil)
		}
		asked := h.asks(t, "ann", channel, "role:judge", "which?")
		require.Equal(t, asked.GetId(), streams["carl"].next(t).GetMessage().GetId())
		require.True(t, own.next(t).GetCaughtUp())
		require.Equal(t, asked.GetId(), own.next(t).GetMessage().GetId())
		hears := func(word string) {
			t.Helper()
			told := streams["carl"].next(t).GetAnnotation()
			require.Equal(t, []string{word, asked.GetId()}, []string{told.GetType(), told.GetMessageId()})
			require.Equal(t, word, own.next(t).GetAnnotation().GetType())
		}
		h.notes(t, "bob", asked, message.AnnotationClaim)
		hears("message_claimed")
		h.annotate(t, "bob", asked, "working")
		h.notes(t, "bob", asked, message.AnnotationDisposition)
		h.notes(t, "bob", asked, message.AnnotationClaimEnd)
		hears("claim_released")
		h.notes(t, "ann", asked, message.AnnotationEdit)
		hears("message_edited")
		h.erase(t, asked)
		hears("message_deleted")
		h.send(t, "ann", channel, "*", "the end")
		require.Equal(t, "the end", textOf(streams["carl"].next(t).GetMessage()))
		require.Equal(t, "the end", textOf(streams["dora"].next(t).GetMessage()))
	})
}

// Who takes the role later was not given a request that had its answer by then.
func TestALaterHolderHearsNothingOfAnAnsweredRequest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		channel := h.open(t, intentID, "talk")
		h.register(t, "bob", "judge")
		h.register(t, "carl", "clerk")
		asked := h.asks(t, "ann", channel, "role:judge", "which?")
		response := openintentv1.MessageType_MESSAGE_TYPE_RESPONSE
		_, err := h.messaging.SendMessage(as("bob"), &openintentv1.SendMessageRequest{
			ChannelId: channel, MessageType: &response, CorrelationId: ptr(asked.GetId()), Payload: content("this"),
		})
		require.NoError(t, err)
		h.register(t, "carl", "judge")
		s := h.stream(t, h.subscribe(t, "carl", &createInput{IntentId: &intentID, Include: []string{"annotations"}}), nil)
		h.notes(t, "ann", asked, message.AnnotationEdit)
		h.erase(t, asked)
		h.send(t, "ann", channel, "*", "the end")
		require.Equal(t, "the end", textOf(s.next(t).GetMessage()))
	})
}
