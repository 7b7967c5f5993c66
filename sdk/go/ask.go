package openintent

import (
	"context"
	"errors"
	"iter"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// grace is how much longer than a question's timeout its calls may take, so that the server can report that the
	// time ran out.
	grace = 5 * time.Second
	// margin is how much of a context's time is kept for that report at most; the question then waits that much less.
	margin = 200 * time.Millisecond
	// longestWindow is the longest time that the server waits in one call.
	longestWindow = 10 * time.Minute
)

// Question is a request that waits for responses.
type Question struct {
	// To is an agent, or "role:" with a role.
	To string
	// Payload is a map, or any value that encoding/json writes as an object.
	Payload any
	// Timeout is how long to wait; 30 seconds when it is 0. The context's deadline shortens it.
	Timeout time.Duration
	// MinResponses is how many responses are enough for AskAll and AskAllIter; with 0 they wait the whole time, or
	// until a request that collects an exact number has its answers.
	MinResponses int
	Metadata     map[string]any
	// Sender names another agent as the sender, which only the operator may do.
	Sender string
	// FailFast refuses the question, and sends nothing, if nobody is there to answer: ErrFailedPrecondition with the reason NOBODY_THERE.
	FailFast bool
	// IdempotencyKey is made by the client when it is empty.
	IdempotencyKey string
	Conversation
}

// asking is what all attempts at a question share.
type asking struct {
	payload, metadata *structpb.Struct
	key               *string
	patience          patience
	// wait is how long the server waits. When an attempt has failed and none can have stored the question, it becomes what
	// is left of the time, unless the caller has given the key: the same key stands for the same question.
	wait          time.Duration
	shrink, tried bool
	attempt
}

// seconds returns how long the server has to wait in the next attempt.
func (a *asking) seconds() *float64 {
	if a.shrink && a.tried && !a.sent() {
		a.wait = max(time.Millisecond, min(a.wait, time.Until(a.patience.until)))
	}
	a.tried = true
	seconds := a.wait.Seconds()
	return &seconds
}

// prepare makes the key and the deadline, once. The context that it returns ends a little after the deadline, but not
// later than the given context.
func (c *Client) prepare(ctx context.Context, q Question) (context.Context, context.CancelFunc, *asking, error) {
	payload, metadata, err := encodeBoth(q.Payload, q.Metadata)
	if err != nil {
		return nil, nil, nil, err
	}
	wait := q.Timeout
	if wait == 0 {
		wait = DefaultTimeout
	}
	p := waiting(ctx, wait)
	a := &asking{
		payload: payload, metadata: metadata, key: keyOf(q.IdempotencyKey), patience: p, wait: p.until.Sub(p.begun),
		shrink: q.IdempotencyKey == "",
	}
	ctx, cancel := context.WithDeadline(ctx, p.until.Add(grace))
	return ctx, cancel, a, nil
}

// waiting returns the patience of a wait, which the context's deadline shortens.
func waiting(ctx context.Context, wait time.Duration) patience {
	p := patience{begun: time.Now()}
	if end, ok := ctx.Deadline(); ok {
		remaining := end.Sub(p.begun)
		remaining -= min(margin, remaining/10)
		p.bounded = remaining < wait
		wait = min(wait, remaining)
	}
	p.until = p.begun.Add(wait)
	return p
}

// asked asks until the deadline, with the same key in every attempt.
func asked[T any](ctx context.Context, c *Client, a *asking, ask func(context.Context, grpc.CallOption) (T, error)) (T, error) {
	known := ""
	answer, err := attempted(ctx, c, a.patience, func(ctx context.Context) (T, error) {
		answer, err := ask(ctx, a.option())
		var e *Error
		if errors.As(FromError(err), &e) && e.MessageID() != "" {
			known = e.MessageID()
		}
		return answer, err
	}, always)
	return answer, about(err, known)
}

