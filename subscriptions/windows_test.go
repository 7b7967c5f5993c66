package subscriptions

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/subscriptions/record"
	"openintent/subscriptions/waiting"
)

// spoken formats a delivery's messages, oldest first.
func spoken(d *wireDelivery) (texts []string) {
	for _, earlier := range d.GetEarlier() {
		texts = append(texts, textOf(earlier.GetMessage()))
	}
	if d.GetMessage() != nil {
		texts = append(texts, textOf(d.GetMessage()))
	}
	return texts
}

func composing(intentID string) *createInput {
	return &createInput{IntentId: &intentID, Compose: ptr(true), Include: []string{"attention"}}
}

func digesting(intentID string) *createInput {
	return &createInput{IntentId: &intentID, DigestSeconds: ptr(int32(60))}
}

// sendWith sends a notify that carries more than the RFC knows.
func (r rooms) sendWith(t require.TestingT, sender, channelID, to, text string, change func(*openintentv1.SendMessageRequest)) *wireMessage {
	req := &openintentv1.SendMessageRequest{ChannelId: channelID, To: &to, MessageType: ptr(notify), Payload: content(text)}
	change(req)
	return r.sendAs(t, sender, req)
}

func TestWhatASenderWritesInOneGoComesAsOneDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		require.True(t, sub.GetCompose())
		var sent []*wireMessage
		for _, text := range []string{"one", "two", "three"} {
			sent = append(sent, h.send(t, "ann", talk, "bob", text))
			require.Empty(t, h.fetch(t, sub), "ann still writes")
			h.clock.Advance(2 * time.Second)
		}
		h.edit(t, sent[0], "the first")
		h.send(t, "cid", talk, "bob", "of somebody else")
		h.clock.Advance(2 * time.Second)
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"the first", "two", "three"}, spoken(found[0]))
		require.Equal(t, []string{sent[0].GetId(), sent[1].GetId(), sent[2].GetId()}, found[0].GetSourceIds())
		require.Equal(t, "direct_notify", found[0].GetEarlier()[0].GetAttention().GetReason())
		require.EqualValues(t, 1, h.get(t, sub).GetOutstandingCount())

		require.Equal(t, found[0].GetNumber(), h.acknowledge(t, sub, found[0].GetNumber()).GetAcknowledgedThrough())
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"), "one acknowledgement finishes all")
		h.clock.Advance(2 * time.Second)
		found = h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"of somebody else"}, spoken(found[0]))
		require.Empty(t, found[0].GetSourceIds())
		require.Zero(t, h.rows(t, "subscription_waiting", "1 = 1"))
	})
}

func TestNobodyWaitsLongerThanTheWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		first := h.clock.Now()
		var found []*wireDelivery
		for count := 0; len(found) == 0; count++ {
			require.Less(t, count, 20)
			h.sendWith(t, "ann", talk, "bob", "more", func(*openintentv1.SendMessageRequest) {})
			h.clock.Advance(2900 * time.Millisecond)
			found = h.fetch(t, sub)
		}
		require.Len(t, found, 1)
		require.Len(t, found[0].GetSourceIds(), 10)
		require.LessOrEqual(t, h.clock.Now().Sub(first), waiting.Longest+3*time.Second)
	})
}

func TestAnUrgentMessageTakesAlongWhatWaits(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk, aside := h.open(t, intentID, "talk"), h.open(t, intentID, "aside")
		sub := h.subscribe(t, "bob", composing(intentID))
		s := h.stream(t, sub, nil)
		h.send(t, "ann", talk, "bob", "calm")
		h.send(t, "cid", talk, "bob", "also calm")
		h.send(t, "ann", aside, "bob", "elsewhere")
		h.sendWith(t, "ann", talk, "bob", "fire", func(req *openintentv1.SendMessageRequest) {
			req.MessageType, req.Priority = ptr(request), ptr(openintentv1.Priority_PRIORITY_URGENT)
		})
		require.Equal(t, []string{"also calm"}, spoken(s.next(t)))
		fire := s.next(t)
		require.Equal(t, []string{"calm", "fire"}, spoken(fire))
		require.Equal(t, openintentv1.Injection_INJECTION_IMMEDIATE, fire.GetAttention().GetInjection())
		h.clock.Advance(3 * time.Second)
		require.Equal(t, []string{"elsewhere"}, spoken(s.next(t)))
	}, restless)
}

