package openintent

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
)

func told(id string) *openintentv1.Message {
	return &openintentv1.Message{Id: id, Sender: "other", MessageType: openintentv1.MessageType_MESSAGE_TYPE_NOTIFY}
}

// together is a delivery of several messages, the last of which is its newest.
func together(number int64, ids ...string) *openintentv1.SubscriptionDelivery {
	newest := len(ids) - 1
	delivery := &openintentv1.SubscriptionDelivery{
		SubscriptionId: "sub", Number: number, Attempt: 1, IntentId: "i", ChannelName: "desk", Position: int64(newest + 1), Message: told(ids[newest]),
		Attention: &openintentv1.Attention{Reason: "of " + ids[newest]},
	}
	for i, id := range ids[:newest] {
		delivery.Earlier = append(delivery.Earlier, &openintentv1.EarlierMessage{
			IntentId: "i", Position: int64(i + 1), ChannelName: "desk", Message: told(id), Attention: &openintentv1.Attention{Reason: "of " + id},
		})
	}
	return delivery
}

// doNext does the jobs of the delivery that was taken last.
func (r *receiver) doNext() { r.doInTurn(<-r.pending) }

func TestMessagesThatComeTogetherAreHandledInTheirOrderAndAcknowledgedOnce(t *testing.T) {
	r := receiverOf(t, &talking{t: t}, AgentOptions{})
	var came []*Message
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		require.Empty(t, r.done.waiting, "the delivery is not acknowledged before all of its messages are handled")
		came = append(came, m)
		if m.ID == "m2" {
			return nil, errors.New("a failure is logged, and the delivery goes on")
		}
		return nil, nil
	})
	r.take(together(4, "m1", "m2", "m3"))
	r.doNext()
	for i, m := range came {
		id := fmt.Sprintf("m%d", i+1)
		require.Equal(t, []any{id, "i", "desk", int64(i + 1), 1, "of " + id, []string{"m1", "m2", "m3"}},
			[]any{m.ID, m.IntentID, m.ChannelName, m.Position, m.Attempt, m.Attention.Reason, m.SourceIDs})
	}
	require.Len(t, came, 3)
	require.Len(t, r.done.waiting, 1)

	// A repetition is only acknowledged.
	r.take(together(4, "m1", "m2", "m3"))
	require.Empty(t, r.pending)
	require.Len(t, r.done.waiting, 2)
}

func TestADeliveryComesAgainWhileOneOfItsMessagesIsNotHandled(t *testing.T) {
	r := receiverOf(t, &talking{t: t}, AgentOptions{})
	var came []string
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		if came = append(came, m.ID); m.ID == "m2" {
			r.end() // the agent's patience is over while the handler runs
		}
		return nil, nil
	})
	r.take(together(4, "m1", "m2", "m3"))
	r.doNext()
	require.Equal(t, []string{"m1", "m2"}, came)
	require.Empty(t, r.done.waiting)

	// The same process leaves out what it has handled; another one handles all of it.
	came = nil
	r.life, r.end = context.WithCancel(t.Context())
	t.Cleanup(r.end)
	r.agent.handlers = nil
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		came = append(came, m.ID)
		return nil, nil
	})
	r.take(together(4, "m1", "m2", "m3"))
	r.doNext()
	require.Equal(t, []string{"m2", "m3"}, came)
	require.Len(t, r.done.waiting, 1)
}

func TestAMessageUnderWayHoldsTheDeliveryThatBringsItAgain(t *testing.T) {
	r := receiverOf(t, &talking{t: t}, AgentOptions{})
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		require.Len(t, m.SourceIDs, map[string]int{"m2": 2}[m.ID])
		return nil, nil
	})
	found := r.begin(r.client.message(told("m1")), delivered{}) // from the inbox
	r.take(together(4, "m1", "m2"))
	r.doNext()
	require.Empty(t, r.done.waiting)
	r.finish(found, true)
	require.Len(t, r.done.waiting, 1)

	// The agent's own messages and responses have no handlers.
	delivery := together(5, "m3", "m4")
	delivery.Earlier[0].Message.Sender = "me"
	delivery.Message.MessageType = openintentv1.MessageType_MESSAGE_TYPE_RESPONSE
	r.take(delivery)
	require.Empty(t, r.pending)
	require.Len(t, r.done.waiting, 2)

	// Nor do they count among the messages that came together.
	delivery = together(6, "m5", "m6")
	delivery.Message.MessageType = openintentv1.MessageType_MESSAGE_TYPE_RESPONSE
	r.take(delivery)
	r.doNext()
	require.Len(t, r.done.waiting, 3)
}

