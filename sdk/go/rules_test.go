package openintent

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"
	"google.golang.org/protobuf/types/known/durationpb"

	openintentv1 "openintent/gen/openintent/v1"
)

func refusal(t *testing.T, code codes.Code, reason string, details ...protoadapt.MessageV1) error {
	t.Helper()
	refused := status.New(code, "what was wrong")
	if reason != "" {
		details = append(details, &errdetails.ErrorInfo{
			Reason: reason, Domain: "openintent", Metadata: map[string]string{"message_id": "m1"},
		})
	}
	refused, err := refused.WithDetails(details...)
	require.NoError(t, err)
	return refused.Err()
}

func TestErrorsAreFoundByReasonAndCode(t *testing.T) {
	err := FromError(refusal(t, codes.FailedPrecondition, "CHANNEL_CLOSED"))
	require.ErrorIs(t, err, ErrChannelClosed)
	require.ErrorIs(t, err, ErrFailedPrecondition)
	require.NotErrorIs(t, err, ErrIntentEnded)
	require.NotErrorIs(t, err, ErrNotFound)
	var e *Error
	require.ErrorAs(t, err, &e)
	require.Equal(t, "m1", e.MessageID())
	require.Equal(t, "CHANNEL_CLOSED: what was wrong", e.Error())

	err = FromError(refusal(t, codes.InvalidArgument, "INVALID_FIELD", &errdetails.BadRequest{
		FieldViolations: []*errdetails.BadRequest_FieldViolation{{Field: "to", Description: "names nobody"}},
	}))
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorAs(t, err, &e)
	require.Equal(t, []Violation{{"to", "names nobody"}}, e.Violations)

	require.NoError(t, FromError(nil))
	require.Same(t, e, FromError(e))
	require.ErrorIs(t, FromError(status.Error(codes.Canceled, "gone")), context.Canceled)
}

func TestOnlyTheServerSaysThatNobodyAnswered(t *testing.T) {
	err := FromError(refusal(t, codes.DeadlineExceeded, "MESSAGE_TIMEOUT"))
	var late *MessageTimeoutError
	require.ErrorAs(t, err, &late)
	require.ErrorIs(t, err, ErrMessageTimeout)
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Equal(t, "m1", late.MessageID)
	for name, err := range map[string]error{
		"the client's":  status.Error(codes.DeadlineExceeded, "context deadline exceeded"),
		"the context's": fmt.Errorf("waiting: %w", context.DeadlineExceeded),
	} {
		err := FromError(err)
		require.NotErrorIs(t, err, ErrMessageTimeout, name)
		require.ErrorIs(t, err, context.DeadlineExceeded, name)
	}
}

func TestARemoteErrorTellsWhatFailed(t *testing.T) {
	response := &Message{
		Sender: "agent", MessageType: Response, CorrelationID: "q", Metadata: map[string]any{failureMark: true},
		Payload: map[string]any{"error": map[string]any{"type": "TableError", "message": "no such table", "more": 1.0}},
	}
	require.True(t, response.IsError())
	remote := response.remoteError()
	require.Equal(t, "TableError", remote.Type)
	require.Equal(t, "no such table", remote.Message)
	var e *Error
	require.ErrorAs(t, error(remote), &e)
	require.Equal(t, "HANDLER_FAILED", e.Reason)
	require.Equal(t, "UNKNOWN", e.Code)
	require.Equal(t, "q", e.MessageID())

	// The mark alone is enough, but only on a response.
	response.Payload = map[string]any{"error": "text"}
	require.Empty(t, response.remoteError().Message)
	response.MessageType = Notify
	require.False(t, response.IsError())
}

func TestOnlyWhatMayHelpIsRepeated(t *testing.T) {
	for _, c := range []struct {
		code      codes.Code
		reason    string
		retryable bool
	}{
		{codes.Unavailable, "", true},
		{codes.Unavailable, "SERVER_STOPPING", true},
		{codes.Aborted, "", true},
		{codes.Aborted, "VERSION_MISMATCH", false},
		{codes.ResourceExhausted, "TOO_MANY_STREAMS", false},
		{codes.Internal, "", false},
		{codes.FailedPrecondition, "CURSOR_BEYOND_LOG", false},
		{codes.DeadlineExceeded, "MESSAGE_TIMEOUT", false},
	} {
		require.Equal(t, c.retryable, retryable(FromError(refusal(t, c.code, c.reason))), "%s %s", c.code, c.reason)
	}
	require.False(t, retryable(nil))
	require.False(t, retryable(io.EOF))
}