func TestWhatWaitsOutlivesItsStreamAndItsServer(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		first := h.stream(t, sub, nil)
		h.send(t, "ann", talk, "bob", "one")
		h.send(t, "ann", talk, "bob", "two")
		eventually(t, func() bool { return h.rows(t, "subscription_waiting", "1 = 1") == 2 }, "nothing waits")
		first.cancel()
		t.Log("the stream has ended:", <-first.ended)
		h.clock.Advance(waiting.Silence)
		second := h.stream(t, sub, nil)
		d := second.next(t)
		require.Equal(t, []string{"one", "two"}, spoken(d))
		second.cancel()
		t.Log("the stream has ended:", <-second.ended)
		third := h.stream(t, sub, nil)
		again := third.next(t)
		require.Equal(t, []string{"one", "two"}, spoken(again), "it was not acknowledged")
		require.Equal(t, d.GetNumber(), again.GetNumber())
		require.EqualValues(t, 2, again.GetAttempt())
	}, restless)
}

func TestAmbientMessagesComeAsADigest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.send(t, "bob", talk, "*", "bob takes part")
		sub := h.subscribe(t, "bob", digesting(intentID))
		require.EqualValues(t, 60, sub.GetDigestSeconds())
		require.EqualValues(t, 2000, sub.GetMaxChars())
		for range 3 {
			h.sendWith(t, "ann", talk, "*", "half", func(req *openintentv1.SendMessageRequest) {
				req.Kind, req.Subject = ptr("progress"), ptr("Half done")
			})
		}
		last := h.send(t, "cid", talk, "*", "ambient")
		asked := h.asks(t, "ann", talk, "bob", "must be answered")
		found := h.fetch(t, sub)
		require.Len(t, found, 1, "what must be answered comes at once")
		require.Equal(t, asked.GetId(), found[0].GetMessage().GetId())
		h.acknowledge(t, sub, found[0].GetNumber())

		h.clock.Advance(time.Minute)
		found = h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Nil(t, found[0].GetMessage())
		digest := found[0].GetDigest()
		require.EqualValues(t, 4, digest.GetMessageCount())
		require.Len(t, digest.GetCounts(), 2)
		require.EqualValues(t, 3, digest.GetCounts()[0].GetCount())
		most := digest.GetCounts()[0]
		require.Equal(t, []string{"ann", "talk", "progress"}, []string{most.GetSender(), most.GetChannelName(), most.GetKind()})
		require.Len(t, digest.GetSubjects(), 3)
		require.Len(t, digest.GetSpans(), 1)
		require.Equal(t, int64(3), digest.GetSpans()[0].GetLastPosition()-digest.GetSpans()[0].GetFirstPosition())
		require.Equal(t, found[0].GetPosition(), digest.GetSpans()[0].GetLastPosition())
		require.Equal(t, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND, found[0].GetAttention().GetPolicy())
		h.acknowledge(t, sub, found[0].GetNumber())
		require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))
		require.NotEmpty(t, last.GetId())
	})
}

// A message that is edited to mention the agent must be answered, so it does not wait for the digest.
func TestAnEditRecallsAMessageFromTheDigest(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.send(t, "bob", talk, "*", "bob takes part")
		sub := h.subscribe(t, "bob", digesting(intentID))
		m := h.send(t, "ann", talk, "*", "for everyone")
		other := h.send(t, "ann", talk, "*", "more for everyone")
		require.Empty(t, h.fetch(t, sub))
		h.edit(t, other, "still for everyone")
		require.Empty(t, h.fetch(t, sub))
		h.edit(t, m, "what does @bob say?")
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"what does @bob say?"}, spoken(found[0]))
		h.edit(t, m, "what does @bob say now?")
		require.Empty(t, h.fetch(t, sub), "it comes once")
		h.clock.Advance(time.Minute)
		for _, d := range h.fetch(t, sub) {
			if d.GetDigest() != nil {
				require.EqualValues(t, 1, d.GetDigest().GetMessageCount())
				return
			}
		}
		require.Fail(t, "no digest came")
	})
}