func TestAMessagePutAsideDoesNotHoldUpTheOthers(t *testing.T) {
	server := &talking{t: t, refusals: []error{FromError(refusal(t, codes.AlreadyExists, "CLAIMED"))}}
	r := receiverOf(t, server, AgentOptions{})
	var came []string
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		came = append(came, m.ID)
		return map[string]any{}, nil
	})
	delivery := together(4, "m1", "m2")
	asked := delivery.GetEarlier()[0].GetMessage()
	asked.To, asked.MessageType = proto.String("role:desk"), openintentv1.MessageType_MESSAGE_TYPE_REQUEST
	asked.Collect = CollectOne.Value()
	r.take(delivery)
	r.doNext()
	require.Equal(t, []string{"m2"}, came)
	require.Len(t, r.done.waiting, 1, "the inbox has the request")
}

func digested(number int64, ids ...string) *openintentv1.SubscriptionDelivery {
	delivery := &openintentv1.SubscriptionDelivery{SubscriptionId: "sub", Number: number, Attempt: 2, IntentId: "i"}
	if len(ids) > 0 {
		delivery = together(number, ids...)
	}
	delivery.Digest = &openintentv1.Digest{
		MessageCount: 7, LeftOutCount: 1,
		Counts:   []*openintentv1.DigestCount{{ChannelId: "c", ChannelName: "desk", Sender: "other", Kind: "status", Count: 6}},
		Subjects: []*openintentv1.DigestSubject{{MessageId: "m", Subject: "Done"}},
		Spans:    []*openintentv1.DigestSpan{{IntentId: "i", FirstPosition: 2, LastPosition: 9}},
	}
	return delivery
}

func TestADigestGoesToItsHandlersAfterTheMessagesBesideIt(t *testing.T) {
	r := receiverOf(t, &talking{t: t}, AgentOptions{})
	var came []string
	r.agent.OnMessage("", func(_ context.Context, m *Message) (any, error) {
		came = append(came, m.ID)
		return nil, nil
	})
	var digest *Digest
	for _, name := range []string{"first", "second"} {
		r.agent.OnDigest(func(_ context.Context, d *Digest) error {
			came, digest = append(came, name), d
			if name == "first" {
				panic("out of paper")
			}
			return nil
		})
	}
	r.take(digested(4, "m1", "m2"))
	r.doNext()
	require.Equal(t, []string{"m1", "m2", "first", "second"}, came)
	require.Nil(t, digest.Attention, "what is beside the digest is the newest message's")
	require.Len(t, r.done.waiting, 1)

	alone := digested(5)
	alone.Attention = &openintentv1.Attention{Policy: openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND}
	r.take(alone)
	r.doNext()
	require.Equal(t, &Digest{
		MessageCount: 7, LeftOutCount: 1, Attempt: 2, Attention: &Attention{Policy: MustNotRespond},
		Counts: []DigestCount{{"c", "desk", "other", "status", 6}}, Subjects: []DigestSubject{{"m", "Done"}}, Spans: []DigestSpan{{"i", 2, 9}},
	}, digest)
	require.Len(t, r.done.waiting, 2)
	r.take(alone)
	require.Empty(t, r.pending, "it has been handled")
	require.Len(t, r.done.waiting, 3)
}

func TestADigestWithoutAHandlerIsAcknowledgedAndToldAtDebugLevel(t *testing.T) {
	log := newLogged()
	r := receiverOf(t, &talking{t: t}, AgentOptions{})
	r.log.to = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	r.take(digested(4))
	r.doNext()
	log.next(t, slog.LevelDebug, "agent me has no handler for digests, and leaves out one of 7 messages")
	require.Len(t, r.done.waiting, 1)
	r.agent.OnDigest(func(context.Context, *Digest) error { return errors.New("out of paper") })
	r.take(digested(5))
	r.doNext()
	log.next(t, slog.LevelError, "agent me: the handler for digests failed: out of paper")
	log.nothing(t)
}

