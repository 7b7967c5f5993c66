package messaging

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
)

const statusSurfaced = openintentv1.DeliveryStatus_DELIVERY_STATUS_SURFACED

// dispose says what an agent did with a message.
func (h *house) dispose(t require.TestingT, agent string, m *wireMessage, said Disposition) Disposition {
	stored, err := h.tryDispose(as(agent), m, said)
	require.NoError(t, err)
	return stored
}

func (h *house) tryDispose(ctx context.Context, m *wireMessage, said Disposition) (stored Disposition, err error) {
	by, err := caller.Known(ctx)
	if err != nil {
		return said, err
	}
	err = h.messaging.HoldMessage(ctx, by, by.Agent, m.GetChannelId(), m.GetId(), message.ByID, func(s *Sighting) (err error) {
		stored, err = s.SetDisposition(said)
		return err
	})
	return stored, err
}

func (h *house) trySurface(ctx context.Context, agent string, ids ...string) ([]*openintentv1.SurfacedMessage, error) {
	answer, err := h.messaging.MarkSurfaced(ctx, &openintentv1.MarkSurfacedRequest{AgentId: agent, MessageIds: ids})
	return answer.GetMessages(), err
}

func TestTheLastDispositionCounts(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		asked := h.asks(t, "a", channelID, "b")
		require.Nil(t, h.deliveryTo(t, asked, "b").Disposition, "nothing is guessed")
		require.Nil(t, h.deliveryTo(t, asked, "b").GetDisposedAt())

		h.clock.Advance(time.Minute)
		deferred := h.dispose(t, "b", asked, Disposition{Word: "deferred", Reason: "busy", Until: h.clock.Now().Add(time.Hour)})
		require.Equal(t, "deferred", h.deliveryTo(t, asked, "b").GetDisposition())
		require.Equal(t, deferred.At, h.deliveryTo(t, asked, "b").GetDisposedAt().AsTime())
		require.Equal(t, statusStored, h.deliveryTo(t, asked, "b").GetStatus(), "a disposition is no step of the ladder")

		h.clock.Advance(time.Minute)
		again := h.dispose(t, "b", asked, Disposition{Word: "deferred", Reason: "busy", Until: deferred.Until})
		require.Equal(t, deferred, again, "to say the same again changes nothing")
		require.Equal(t, 1, h.rows(t, "annotations", "annotation_type = ?", string(message.AnnotationDisposition)))

		answer := h.reply(t, "b", channelID, asked.GetId(), "yes")
		require.Equal(t, "responded", h.deliveryTo(t, asked, "b").GetDisposition(), "an answer came later")
		require.Equal(t, answer.GetCreatedAt().AsTime(), h.deliveryTo(t, asked, "b").GetDisposedAt().AsTime())

		h.clock.Advance(time.Minute)
		h.dispose(t, "b", asked, Disposition{Word: "superseded"})
		require.Equal(t, "superseded", h.deliveryTo(t, asked, "b").GetDisposition())
		h.clock.Advance(time.Minute)
		h.reply(t, "b", channelID, asked.GetId(), "and more")
		require.Equal(t, "responded", h.deliveryTo(t, asked, "b").GetDisposition(), "also a further answer counts")
		require.Equal(t, 2, h.rows(t, "annotations", "1 = 1"), "an answer is no annotation")
		require.Equal(t, 1, h.rows(t, "dispositions", "1 = 1"))
	})
}

// To defer again until another time is not to say the same again.
func TestADeferralUntilAnotherTimeIsStored(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b")
		until := h.clock.Now().Add(time.Hour)
		h.dispose(t, "b", asked, Disposition{Word: "deferred", Until: until})
		for said, other := range []time.Time{until.Add(time.Hour), until.Add(-time.Minute), {}} {
			require.Equal(t, other, h.dispose(t, "b", asked, Disposition{Word: "deferred", Until: other}).Until)
			require.Equal(t, said+2, h.rows(t, "annotations", "1 = 1"))
		}
	})
}

func TestDispositionsAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		told := h.send(t, "a", &sendRequest{ChannelId: h.open(t), To: ptr("b")})
		for i := range maxDispositions {
			h.dispose(t, "b", told, Disposition{Word: "ignored", Reason: fmt.Sprint(i)})
		}
		_, err := h.tryDispose(as("b"), told, Disposition{Word: "failed"})
		faulttest.Require(t, err, fault.Quota, "TOO_MANY_DISPOSITIONS")
		h.dispose(t, "b", told, Disposition{Word: "ignored", Reason: fmt.Sprint(maxDispositions - 1)})
		require.Equal(t, maxDispositions, h.rows(t, "annotations", "1 = 1"))
	})
}

