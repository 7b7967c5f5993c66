package openintent

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"runtime/debug"
	"strings"
	"sync/atomic"

	openintentv1 "openintent/gen/openintent/v1"
)

// longestFailure is how many bytes of a failure's text are sent.
const longestFailure = 8 << 10

// dispatch hands messages to their handlers in the order of arrival, as many simultaneously as the agent handles.
// Whenever this process becomes the one that receives, the unanswered requests in the inbox that are older than the
// subscription come first, and then the messages of the stream. It returns when the context ends or receiving failed.
func (r *receiver) dispatch(ctx context.Context) error {
	for {
		select {
		case this := <-r.pending:
			if err := r.beginWork(ctx, this); err != nil {
				return err
			}
		case err := <-r.failed:
			return err
		case <-ctx.Done():
			return nil
		}
	}
}

func (r *receiver) beginWork(ctx context.Context, this *job) error {
	switch this {
	case takeOver:
		made := r.subscribed().at
		newer, err := r.dispatchInbox(ctx, func(m *Message) bool { return !m.CreatedAt.After(made) })
		if newer && err == nil {
			r.helping.Go(func() {
				if pause(ctx, streamFirst) == nil {
					r.enqueue(takeRest)
				}
			})
		}
		return err
	case takeRest:
		_, err := r.dispatchInbox(ctx, func(*Message) bool { return true })
		return err
	}
	return r.start(ctx, this)
}

// dispatchInbox handles the requests that wait for an answer from the agent and are wanted. First those that are older than the
// subscription are, because it does not have them. A moment later all are that the subscription has not brought, such as those from before
// the agent took a role or gained access: what it brings comes over the stream, which knows the attempt. dispatchInbox leaves out the
// requests that the agent has read: they were handled before, without an answer. others is true if there were some that are not wanted.
func (r *receiver) dispatchInbox(ctx context.Context, wanted func(*Message) bool) (others bool, err error) {
	request := &openintentv1.GetInboxRequest{AgentId: r.agent.options.ID, Include: r.included()}
	for {
		inbox, err := persistently(ctx, r, func(ctx context.Context) (*openintentv1.Inbox, error) {
			return r.client.raw.Messages.GetInbox(ctx, request)
		})
		if err != nil {
			return false, err
		}
		r.noteInbox()
		for _, item := range inbox.GetItems() {
			if item.GetRead() || item.GetMessage().GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
				continue
			}
			message := r.client.message(item.GetMessage())
			message.IntentID, message.ChannelName, message.Attempt = item.GetIntentId(), item.GetChannelName(), 1
			message.Attention = attentionOf(item.GetAttention())
			if !wanted(message) {
				others = true
				continue
			}
			if this := r.begin(message, delivered{}); this == nil {
				continue
			} else if err := r.start(ctx, this); err != nil {
				return false, err
			}
		}
		if request.Cursor = inbox.NextCursor; request.Cursor == nil {
			return others, nil
		}
	}
}

// start waits for a free place and begins to handle a message there, and after it the others of its delivery. It returns just before the
// first handler is called, so that messages start in order.
func (r *receiver) start(ctx context.Context, this *job) error {
	select {
	case r.slots <- struct{}{}:
	case err := <-r.failed:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	started := make(chan struct{})
	r.working.Go(func() {
		defer func() { <-r.slots }()
		close(started)
		r.doInTurn(this)
	})
	<-started
	return nil
}

// do handles a job, unless its message is left out. It claims nothing that no handler would answer.
func (r *receiver) do(this *job) {
	switch {
	case this.digest != nil:
		r.finish(this, r.handleDigest(this.digest))
	case needsClaim(this.message) && len(r.agent.matching(this.message)) > 0:
		r.doClaimed(this)
	case r.leavesOut(this.message):
		r.reports.dispose(this.message, DispositionIgnored)
		r.finish(this, true)
	default:
		r.finish(this, r.handle(this.message))
	}
}

// leavesOut reports whether no handler is called for a message.
func (r *receiver) leavesOut(message *Message) bool {
	return r.agent.options.SkipUnaddressed && message.Attention != nil && message.Attention.Policy == MustNotRespond
}

// handle calls the handlers of a message and sends their answer. It returns false when the answer is neither stored nor
// refused, because the agent has left.
func (r *receiver) handle(message *Message) bool {
	ctx, end := r.client.handlingSpan(r.life, message)
	answer, err := r.call(ctx, message)
	defer func() { end(err) }()
	done := r.life.Err() == nil && r.conclude(ctx, message, answer, err)
	if done {
		r.reports.outcome(r.agent, message, answer, err)
	}
	return done
}

// conclude sends what the handlers of a message returned, as handle says.
func (r *receiver) conclude(ctx context.Context, message *Message, answer any, err error) bool {
	switch {
	case message.MessageType != Request:
		return true
	case err != nil:
		return r.answer(ctx, message, failureOf(err))
	case answer == nil:
		return r.noteRead(ctx, message)
	}
	return r.answer(ctx, message, Reply{Payload: answer})
}

// call calls all handlers of a message. It returns the first result that is not nil or the first failure, whichever
// came first.
func (r *receiver) call(ctx context.Context, message *Message) (answer any, failure error) {
	message.further = new(atomic.Int64)
	handlers := r.agent.matching(message)
	if len(handlers) == 0 {
		r.log.noHandler(message.ChannelName, r.agent.channels())
	} else {
		r.reports.surface(message)
	}
	for _, handle := range handlers {
		result, stack, err := protected(ctx, handle, message)
		if err != nil && r.life.Err() == nil { // an agent that has left cancels its handlers itself
			if unfit := (*PayloadError)(nil); errors.As(err, &unfit) && unfit.MessageID == message.ID {
				r.log.unfit(message, "the payload of", err)
			} else {
				r.log.handlerFailed(message, err, stack)
			}
		}
		switch {
		case answer != nil || failure != nil:
		case err != nil:
			failure = err
		case !isNil(result):
			answer = result
		}
	}
	return answer, failure
}

// panicked is the failure of a handler that panicked.
type panicked struct{ value any }

func (p panicked) Error() string { return fmt.Sprint(p.value) }

// protected calls a handler. When it panics, that is its failure, and the stack says where.
func protected(ctx context.Context, handle Handler, message *Message) (answer any, stack []byte, err error) {
	defer func() {
		if value := recover(); value != nil {
			answer, stack, err = nil, debug.Stack(), panicked{value}
		}
	}()
	answer, err = handle(ctx, message)
	return answer, nil, err
}

// isNil reports whether a result is empty: nil, or a nil map or pointer.
func isNil(result any) bool {
	value := reflect.ValueOf(result)
	switch value.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Map, reflect.Pointer, reflect.Interface:
		return value.IsNil()
	}
	return false
}