func TestWaitsDoubleAndHeedTheServer(t *testing.T) {
	for range 100 {
		waits, whole := (&Client{}).newWaits(), 100*time.Millisecond
		for range 10 {
			wait := waits.next(nil)
			require.GreaterOrEqual(t, wait, whole/2-time.Millisecond)
			require.LessOrEqual(t, wait, whole+time.Millisecond)
			whole = min(2*whole, 5*time.Second)
		}
		waits.again()
		require.LessOrEqual(t, waits.next(nil), 101*time.Millisecond)
		asked := FromError(refusal(t, codes.Unavailable, "", &errdetails.RetryInfo{RetryDelay: durationpb.New(7 * time.Second)}))
		require.Equal(t, 7*time.Second, (&Client{}).newWaits().next(asked))
	}
}

// unanswering is a server on which no answer can arrive any more.
type unanswering struct {
	openintentv1.MessageServiceClient
	openintentv1.ChannelServiceClient
	looks int
}

func (u *unanswering) AwaitResponses(
	context.Context, *openintentv1.AwaitResponsesRequest, ...grpc.CallOption,
) (*openintentv1.AwaitResponsesResponse, error) {
	u.looks++
	return &openintentv1.AwaitResponsesResponse{}, nil
}

func (u *unanswering) GetChannel(
	context.Context, *openintentv1.GetChannelRequest, ...grpc.CallOption,
) (*openintentv1.Channel, error) {
	return &openintentv1.Channel{Status: openintentv1.ChannelStatus_CHANNEL_STATUS_OPEN}, nil
}

func TestAQuestionThatIsOverIsAskedForOnce(t *testing.T) {
	server := &unanswering{}
	client := &Client{options: Options{RetryPatience: time.Minute}, raw: Raw{Messages: server, Channels: server}}
	_, err := client.ResumeAsk(t.Context(), "desk", "m1", time.Hour)
	var late *MessageTimeoutError
	require.ErrorAs(t, err, &late)
	require.Equal(t, "m1", late.MessageID)
	require.Equal(t, 1, server.looks)
}

func TestPayloadsAreObjectsThatFitTheWire(t *testing.T) {
	type inner struct {
		Names []string `json:"names"`
	}
	encoded, err := encode(struct {
		N     int64   `json:"n"`
		F     float64 `json:"f"`
		Inner inner   `json:"inner"`
		None  *int    `json:"none"`
	}{N: greatestInteger, F: 1e300, Inner: inner{[]string{"a", "ö"}}})
	require.NoError(t, err)
	require.Equal(t, map[string]any{
		"n": float64(greatestInteger), "f": 1e300, "inner": map[string]any{"names": []any{"a", "ö"}}, "none": nil,
	}, encoded.AsMap())
	for _, empty := range []any{nil, map[string]any(nil), map[string]any{}, (*inner)(nil)} {
		encoded, err := encode(empty)
		require.NoError(t, err)
		require.Empty(t, encoded.AsMap())
	}
	for _, refused := range []any{
		"text", []int{1}, 7, map[string]any{"n": int64(greatestInteger) + 1}, map[string]any{"n": uint64(math.MaxUint64)},
		map[string]any{"n": math.NaN()}, map[string]any{"c": make(chan int)},
	} {
		_, err := encode(refused)
		require.ErrorIs(t, err, ErrInvalidArgument, "%v", refused)
	}
}