func TestSurfacedIsTheFirstTimeThatItWasSaid(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b")
		told := h.send(t, "a", &sendRequest{ChannelId: h.open(t), To: ptr("b")})
		h.inbox(t, "b")
		h.flushOffers(t)
		require.Equal(t, statusOffered, h.deliveryTo(t, asked, "b").GetStatus())
		at := h.clock.Advance(time.Minute)
		first, err := h.trySurface(as("b"), "b", told.GetId(), asked.GetId(), told.GetId())
		require.NoError(t, err)
		require.Len(t, first, 2)
		require.Equal(t, told.GetId(), first[0].GetMessageId())
		require.Equal(t, at, first[1].GetSurfacedAt().AsTime())
		require.Equal(t, statusSurfaced, h.deliveryTo(t, asked, "b").GetStatus())
		require.Equal(t, at, h.deliveryTo(t, asked, "b").GetSurfacedAt().AsTime())

		h.clock.Advance(time.Minute)
		again, err := h.trySurface(asOperator(), "b", asked.GetId())
		require.NoError(t, err)
		require.Equal(t, at, again[0].GetSurfacedAt().AsTime())
		_, err = h.markInbox(as("b"), "b", asked.GetId())
		require.NoError(t, err)
		require.Equal(t, statusRead, h.deliveryTo(t, asked, "b").GetStatus())
		require.Equal(t, at, h.deliveryTo(t, asked, "b").GetSurfacedAt().AsTime())
	})
}

// What was said first of a message takes nothing from what is said of it later.
func TestSurfacedAndDisposedInEitherOrder(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		early, late := h.asks(t, "a", channelID, "b"), h.asks(t, "a", channelID, "b")
		h.dispose(t, "b", late, Disposition{Word: "ignored", Reason: "later"})
		at := h.clock.Advance(time.Minute)
		_, err := h.trySurface(as("b"), "b", early.GetId(), late.GetId())
		require.NoError(t, err)
		require.Empty(t, h.deliveryTo(t, early, "b").GetDisposition())
		h.clock.Advance(time.Minute)
		h.dispose(t, "b", early, Disposition{Word: "ignored"})
		for _, m := range []*openintentv1.Message{early, late} {
			delivery := h.deliveryTo(t, m, "b")
			require.Equal(t, at, delivery.GetSurfacedAt().AsTime())
			require.Equal(t, "ignored", delivery.GetDisposition())
		}
		require.Equal(t, 2, h.rows(t, "dispositions", "reason = 'later' AND surfaced_at IS NOT NULL OR reason = ''"))
	})
}

func TestSurfacedAllOrNone(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		mine, others := h.asks(t, "a", channelID, "b"), h.asks(t, "a", channelID, "c")
		for _, c := range []struct {
			as     context.Context
			kind   fault.Kind
			reason string
			ids    []string
		}{
			{as("b"), fault.NotFound, "MESSAGE_NOT_FOUND", []string{mine.GetId(), others.GetId()}},
			{as("b"), fault.NotFound, "MESSAGE_NOT_FOUND", []string{mine.GetId(), aMessageID}},
			{as("b"), fault.NotFound, "MESSAGE_NOT_FOUND", []string{mine.GetId(), "no id"}},
			{as("c"), fault.Denied, "NOT_AGENT_OWNER", []string{mine.GetId()}},
		} {
			_, err := h.trySurface(c.as, "b", c.ids...)
			faulttest.Require(t, err, c.kind, c.reason)
		}
		_, err := h.trySurface(as("a"), "a", mine.GetId())
		faulttest.Require(t, err, fault.Denied, "OWN_MESSAGE")
		_, err = h.trySurface(asOperator(), caller.Operator, mine.GetId())
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		require.Zero(t, h.rows(t, "dispositions", "1 = 1"))
	})
}

// What became of a message may still be said when its channel is closed and its intent has ended, and goes with the message.
func TestHandlingOutlivesTheChannelAndNotTheMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		channelID := h.create(t, &createRequest{IntentId: intentID})
		asked := h.asks(t, "a", channelID, "b")
		h.closeChannel(t, channelID)
		h.dispose(t, "b", asked, Disposition{Word: "failed"})
		h.setStatus(t, intentID, completed)
		h.dispose(t, "b", asked, Disposition{Word: "ignored"})
		_, err := h.trySurface(as("b"), "b", asked.GetId())
		require.NoError(t, err)
		require.Equal(t, "ignored", h.deliveryTo(t, asked, "b").GetDisposition())
		h.deleteChannel(t, channelID)
		h.sweep(t)
		require.Zero(t, h.rows(t, "dispositions", "1 = 1"))
	})
}
