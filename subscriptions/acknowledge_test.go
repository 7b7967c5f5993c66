package subscriptions

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/record"
)

func TestFetchDeliversUntilAcknowledged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		h.send(t, "ann", channel, "bob", "before")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		require.Empty(t, h.fetch(t, sub), "the subscription begins now")

		for _, text := range []string{"one", "two", "three"} {
			h.send(t, "ann", channel, "bob", text)
		}
		h.send(t, "ann", channel, "eve", "not for bob")
		found := h.fetch(t, sub)
		require.Equal(t, []string{"1:one", "2:two", "3:three"}, described(found))
		require.Equal(t, int32(1), found[0].GetAttempt())
		require.Equal(t, "talk", found[0].GetChannelName())
		require.Equal(t, sub.GetId(), found[0].GetSubscriptionId())
		require.NotEmpty(t, found[0].GetIntentId())
		require.Empty(t, h.fetch(t, sub), "the deliveries wait to be acknowledged")

		state := h.acknowledge(t, sub, 2)
		require.Equal(t, int64(0), state.GetAcknowledgedThrough())
		require.Equal(t, int64(2), state.GetOutstandingCount())
		require.Equal(t, int64(3), state.GetLastNumber())
		h.clock.Advance(30*time.Second - time.Microsecond)
		require.Empty(t, h.fetch(t, sub))
		h.clock.Advance(time.Microsecond)
		found = h.fetch(t, sub)
		require.Equal(t, []string{"1:one", "3:three"}, described(found))
		require.Equal(t, int32(2), found[0].GetAttempt())

		state, err := h.tryAcknowledge(sub, 3)
		require.NoError(t, err)
		require.Equal(t, int64(3), state.GetAcknowledgedThrough())
		require.Zero(t, state.GetOutstandingCount())
		h.clock.Advance(time.Hour)
		require.Empty(t, h.fetch(t, sub), "acknowledged deliveries never come again")
		h.send(t, "ann", channel, "bob", "four")
		require.Equal(t, []string{"4:four"}, described(h.fetch(t, sub)))
	})
}

func TestAcknowledgingRefusesWhatWasNotDelivered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		_, err := h.tryAcknowledge(sub, 1)
		faulttest.Require(t, err, fault.Invalid, "NOT_DELIVERED")
		for _, text := range []string{"one", "two", "three"} {
			h.send(t, "ann", channel, "bob", text)
		}
		found, err := h.tryFetch(as("bob"), sub, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"1:one", "2:two"}, described(found))
		for _, attempt := range []func() error{
			func() error { _, err := h.tryAcknowledge(sub, 3); return err }, // gathered, not delivered
			func() error { _, err := h.tryAcknowledge(sub, 0, 1, 3); return err },
			func() error { _, err := h.tryAcknowledge(sub, 1, 4); return err },
		} {
			faulttest.Require(t, attempt(), fault.Invalid, "NOT_DELIVERED")
			require.Equal(t, int64(2), h.get(t, sub).GetOutstandingCount(), "nothing was acknowledged")
		}
		h.acknowledge(t, sub, 1)
		require.Equal(t, int64(1), h.acknowledge(t, sub, 1, 2, 1).GetAcknowledgedThrough()-1, "repeats are harmless")
		require.Equal(t, []string{"3:three"}, described(h.fetch(t, sub)))
	})
}

func TestDeadLetters(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(5)), MaxAttempts: ptr(int32(2)),
		})
		sent := h.send(t, "ann", channel, "bob", "one")
		h.send(t, "ann", channel, "bob", "two")
		h.fetch(t, sub)
		h.clock.Advance(5 * time.Second)
		require.Len(t, h.fetch(t, sub), 2)
		h.clock.Advance(5 * time.Second)
		require.Empty(t, h.fetch(t, sub), "both attempts are used up")

		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 2)
		require.Equal(t, "1:one", describe(letters[0].GetDelivery()))
		require.Equal(t, int32(2), letters[0].GetDelivery().GetAttempt())
		require.Equal(t, "not acknowledged within 5 seconds after 2 attempts", letters[0].GetReason())
		require.Equal(t, h.clock.Now(), letters[0].GetDeadAt().AsTime())
		state := h.get(t, sub)
		require.Equal(t, int64(2), state.GetDeadLetterCount())
		require.Zero(t, state.GetOutstandingCount())
		require.Equal(t, int64(2), state.GetAcknowledgedThrough(), "acknowledged or given up")
		require.Equal(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())

		page, err := h.subscriptions.ListDeadLetters(as("bob"), &openintentv1.ListDeadLettersRequest{
			SubscriptionId: sub.GetId(), AfterNumber: ptr(int64(1)), Limit: ptr(int32(1)),
		})
		require.NoError(t, err)
		require.Equal(t, "2:two", describe(page.GetDeadLetters()[0].GetDelivery()))

		_, err = h.redrive(sub, 1, 3)
		faulttest.Require(t, err, fault.Invalid, "NOT_A_DEAD_LETTER")
		require.Len(t, h.deadLetters(t, sub), 2, "nothing was redriven")
		state, err = h.redrive(sub, 1)
		require.NoError(t, err)
		require.Equal(t, int64(1), state.GetDeadLetterCount())
		require.NotEqual(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
		found := h.fetch(t, sub)
		require.Equal(t, []string{"1:one"}, described(found))
		require.Equal(t, int32(1), found[0].GetAttempt(), "attempts are counted from the beginning")
		h.acknowledge(t, sub, 1)

		_, err = h.redrive(sub)
		require.NoError(t, err)
		require.Equal(t, []string{"2:two"}, described(h.fetch(t, sub)), "all dead letters are redriven")
	})
}