// noteRead marks a request as read that the handlers did not answer, so that the agent does not find it in the inbox
// and handle it again. A request without a handler stays unread, so that a later run of the agent may handle it.
func (r *receiver) noteRead(ctx context.Context, message *Message) bool {
	if len(r.agent.matching(message)) == 0 {
		return true
	}
	_, err := r.client.MarkRead(ctx, message.ChannelID, message.ID)
	if err != nil && r.life.Err() != nil {
		return false
	}
	if err != nil {
		r.log.warn("could not mark message "+message.ID+" as read", err)
	}
	return true
}

// answer sends a reply under a key that is derived from the message, so that repeating it after a crash answers only
// once. A reply that cannot be sent as it is becomes a failure.
func (r *receiver) answer(ctx context.Context, message *Message, reply Reply) bool {
	reply.IdempotencyKey = message.replyKey()
	err := r.reply(ctx, message, reply)
	if errors.Is(err, ErrInvalidArgument) || errors.Is(err, ErrResourceExhausted) {
		if errors.Is(err, ErrPayload) {
			err = &PayloadError{Problem: textOf(err)}
			r.log.unfit(message, "what the handler returned for", err)
		} else {
			r.log.handlerFailed(message, err, nil)
		}
		failure := failureOf(err)
		failure.IdempotencyKey = reply.IdempotencyKey
		err = r.reply(ctx, message, failure)
	}
	switch {
	case err == nil || errors.Is(err, ErrAlreadyExists): // another answer under this key was stored before
	case r.life.Err() != nil:
		return false
	default:
		r.log.notAnswered(message, err)
	}
	return true
}

// reply retries for as long as the agent lives: the question's own timeout decides when it is too late.
func (r *receiver) reply(ctx context.Context, message *Message, reply Reply) error {
	for {
		_, err := message.reply(ctx, reply)
		if !retryable(err) || r.life.Err() != nil {
			return err
		}
	}
}

// tooLate reports whether an answer was refused because its question, or the place for it, has ended.
func tooLate(err error) bool {
	return errors.Is(err, ErrFailedPrecondition) || errors.Is(err, ErrNotFound)
}

// failureOf returns the response of a handler that failed.
func failureOf(err error) Reply {
	text := strings.ToValidUTF8(textOf(err), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if len(text) > longestFailure {
		text = strings.ToValidUTF8(text[:longestFailure], "")
	}
	return Reply{
		Payload:  map[string]any{"error": map[string]any{"type": kindOf(err), "message": text}},
		Metadata: map[string]any{failureMark: true},
	}
}

// textOf returns an error's text. An error may panic when its text is requested, as a nil pointer may; that must not
// end the agent's program.
func textOf(err error) (text string) {
	defer func() {
		if value := recover(); value != nil {
			text = fmt.Sprint("an error without a text: ", value)
		}
	}()
	return err.Error()
}

// kindOf returns the name of an error's type without its package; unexported types of the standard library become
// "Error".
func kindOf(err error) string {
	kind := fmt.Sprintf("%T", err)
	kind = kind[strings.LastIndexByte(kind, '.')+1:]
	switch kind {
	case "errorString", "wrapError", "wrapErrors", "joinError":
		return "Error"
	case "panicked":
		return "Panic"
	}
	return kind
}
