package openintent

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// talking is a server that remembers what it is told of messages. Calls that a test does not expect panic.
type talking struct {
	openintentv1.MessageServiceClient
	openintentv1.ClaimServiceClient
	openintentv1.AttentionServiceClient
	t *testing.T

	mutex sync.Mutex
	calls []string
	gone  string // a message that is gone
	// refusals are the next answers to claims; then claims are granted.
	refusals []error
}

func (s *talking) called(call string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.calls = append(s.calls, call)
}

func (s *talking) taken() []string {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	calls := s.calls
	s.calls = nil
	return calls
}

func (s *talking) SendMessage(_ context.Context, m *openintentv1.SendMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	s.called("send to " + m.GetTo() + " below " + m.GetParentId())
	return &openintentv1.Message{}, nil
}

func (s *talking) ReplyMessage(_ context.Context, m *openintentv1.ReplyMessageRequest, _ ...grpc.CallOption) (*openintentv1.Message, error) {
	call := "reply " + m.GetMessageId()
	if m.GetFence() != 0 {
		call += " fenced"
	}
	s.called(call)
	return &openintentv1.Message{}, nil
}

func (s *talking) ClaimMessage(_ context.Context, c *openintentv1.ClaimMessageRequest, _ ...grpc.CallOption) (*openintentv1.Claim, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if len(s.refusals) > 0 {
		err := s.refusals[0]
		s.refusals = s.refusals[1:]
		if err != nil {
			s.calls = append(s.calls, "refuse "+c.GetMessageId())
			return nil, err
		}
	}
	if c.Fence != nil {
		s.calls = append(s.calls, "renew "+c.GetMessageId())
	} else {
		s.calls = append(s.calls, "claim "+c.GetMessageId())
	}
	return &openintentv1.Claim{Fence: 7, ExpiresAt: timestamppb.New(time.Now().Add(DefaultClaimTTL))}, nil
}

func (s *talking) ReleaseClaim(_ context.Context, c *openintentv1.ReleaseClaimRequest, _ ...grpc.CallOption) (*openintentv1.Claim, error) {
	s.called("release " + c.GetMessageId())
	return &openintentv1.Claim{}, nil
}

func (s *talking) SetDisposition(
	_ context.Context, d *openintentv1.SetDispositionRequest, _ ...grpc.CallOption,
) (*openintentv1.MessageDisposition, error) {
	s.called(d.GetDisposition() + " " + d.GetMessageId())
	return &openintentv1.MessageDisposition{}, nil
}

func (s *talking) MarkSurfaced(
	_ context.Context, m *openintentv1.MarkSurfacedRequest, _ ...grpc.CallOption,
) (*openintentv1.MarkSurfacedResponse, error) {
	if slices.Contains(m.GetMessageIds(), s.gone) {
		return nil, gone(s.t, s.gone)
	}
	s.called("surfaced")
	for _, id := range m.GetMessageIds() {
		s.called(id)
	}
	return &openintentv1.MarkSurfacedResponse{}, nil
}

// gone is the refusal of a call on several messages, of which one is gone.
func gone(t *testing.T, id string) error {
	return about(FromError(refusal(t, codes.NotFound, "")), id)
}

// receiverOf makes the receiver of an agent that talks with a server of the test.
func receiverOf(t *testing.T, server *talking, options AgentOptions) *receiver {
	options.ID, options.Log = "me", slog.New(slog.DiscardHandler)
	a := newClient(nil, Options{RetryPatience: time.Minute}).Agent(options)
	raw := &a.client.raw
	raw.Messages, raw.Claims, raw.Attention = server, server, server
	r := newReceiver(a)
	r.life, r.end = context.WithCancel(t.Context())
	t.Cleanup(r.end)
	r.done = newAcknowledger(r)
	r.active.Store(true)
	return r
}

func (r *receiver) deliver(id, reason string, policy openintentv1.ResponsePolicy) {
	r.take(&openintentv1.SubscriptionDelivery{
		Number: 1, Message: &openintentv1.Message{Id: id, Sender: "other", MessageType: openintentv1.MessageType_MESSAGE_TYPE_BROADCAST},
		Attention: &openintentv1.Attention{Reason: reason, Policy: policy},
	})
	r.do(<-r.pending)
}

func TestMentionsHaveTheirHandlersAndUnaddressedMessagesNone(t *testing.T) {
	server := &talking{t: t, gone: "gone"}
	r := receiverOf(t, server, AgentOptions{SkipUnaddressed: true})
	var handled []string
	r.agent.OnMention(func(_ context.Context, m *Message) (any, error) {
		handled = append(handled, "mention "+m.ID)
		return nil, nil
	})
	r.agent.OnMessage("", func(ctx context.Context, m *Message) (any, error) {
		handled = append(handled, m.ID)
		if m.ID == "fails" {
			return nil, errors.New("no")
		}
		_, err := m.Reply(ctx, nil)
		return nil, err
	})
	r.reports = newReporter(r)
	r.deliver("m1", ReasonMention, openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND)
	r.deliver("m2", "thread", openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND)
	r.deliver("m3", "ambient", openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND)
	r.deliver("fails", "thread", openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND)
	r.reports.surface(&Message{ID: "gone"})
	require.Equal(t, []string{"mention m1", "m2", "fails"}, handled)
	require.Equal(t, []string{"send to other below m2"}, server.taken(), "reports do not delay handlers")
	r.reports.flush(time.Minute)
	require.Equal(t, []string{
		"surfaced", "m1", "m2", "fails", "acknowledged m1", "responded m2", "ignored m3", "failed fails",
	}, server.taken())
	for range 2 * mostReports {
		r.reports.surface(&Message{ID: "m"})
		r.reports.dispose(&Message{ID: "m"}, DispositionIgnored)
	}
	require.Len(t, r.reports.surfaced, mostReports)
	require.Len(t, r.reports.disposed, mostReports)
}