// A cumulative acknowledgement does not cover a delivery that was redriven meanwhile; an acknowledgement by number does.
func TestAcknowledgingAroundDeadLetters(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, MaxAttempts: ptr(int32(1))})
		sent := h.send(t, "ann", channel, "bob", "one")
		h.send(t, "ann", channel, "bob", "two")
		h.fetch(t, sub)
		h.clock.Advance(time.Minute)
		h.sweep(t)
		require.Equal(t, int64(2), h.get(t, sub).GetDeadLetterCount(), "the sweep gives deliveries up where nobody looks")
		_, err := h.tryAcknowledge(sub, 2)
		require.NoError(t, err)
		require.Len(t, h.deadLetters(t, sub), 2, "dead letters are not deliveries under way")

		_, err = h.redrive(sub, 2)
		require.NoError(t, err)
		_, err = h.tryAcknowledge(sub, 2)
		require.NoError(t, err)
		require.Equal(t, []string{"2:two"}, described(h.fetch(t, sub)))

		h.acknowledge(t, sub, 1)
		require.Empty(t, h.deadLetters(t, sub), "a late consumer has finished it")
		require.NotEqual(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
	})
}

func TestAcknowledgingNothingIsASlip(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, err := h.tryAcknowledge(h.subscribe(t, "bob", &createInput{}), 0)
		faulttest.RequireBadField(t, err, "numbers")
	})
}

// A consumer that was slow may find that nothing is left of a delivery which was given up meanwhile. It is a dead letter then, and stays one.
func TestPassingOverLeavesDeadLetters(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel, MaxAttempts: ptr(int32(1))})
		h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, sub)
		h.clock.Advance(time.Minute)
		h.sweep(t)
		h.send(t, "ann", channel, "bob", "two")
		require.Len(t, h.fetch(t, sub), 1)
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		require.NoError(t, h.subscriptions.supplier.PassOver(t.Context(), found.No, "", []record.Delivery{{Number: 1}, {Number: 2}}))
		require.Len(t, h.deadLetters(t, sub), 1)
		require.Zero(t, h.get(t, sub).GetOutstandingCount(), "the other one is done")
	})
}

// If two subscriptions gave a message up, its sender sees that until the message is a dead letter of neither.
func TestDeadLettersAreForgottenWithTheLastSubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		input := &createInput{ChannelId: &channel, AcknowledgeSeconds: ptr(int32(1)), MaxAttempts: ptr(int32(1))}
		first, second := h.subscribe(t, "bob", input), h.subscribe(t, "bob", input)
		sent := h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, first)
		h.fetch(t, second)
		h.clock.Advance(time.Second)
		h.sweep(t)
		require.Len(t, h.deadLetters(t, first), 1)
		require.Len(t, h.deadLetters(t, second), 1)

		_, err := h.redrive(first)
		require.NoError(t, err)
		require.Equal(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
		h.acknowledge(t, second, 1)
		require.NotEqual(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
	})
}

// If a delivery becomes a dead letter while it is being acknowledged, it is finished, but its message keeps the record of the
// dead letter, because the intent was not locked.
func TestWhatIsGivenUpWhileItIsAcknowledged(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{
			ChannelId: &channel, AcknowledgeSeconds: ptr(int32(1)), MaxAttempts: ptr(int32(1)),
		})
		sent := h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, sub)
		found, err := h.subscriptions.find(as("bob"), sub.GetId())
		require.NoError(t, err)
		before, err := h.subscriptions.deadLettersAmong(t.Context(), found.No, []int64{1})
		require.NoError(t, err)
		h.clock.Advance(time.Second)
		h.sweep(t)
		require.Len(t, h.deadLetters(t, sub), 1)
		require.NoError(t, h.subscriptions.acknowledgeDead(t.Context(), found.No, []int64{1}, 0, before))
		require.Empty(t, h.deadLetters(t, sub))
		require.Equal(t, openintentv1.DeliveryStatus_DELIVERY_STATUS_DEAD_LETTERED, h.told(t, sent).GetStatus())
	})
}