// When a digest is made again, a message that was edited to mention the agent meanwhile comes in full beside it.
func TestADigestLeavesOutWhatIsForTheAgentByNow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.send(t, "bob", talk, "*", "bob takes part")
		sub := h.subscribe(t, "bob", digesting(intentID))
		m := h.send(t, "ann", talk, "*", "for everyone")
		h.send(t, "ann", talk, "*", "more for everyone")
		require.Empty(t, h.fetch(t, sub))
		h.clock.Advance(time.Minute)
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.EqualValues(t, 2, found[0].GetDigest().GetMessageCount())
		h.edit(t, m, "what does @bob say?")
		h.clock.Advance(time.Minute) // it was not acknowledged, so it is made again
		found = h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"what does @bob say?"}, spoken(found[0]))
		require.EqualValues(t, 1, found[0].GetDigest().GetMessageCount())
	})
}

func TestDeadLettersHaveAllForWhichTheyStand(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		req := composing(intentID)
		req.MaxAttempts, req.AcknowledgeSeconds = ptr(int32(1)), ptr(int32(10))
		sub := h.subscribe(t, "bob", req)
		h.send(t, "ann", talk, "bob", "one")
		h.send(t, "ann", talk, "bob", "two")
		require.Empty(t, h.fetch(t, sub))
		h.clock.Advance(waiting.Silence)
		require.Len(t, h.fetch(t, sub), 1)
		h.clock.Advance(10 * time.Second)
		require.Empty(t, h.fetch(t, sub))
		letters := h.deadLetters(t, sub)
		require.Len(t, letters, 1)
		require.Equal(t, []string{"one", "two"}, spoken(letters[0].GetDelivery()))
		_, err := h.redrive(sub, letters[0].GetDelivery().GetNumber())
		require.NoError(t, err)
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"one", "two"}, spoken(found[0]))
	})
}

func TestAClosedChannelLetsNothingWait(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &talk, Compose: ptr(true)})
		h.send(t, "ann", talk, "bob", "the last word")
		require.Empty(t, h.fetch(t, sub))
		h.closeChannel(t, talk)
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.Equal(t, []string{"the last word"}, spoken(found[0]))
	})
}

func TestWhatWaitsGoesWithItsSubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		h.send(t, "ann", talk, "bob", "one")
		require.Empty(t, h.fetch(t, sub))
		require.Equal(t, 1, h.rows(t, "subscription_waiting", "1 = 1"))
		_, err := h.subscriptions.DeleteSubscription(as("bob"), &openintentv1.DeleteSubscriptionRequest{SubscriptionId: sub.GetId()})
		require.NoError(t, err)
		require.Zero(t, h.rows(t, "subscription_waiting", "1 = 1"))
	})
}

func TestWebhooksTakeNoWindows(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		url := "https://example.com/hook"
		for _, req := range []*createInput{
			{WebhookUrl: &url, Compose: ptr(true)}, {UseEndpoint: ptr(true), DigestSeconds: ptr(int32(5))}, {MaxChars: ptr(int32(1000))},
		} {
			_, err := h.subscriptions.CreateSubscription(as("bob"), req)
			require.Error(t, err)
		}
	})
}

// What waits counts in the window, so that nobody makes the server gather without bound, however much is sent and however often it is
// asked. The log keeps the rest, and all of it comes.
func TestWhatWaitsCountsInTheWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		sub := h.subscribe(t, "bob", composing(intentID))
		found, err := h.subscriptions.find(asOperator(), sub.GetId())
		require.NoError(t, err)
		waits := make([]waiting.Message, record.MaxUnfinished-2) // of places that show nothing when their turn comes
		for i := range waits {
			waits[i] = waiting.Message{ // ten of each sender, as many as one delivery takes
				IntentNo: found.IntentNo, Position: int64(10_000 + i), ChannelNo: 1, Sender: fmt.Sprint("sender-", i/10), SentAt: h.clock.Now(),
			}
		}
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			tx.SendWithCommit(record.InsertWaiting(tx, found.No, waits)...)
			return nil
		}))
		var sent, came []string
		for i := range 5 {
			sent = append(sent, fmt.Sprint(i))
			h.send(t, "ann", talk, "bob", sent[i])
			require.Empty(t, h.fetch(t, sub))
		}
		require.Equal(t, record.MaxUnfinished, h.rows(t, "subscription_waiting", "1 = 1"))
		for len(came) < len(sent) {
			h.clock.Advance(waiting.Longest)
			for _, d := range h.fetch(t, sub) {
				came = append(came, spoken(d)...)
				h.acknowledge(t, sub, d.GetNumber())
			}
			require.LessOrEqual(t, h.rows(t, "subscription_waiting", "1 = 1"), record.MaxUnfinished)
		}
		require.Equal(t, sent, came)
	})
}