func TestAttentionThatIsNotUsedCostsNothing(t *testing.T) {
	server := &talking{t: t}
	r := receiverOf(t, server, AgentOptions{})
	r.agent.OnMessage("", func(context.Context, *Message) (any, error) { return nil, nil })
	require.False(t, r.agent.usesAttention())
	require.Nil(t, r.included())
	r.deliver("m1", "ambient", openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND)
	r.reports.flush(time.Minute)
	require.Empty(t, server.taken())
}

// wanting returns a job for a request to a role that takes one answer.
func (r *receiver) wanting(id string) *job {
	return r.begin(&Message{
		ID: id, To: "role:desk", MessageType: Request, Conversation: Conversation{Collect: CollectOne}, client: r.client,
	}, numbered("sub", 1))
}

func TestARequestThatTakesOneAnswerIsClaimedFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &talking{t: t}
		r := receiverOf(t, server, AgentOptions{})
		failures := 0
		r.agent.OnMessage("", func(context.Context, *Message) (any, error) {
			if failures > 0 {
				failures--
				return nil, errors.New("out of paper")
			}
			return map[string]any{"n": 1}, nil
		})
		r.do(r.wanting("m1"))
		require.Equal(t, []string{"claim m1", "reply m1 fenced"}, server.taken())

		// Others hold the claim, or the request is over.
		server.refusals = []error{FromError(refusal(t, codes.AlreadyExists, "CLAIMED")), FromError(refusal(t, codes.FailedPrecondition, "ANSWERED"))}
		r.do(r.wanting("m2"))
		require.Equal(t, []string{"refuse m2"}, server.taken())
		require.Nil(t, r.begin(&Message{ID: "m2"}, numbered("sub", 2)), "it waits for another turn")
		r.do(<-r.pending)
		require.Equal(t, []string{"refuse m2"}, server.taken())
		require.True(t, r.handled.has("m2"))

		// Others may take a request on which the handlers failed, and the last failure is the answer.
		failures = claimedAttempts
		r.do(r.wanting("m3"))
		r.do(<-r.pending)
		gaveUp := []string{"claim m3", "failed m3", "release m3"}
		require.Equal(t, append(gaveUp, gaveUp...), server.taken())
		r.do(<-r.pending)
		require.Equal(t, []string{"claim m3", "reply m3 fenced"}, server.taken())

		// A process that does not receive any more leaves the request to the one that does.
		server.refusals = []error{FromError(refusal(t, codes.AlreadyExists, "CLAIMED"))}
		r.do(r.wanting("m4"))
		r.active.Store(false)
		<-time.After(longestTurn)
		synctest.Wait()
		require.Empty(t, r.pending)
		require.NotNil(t, r.wanting("m4"))
	})
}

func TestAClaimRenewsItselfUntilItIsLostOrAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := &talking{t: t}
		r := receiverOf(t, server, AgentOptions{})
		claim, err := r.client.Claim(t.Context(), "c", "m", ClaimOptions{})
		require.NoError(t, err)
		started := time.Now()
		server.mutex.Lock()
		server.refusals = []error{nil, FromError(refusal(t, codes.FailedPrecondition, "CLAIM_LOST"))}
		server.mutex.Unlock()
		<-claim.Context().Done()
		require.ErrorIs(t, context.Cause(claim.Context()), ErrClaimLost)
		require.Equal(t, 2*DefaultClaimTTL/3, time.Since(started))
		require.Equal(t, []string{"claim m", "renew m", "refuse m"}, server.taken())

		server.refusals = []error{nil, FromError(refusal(t, codes.FailedPrecondition, "ANSWERED"))}
		claim, err = r.client.Claim(t.Context(), "c", "m", ClaimOptions{})
		require.NoError(t, err)
		claim.renewing.Wait()
		require.NoError(t, claim.Context().Err(), "the answer of its holder ends nothing else")
		require.NoError(t, claim.Release(t.Context()))
	})
}

func TestCollectIsAWordOrAQuorum(t *testing.T) {
	for collect, exact := range map[Collect]int{"": 0, CollectAny: 0, CollectAll: 0, CollectOne: 1, CollectQuorum(3): 3, "quorum:x": 0} {
		require.Equal(t, exact, collect.exact(), collect)
		require.Equal(t, collect, collectOf(collect.Value()), collect)
	}
	require.Equal(t, map[string]any{"quorum": 3.0}, CollectQuorum(3).Value().AsInterface())
	require.Nil(t, mentionsOf(nil))
	require.NotNil(t, mentionsOf([]string{}))
}