func TestAFollowerYieldsEachMessageOnceAndMovesItsCursor(t *testing.T) {
	f := &Following{client: &Client{}, without: "me", seen: newRecent(4), position: 3}
	deliver := func(position int64, id, sender string, backfill bool) *Message {
		return f.take(&openintentv1.SubscribeResponse{
			Position: position, ChannelName: "news", Backfill: backfill, Message: &openintentv1.Message{Id: id, Sender: sender},
		}).Message
	}
	require.Nil(t, deliver(3, "old", "a", false), "at the cursor")
	message := deliver(4, "four", "a", false)
	require.Equal(t, int64(4), message.Position)
	require.Equal(t, "news", message.ChannelName)
	require.Nil(t, deliver(4, "four", "a", false), "a repetition")
	require.NotNil(t, deliver(4, "behind", "a", true), "from behind the cursor")
	require.Nil(t, deliver(4, "behind", "a", true), "the same again")
	require.Nil(t, deliver(5, "five", "me", false), "one's own")
	require.Equal(t, int64(5), f.Position())
	require.Zero(t, f.take(&openintentv1.SubscribeResponse{Position: 9, CaughtUp: true}))
	require.Equal(t, int64(9), f.Position())
	annotation := &openintentv1.Annotation{Type: "message_reaction", Position: 10, MessageId: "four", Signal: optional("seen")}
	event := f.take(&openintentv1.SubscribeResponse{Position: 10, Annotation: annotation})
	require.Equal(t, &Annotation{Type: "message_reaction", Position: 10, MessageID: "four", Signal: "seen"}, event.Annotation)
	require.Zero(t, f.take(&openintentv1.SubscribeResponse{Position: 10, Annotation: annotation}), "a repetition")
}

func TestTheMemoryOfIDsIsBounded(t *testing.T) {
	r := newRecent(2)
	require.True(t, r.add("a"))
	require.True(t, r.add("b"))
	require.False(t, r.add("a"))
	require.True(t, r.add("c"))
	require.False(t, r.has("a"))
	require.True(t, r.has("b"))
	require.Len(t, r.known, 2)
}

type tableError struct{ error }

func TestAFailureIsSentWithItsNameAndText(t *testing.T) {
	for kind, err := range map[string]error{
		"Error":      errors.New("text"),
		"tableError": tableError{errors.New("text")},
		"Panic":      panicked{"text"},
	} {
		reply := failureOf(err)
		require.Equal(t, map[string]any{"error": map[string]any{"type": kind, "message": "text"}}, reply.Payload)
		require.Equal(t, map[string]any{"openintent_error": true}, reply.Metadata)
	}
	reply := failureOf(errors.New("bad \xff\x00"))
	require.Equal(t, "bad \uFFFD\uFFFD", reply.Payload.(map[string]any)["error"].(map[string]any)["message"])
	var none *tableError // as an error it is not nil, but the pointer inside is
	reply = failureOf(none)
	require.Contains(t, reply.Payload.(map[string]any)["error"].(map[string]any)["message"], "nil pointer")
}

func TestHandlersAreChosenByChannelAndTheFirstResultOrFailureAnswers(t *testing.T) {
	called := []string{}
	answering := func(name string, result any, err error) Handler {
		return func(context.Context, *Message) (any, error) {
			called = append(called, name)
			return result, err
		}
	}
	client := newClient(nil, Options{})
	a := client.Agent(AgentOptions{ID: "agent", Log: slog.New(slog.DiscardHandler)})
	a.OnMessage("", answering("any", map[string]any{"by": "any"}, nil))
	a.OnMessage("sums", answering("nil", map[string]any(nil), nil))
	a.OnMessage("sums", answering("first", map[string]any{"by": "first"}, nil))
	a.OnMessage("sums", answering("second", map[string]any{"by": "second"}, nil))
	a.OnMessage("sums", answering("failing", nil, errors.New("no")))
	a.OnMessage("fails", answering("failing", nil, errors.New("no")))
	a.OnMessage("fails", answering("late", map[string]any{"by": "late"}, nil))
	a.OnMessage("panics", func(context.Context, *Message) (any, error) { panic("out of paper") })
	r := newReceiver(a)
	r.life = t.Context()

	answer, err := r.call(t.Context(), &Message{ChannelName: "sums"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"by": "first"}, answer)
	require.Equal(t, []string{"nil", "first", "second", "failing"}, called)
	answer, err = r.call(t.Context(), &Message{ChannelName: "fails"})
	require.EqualError(t, err, "no")
	require.Nil(t, answer)
	answer, err = r.call(t.Context(), &Message{ChannelName: "other"})
	require.NoError(t, err)
	require.Equal(t, map[string]any{"by": "any"}, answer)
	_, err = r.call(t.Context(), &Message{ChannelName: "panics"})
	require.EqualError(t, err, "out of paper")
}