// subscribers is a server that has one subscription of an agent, or none.
type subscribers struct {
	openintentv1.SubscriptionServiceClient
	t     *testing.T
	there *openintentv1.Subscription
	made  []*openintentv1.CreateSubscriptionRequest
}

func (s *subscribers) CreateSubscription(
	_ context.Context, request *openintentv1.CreateSubscriptionRequest, _ ...grpc.CallOption,
) (*openintentv1.Subscription, error) {
	if s.there != nil {
		return nil, refusal(s.t, codes.AlreadyExists, "SUBSCRIPTION_NAME_TAKEN")
	}
	s.made = append(s.made, request)
	s.there = &openintentv1.Subscription{
		Id: "new", Name: request.GetName(), Active: true, Include: request.GetInclude(),
		Compose: request.Compose, DigestSeconds: request.DigestSeconds, MaxChars: request.MaxChars,
	}
	return s.there, nil
}

func (s *subscribers) ListSubscriptions(
	context.Context, *openintentv1.ListSubscriptionsRequest, ...grpc.CallOption,
) (*openintentv1.ListSubscriptionsResponse, error) {
	return &openintentv1.ListSubscriptionsResponse{Subscriptions: []*openintentv1.Subscription{s.there}}, nil
}

func (s *subscribers) DeleteSubscription(
	context.Context, *openintentv1.DeleteSubscriptionRequest, ...grpc.CallOption,
) (*openintentv1.DeleteSubscriptionResponse, error) {
	s.there = nil
	return &openintentv1.DeleteSubscriptionResponse{}, nil
}

func TestTheProcessThatStartsLastDecidesHowMessagesWait(t *testing.T) {
	plain := &openintentv1.Subscription{Id: "old", Name: subscriptionName, Active: true}
	quiet := &openintentv1.Subscription{
		Id: "old", Name: subscriptionName, Active: true, Compose: proto.Bool(true), DigestSeconds: proto.Int32(2), MaxChars: proto.Int32(2000),
	}
	wanted := AgentOptions{Compose: true, Digest: 1100 * time.Millisecond}
	longer := wanted
	longer.MaxChars = 9000
	for name, c := range map[string]struct {
		there   *openintentv1.Subscription
		options AgentOptions
		began   bool
		id      string
	}{
		"the same":                          {quiet, wanted, false, "old"},
		"another":                           {plain, wanted, false, "new"},
		"no longer":                         {quiet, AgentOptions{}, false, "new"},
		"another length":                    {quiet, longer, false, "new"},
		"neither":                           {plain, AgentOptions{}, false, "old"},
		"replaced while the agent runs":     {plain, wanted, true, "old"},
		"gone while the agent runs":         {nil, wanted, true, "new"},
		"without attention while it runs":   {plain, AgentOptions{Attention: true}, true, "new"},
		"ended while the agent was running": {&openintentv1.Subscription{Id: "old", Name: subscriptionName}, wanted, true, "new"},
	} {
		t.Run(name, func(t *testing.T) {
			server := &subscribers{t: t, there: c.there}
			r := receiverOf(t, &talking{t: t}, c.options)
			r.client.raw.Subscriptions = server
			r.began = c.began
			subscription, err := r.subscribe(t.Context())
			require.NoError(t, err)
			require.Equal(t, c.id, subscription.GetId())
			if c.id == "new" {
				require.True(t, c.options.waitAs(subscription))
			}
		})
	}
	server := &subscribers{t: t}
	r := receiverOf(t, &talking{t: t}, longer)
	r.client.raw.Subscriptions = server
	_, err := r.subscribe(t.Context())
	require.NoError(t, err)
	require.Equal(t, []any{true, int32(2), int32(9000)}, []any{server.made[0].GetCompose(), server.made[0].GetDigestSeconds(), server.made[0].GetMaxChars()})
	require.Nil(t, server.made[0].Include, "the server judges by itself")
}