// Ask asks a question and returns the first response. When the response is a handler's failure, the error is a
// *RemoteError; when the wait ran out, it is a *MessageTimeoutError.
func (c *Client) Ask(ctx context.Context, channelID string, q Question) (*Message, error) {
	ctx, cancel, a, err := c.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	defer cancel()
	ctx, metadata, end := c.spanned(ctx, "openintent.ask", a.metadata)
	request := &openintentv1.AskRequest{
		ChannelId: channelID, Sender: optional(q.Sender), To: q.To, Payload: a.payload, Metadata: metadata,
		IdempotencyKey: a.key, ParentId: optional(q.ParentID), Subject: optional(q.Subject), Kind: optional(q.Kind),
		TaskId: optional(q.TaskID), Priority: priorities.number(q.Priority), Mentions: mentionsOf(q.Mentions), Collect: q.Collect.Value(), Obligation: q.Obligation.wire(),
		Directedness: directednesses.number(q.Directedness), Policy: policies.number(q.Policy), FailFast: &q.FailFast,
	}
	answer, err := asked(ctx, c, a, func(ctx context.Context, option grpc.CallOption) (*openintentv1.Message, error) {
		request.TimeoutSeconds = a.seconds()
		return c.raw.Messages.Ask(ctx, request, option)
	})
	response, err := c.firstOf(answer, err)
	end(err)
	return response, err
}

// firstOf returns an answer, or the failure that it carries.
func (c *Client) firstOf(answer *openintentv1.Message, err error) (*Message, error) {
	if err != nil {
		return nil, err
	}
	response := c.message(answer)
	if response.IsError() {
		return nil, response.remoteError()
	}
	return response, nil
}

// AskAll asks a question and returns the responses that arrived by its deadline, or as soon as MinResponses have
// arrived. Too few responses are not an error.
func (c *Client) AskAll(ctx context.Context, channelID string, q Question) ([]*Message, error) {
	ctx, cancel, a, err := c.prepare(ctx, q)
	if err != nil {
		return nil, err
	}
	defer cancel()
	ctx, metadata, end := c.spanned(ctx, "openintent.ask", a.metadata)
	a.metadata = metadata
	responses, err := c.askAll(ctx, channelID, q, a, q.MinResponses)
	end(err)
	if err != nil {
		return nil, err
	}
	return c.messages(responses), nil
}

func (c *Client) askAll(
	ctx context.Context, channelID string, q Question, a *asking, enough int,
) ([]*openintentv1.Message, error) {
	request := &openintentv1.AskAllRequest{
		ChannelId: channelID, Sender: optional(q.Sender), To: q.To, Payload: a.payload, Metadata: a.metadata,
		MinResponses: countOf(enough), IdempotencyKey: a.key, ParentId: optional(q.ParentID), Subject: optional(q.Subject),
		Kind: optional(q.Kind), TaskId: optional(q.TaskID), Priority: priorities.number(q.Priority), Mentions: mentionsOf(q.Mentions),
		Collect: q.Collect.Value(), Obligation: q.Obligation.wire(), Directedness: directednesses.number(q.Directedness), Policy: policies.number(q.Policy),
		FailFast: &q.FailFast,
	}
	answer, err := asked(ctx, c, a, func(ctx context.Context, option grpc.CallOption) (*openintentv1.AskAllResponse, error) {
		request.TimeoutSeconds = a.seconds()
		return c.raw.Messages.AskAll(ctx, request, option)
	})
	return answer.GetResponses(), err
}

// AskAllIter asks a question and yields the responses as they arrive, until its deadline or until MinResponses have
// arrived. Leaving the loop early leaves the question open. Each use of the iterator asks again.
func (c *Client) AskAllIter(ctx context.Context, channelID string, q Question) iter.Seq2[*Message, error] {
	return func(yield func(*Message, error) bool) {
		ctx, cancel, a, err := c.prepare(ctx, q)
		if err != nil {
			yield(nil, err)
			return
		}
		defer cancel()
		ctx, metadata, end := c.spanned(ctx, "openintent.ask", a.metadata)
		a.metadata = metadata
		err = c.yieldResponses(ctx, channelID, q, a, yield)
		end(err)
	}
}