func TestAnAgentOfAClosedClientEnds(t *testing.T) {
	client, err := Dial(Options{Server: "127.0.0.1:1"})
	require.NoError(t, err)
	require.NoError(t, client.Close())
	agent := client.Agent(AgentOptions{ID: "agent", Log: slog.New(slog.DiscardHandler)})
	require.ErrorIs(t, agent.Run(t.Context()), context.Canceled)
}

// replied remembers the keys of replies, and refuses a second reply with the same key.
type replied struct {
	openintentv1.MessageServiceClient
	t    *testing.T
	keys []string
}

func (r *replied) ReplyMessage(
	_ context.Context, reply *openintentv1.ReplyMessageRequest, _ ...grpc.CallOption,
) (*openintentv1.Message, error) {
	if r.keys = append(r.keys, reply.GetIdempotencyKey()); len(r.keys) == 2 {
		return nil, refusal(r.t, codes.AlreadyExists, "IDEMPOTENCY_KEY_REUSED")
	}
	return &openintentv1.Message{Id: reply.GetIdempotencyKey()}, nil
}

func TestEarlyAndFurtherAnswersHaveKeysOfTheirOwn(t *testing.T) {
	server := &replied{t: t}
	client := newClient(nil, Options{})
	client.raw.Messages = server
	a := client.Agent(AgentOptions{ID: "agent"})
	a.OnMessage("", func(ctx context.Context, message *Message) (any, error) {
		_, err := message.Reply(ctx, map[string]any{"n": 1})
		require.NoError(t, err)
		other, err := message.Reply(ctx, map[string]any{"n": 2})
		require.NoError(t, err, "another answer was stored in its place")
		require.Nil(t, other)
		return map[string]any{"n": 3}, nil
	})
	a.client.raw.Messages = server
	r := newReceiver(a)
	r.life = t.Context()
	require.True(t, r.handle(&Message{ID: "m", MessageType: Request, client: a.client}))
	require.Equal(t, []string{"sdk-reply-m-1", "sdk-reply-m-2", "sdk-reply-m"}, server.keys)
}

func TestARepetitionIsLeftOutAndAcknowledgedWithTheFirst(t *testing.T) {
	r := newReceiver(newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"}))
	r.done = newAcknowledger(r)
	job := r.begin(&Message{ID: "m"}, delivered{}) // from the inbox
	require.NotNil(t, job)
	require.Nil(t, r.begin(&Message{ID: "m"}, numbered("sub", 7)), "it is being handled")
	require.Empty(t, r.done.waiting)
	r.finish(job, true)
	require.Equal(t, []delivered{numbered("sub", 7)}, r.done.waiting)
	r.done.waiting = nil
	require.Nil(t, r.begin(&Message{ID: "m"}, numbered("sub", 8)), "it has been handled")
	require.Equal(t, []delivered{numbered("sub", 8)}, r.done.waiting)
	r.done.waiting = nil

	// A message that was not handled arrives again.
	job = r.begin(&Message{ID: "n"}, numbered("sub", 9))
	r.finish(job, false)
	require.NotNil(t, r.begin(&Message{ID: "n"}, numbered("sub", 9)))
	require.Empty(t, r.done.waiting)
}

func TestTypedHandlers(t *testing.T) {
	type question struct {
		N int `json:"n"`
	}
	type answer struct {
		Double int `json:"double"`
	}
	handle := HandleAs(func(_ context.Context, q question, _ *Message) (*answer, error) {
		if q.N == 0 {
			return nil, nil
		}
		return &answer{2 * q.N}, nil
	})
	result, err := handle(t.Context(), &Message{Payload: map[string]any{"n": 4.0}})
	require.NoError(t, err)
	require.Equal(t, &answer{8}, result)
	result, err = handle(t.Context(), &Message{})
	require.NoError(t, err)
	require.True(t, isNil(result))
	_, err = handle(t.Context(), &Message{Payload: map[string]any{"n": "four"}})
	require.ErrorContains(t, err, "the payload is no")
}
