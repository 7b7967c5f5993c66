package mcp

import (
	"context"
	"strconv"
	"time"

	"openintent/doors"
	"openintent/internal/fault"
)

// subject is what kind of thing a tool waits for.
type subject string

const (
	// anAnswer is the answer to a question that ask has just asked, and moreAnswers are those to an earlier question of the caller.
	anAnswer, moreAnswers subject = "ask", "answers"
	// anInbox is what waits for the caller; aChannel and aThread are followed by streams.
	anInbox, aChannel, aThread subject = "inbox", "channel", "thread"
)

// awaited is what a tool waits for, and from where on. The id of a task says the same, so that any server can go on with it.
type awaited struct {
	Subject subject `json:"s"`
	Channel string  `json:"c,omitempty"`
	// Message is the question, or the first message of the thread.
	Message string `json:"m,omitempty"`
	// Enough is how many answers end the wait, beside those that were Seen.
	Enough int `json:"n,omitempty"`
	Seen   int `json:"d,omitempty"`
	// After is the position after which a stream begins; nil: from now on.
	After *int64 `json:"a,omitempty"`
	// All says that of an inbox also what needs no answer is awaited.
	All bool `json:"e,omitempty"`
	// backlog is from where to list what was there before the stream: after a message or time. With nil there is nothing to list.
	backlog *string
	// since is from when on what was handed over belongs to the same wait, that of a task.
	since time.Time
	// arrived are messages that the caller has taken note of once it shows the cursor.
	arrived []string
}

// found is what a look found.
type found struct {
	// answer is what the tool says; if it is not ready, that there is nothing yet.
	answer any
	ready  bool
	// withdrawn says that the question was deleted.
	withdrawn bool
	// refusal says why the wait ended early, which is for the model to know.
	refusal error
}

// look looks for what is awaited, and waits for it no longer than patience. Where it found nothing, it has moved a to where the next
// look goes on.
func (s *session) look(ctx context.Context, a *awaited, patience time.Duration) (found, error) {
	switch a.Subject {
	case anAnswer, moreAnswers:
		return s.lookForAnswers(ctx, a, patience)
	case anInbox:
		return s.lookIntoInbox(ctx, a, patience)
	}
	return s.follow(ctx, a, patience)
}

// await looks for what a tool waits for since it began. If nothing is there yet, clients that take tasks get one. For the others it
// waits as long as a tool may wait.
func (s *session) await(ctx context.Context, a *awaited, began time.Time, timeout time.Duration) (any, error) {
	patience := max(0, min(time.Until(began.Add(timeout)), s.waits))
	tasks := tasksOf(ctx)
	if tasks == nil || timeout == 0 {
		got, err := s.look(ctx, a, patience)
		return got.answer, err
	}
	got, err := s.look(ctx, a, 0)
	if err != nil || got.ready {
		return got.answer, err
	}
	tasks.make(task{awaited: *a, Agent: s.caller.Agent, From: began.UnixMilli(), Until: began.UnixMilli() + timeout.Milliseconds()})
	return nil, nil
}

// beginWait counts a tool's wait before the tool does anything, or refuses it. Nothing waits for a client that takes a task, or
// that does not want to wait. end must be called unless there is an error.
func (s *session) beginWait(ctx context.Context, timeout time.Duration) (waiting context.Context, end func(), _ error) {
	if timeout == 0 || tasksOf(ctx) != nil {
		return ctx, func() {}, nil
	}
	return doors.WaitsOf(s.ended).Begin(ctx)
}

// errCursor refuses a cursor that no answer of wait had.
var errCursor = fault.BadField("cursor", "must be the cursor of an earlier answer about the same, or be left out.")

// goOn reads a cursor: from where on to wait.
func (a *awaited) goOn(cursor string) error {
	position, err := strconv.ParseInt(cursor, 10, 64)
	isNumber := err == nil && position >= 0
	switch {
	case a.Subject == moreAnswers && isNumber && position <= mostAnswers:
		a.Seen = int(position)
	case a.Subject == moreAnswers:
		return errCursor
	case a.Subject == anInbox:
		var ok bool
		if a.arrived, ok = arrivedIn(cursor); !ok {
			return errCursor
		}
	case isNumber:
		a.After, a.backlog = &position, nil
	default:
		a.backlog = &cursor
	}
	return nil
}

// cursor is what goOn reads.
func (a *awaited) cursor() string {
	switch {
	case a.Subject == anInbox:
		return arrivedCursor(a.arrived)
	case a.backlog == nil && a.After == nil:
		return ""
	case a.backlog == nil:
		return strconv.FormatInt(*a.After, 10)
	}
	return *a.backlog
}