// yieldResponses waits for the first response and then, repeatedly, for one more than it has.
func (c *Client) yieldResponses(
	ctx context.Context, channelID string, q Question, a *asking, yield func(*Message, error) bool,
) error {
	enough := q.MinResponses
	if enough == 0 {
		enough = q.Collect.exact()
	}
	responses, err := c.askAll(ctx, channelID, q, a, 1)
	for yielded := 0; ; {
		if err != nil {
			yield(nil, err)
			return err
		}
		if len(responses) == yielded {
			return nil // the time is over, or the channel has closed
		}
		for _, response := range responses[yielded:] {
			if !yield(c.message(response), nil) {
				return nil
			}
			if yielded++; yielded == enough {
				return nil
			}
		}
		responses, err = c.await(ctx, channelID, responses[0].GetCorrelationId(), yielded+1, a.patience)
	}
}

// ResumeAsk returns the first response to an earlier question with this message id. If there is none yet, it waits
// for one; a wait of 0 means 30 seconds.
func (c *Client) ResumeAsk(ctx context.Context, channelID, messageID string, wait time.Duration) (*Message, error) {
	if wait == 0 {
		wait = DefaultTimeout
	}
	p := waiting(ctx, wait)
	ctx, cancel := context.WithDeadline(ctx, p.until.Add(grace))
	defer cancel()
	for {
		begun, window := time.Now(), min(time.Until(p.until), longestWindow)
		answer, err := c.awaitExplained(ctx, channelID, messageID, p)
		switch {
		case err != nil:
			return nil, about(err, messageID)
		case len(answer.GetResponses()) > 0:
			return c.firstOf(answer.GetResponses()[0], nil)
		case time.Since(begun) < window || time.Now().After(p.until): // the call ended early, because no response can come any more
			return nil, about(c.whyUnanswered(ctx, channelID, answer), messageID)
		}
	}
}

// whyUnanswered returns the error for a question that has no response.
func (c *Client) whyUnanswered(ctx context.Context, channelID string, answer *openintentv1.AwaitResponsesResponse) error {
	switch answer.GetCause() {
	case reasonDeclined:
		refused := &Error{Code: "FAILED_PRECONDITION", Reason: reasonDeclined, Message: answer.GetExplanation()}
		if answer.GetNote() != "" {
			refused.Metadata = map[string]string{"note": answer.GetNote()}
		}
		return refused
	case causeWithdrawn:
		return &Error{Code: "FAILED_PRECONDITION", Reason: reasonDeleted, Message: answer.GetExplanation()}
	}
	channel, err := c.GetChannel(ctx, channelID)
	switch {
	case err != nil:
		return err
	case channel.Status == ChannelClosed:
		return &Error{Code: "FAILED_PRECONDITION", Reason: reasonClosed, Message: "The channel closed before a response came."}
	}
	return timeout(&Error{Code: "DEADLINE_EXCEEDED", Reason: reasonTimeout, Message: "No response came before the time ran out."})
}

// await returns the responses to a request as soon as there are enough or, when the time is over or the longest wait of
// one call, those that have arrived.
func (c *Client) await(
	ctx context.Context, channelID, messageID string, enough int, p patience,
) ([]*openintentv1.Message, error) {
	answer, err := attempted(ctx, c, p, func(ctx context.Context) (*openintentv1.AwaitResponsesResponse, error) {
		seconds := max(0, min(time.Until(p.until), longestWindow).Seconds())
		return c.raw.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
			ChannelId: channelID, MessageId: messageID, WaitSeconds: &seconds, MinResponses: countOf(enough),
		})
	}, always)
	return answer.GetResponses(), err
}

// awaitExplained is await for the first response. Without one, the answer says why, and it comes at once when the agent has declined.
func (c *Client) awaitExplained(ctx context.Context, channelID, messageID string, p patience) (*openintentv1.AwaitResponsesResponse, error) {
	explain := true
	return attempted(ctx, c, p, func(ctx context.Context) (*openintentv1.AwaitResponsesResponse, error) {
		seconds := max(0, min(time.Until(p.until), longestWindow).Seconds())
		return c.raw.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
			ChannelId: channelID, MessageId: messageID, WaitSeconds: &seconds, Explain: &explain,
		})
	}, always)
}

func countOf(count int) *int32 {
	if count == 0 {
		return nil
	}
	bounded := int32(min(count, 1<<30))
	return &bounded
}