// told returns what the sender learns about the delivery to a message's only recipient.
func (h *house) told(t *testing.T, m *wireMessage) *openintentv1.MessageDelivery {
	response, err := h.messaging.ListMessageDeliveries(as(m.GetSender()),
		&openintentv1.ListMessageDeliveriesRequest{ChannelId: m.GetChannelId(), MessageId: m.GetId()})
	require.NoError(t, err)
	require.Len(t, response.GetDeliveries(), 1)
	return response.GetDeliveries()[0]
}

// A delivery is skipped if the subscriber may no longer see it when it is due, or if it has expired.
func TestWhatIsGoneIsPassedOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		h.register(t, "bob", "smith")
		sub := h.subscribe(t, "bob", &createInput{MaxAttempts: ptr(int32(5))})
		h.send(t, "ann", channel, "role:smith", "to the role")
		h.send(t, "ann", channel, "bob", "to bob")
		require.Equal(t, []string{"1:to the role", "2:to bob"}, described(h.fetch(t, sub)))
		h.register(t, "bob", "cook")
		h.clock.Advance(time.Minute)
		require.Equal(t, []string{"2:to bob"}, described(h.fetch(t, sub)))
		require.Equal(t, int64(1), h.get(t, sub).GetAcknowledgedThrough())

		h.clock.Advance(time.Minute)
		h.admit(t, intent, "ann")
		require.Empty(t, h.fetch(t, sub), "an intent without access is skipped")
		require.Equal(t, int64(2), h.get(t, sub).GetAcknowledgedThrough())
	})
}

func TestFetchWaits(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{})
		found := h.fetchMeanwhile(t, sub)
		h.send(t, "ann", channel, "bob", "one")
		require.Equal(t, []string{"1:one"}, described(<-found))

		response, err := h.subscriptions.FetchDeliveries(as("bob"),
			&openintentv1.FetchDeliveriesRequest{SubscriptionId: sub.GetId(), WaitSeconds: ptr(0.001)})
		require.NoError(t, err)
		require.Empty(t, response.GetDeliveries())

		ctx, cancel := context.WithCancel(as("bob"))
		cancel()
		_, err = h.subscriptions.FetchDeliveries(ctx,
			&openintentv1.FetchDeliveriesRequest{SubscriptionId: sub.GetId(), WaitSeconds: ptr(600.0)})
		require.ErrorIs(t, err, context.Canceled)
	})
}

func TestAnAnswerIsBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		large := strings.Repeat("0123456789abcdef", 200<<10/16)
		for range 40 {
			h.send(t, "ann", channel, "bob", large)
		}
		all := 0
		for all < 40 {
			found := h.fetch(t, sub)
			require.NotEmpty(t, found)
			require.Less(t, len(found), 33, "two chunks of 3 MiB at most")
			for _, d := range found {
				all++
				require.Equal(t, int64(all), d.GetNumber())
				require.Equal(t, int32(1), d.GetAttempt(), "what did not fit was not counted as an attempt")
			}
		}
	})
}

func TestTheWindowLeavesTheRestInTheLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		made, err := h.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{
			IntentId: h.intent(t), Name: "talk", Options: &openintentv1.ChannelOptions{MaxMessages: ptr(int64(2 * record.MaxUnfinished))},
		})
		require.NoError(t, err)
		channel := made.GetId()
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		for range record.MaxUnfinished + 5 {
			h.send(t, "ann", channel, "bob", "x")
		}
		require.Len(t, h.fetch(t, sub), record.MaxUnfinished)
		require.Empty(t, h.fetch(t, sub))
		require.Equal(t, int64(record.MaxUnfinished), h.get(t, sub).GetLastNumber())
		_, err = h.tryAcknowledge(sub, 3)
		require.NoError(t, err)
		require.Equal(t, []string{"1001:x", "1002:x", "1003:x"}, described(h.fetch(t, sub)))
	})
}

func TestEndedSubscriptionsDeliverNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		channel := h.open(t, intent, "talk")
		h.register(t, "bob", "")
		sub := h.subscribe(t, "bob", &createInput{MaxAttempts: ptr(int32(1))})
		h.send(t, "ann", channel, "bob", "one")
		h.fetch(t, sub)
		h.clock.Advance(time.Minute)
		require.Empty(t, h.fetch(t, sub))
		h.send(t, "ann", channel, "bob", "two")
		h.fetch(t, sub)
		h.deregister(t, "bob")
		require.False(t, h.get(t, sub).GetActive())
		_, err := h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_ENDED")
		_, err = h.redrive(sub, 1)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_ENDED")
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "subscription_deliveries", "1 = 1"), "the dead letter can still be read")
		require.Zero(t, h.rows(t, "subscription_positions", "1 = 1"))
		h.admit(t, intent, "ann")
		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 1)
		require.Nil(t, letters[0].GetDelivery().GetMessage(), "the agent may not see it any more")
		require.Equal(t, intent, letters[0].GetDelivery().GetIntentId())
		h.register(t, "bob", "")
		_, err = h.tryFetch(as("bob"), sub, 1)
		faulttest.Require(t, err, fault.Conflict, "SUBSCRIPTION_ENDED")
		h.subscribe(t, "bob", &createInput{})
	})
}
