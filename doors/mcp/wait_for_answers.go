package mcp

import (
	"context"
	"strconv"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// tooManyWaits is the reason with which the contract refuses to wait. Where the door counts the waits itself, it refuses a
	// question before it is asked; elsewhere the question is asked by then.
	tooManyWaits = "TOO_MANY_WAITS"
	// waitForThis says how to go on without an answer.
	waitForThis = "wait for this message"
)

// declined is the cause with which the contract says that the one agent that was asked said no.
const declined = "DECLINED"

// mostAnswers is how many answers the contract gives at most, and waits for.
const mostAnswers = 1000

// questionAnswer is what became of a question.
type questionAnswer struct {
	Message string `json:"message"`
	// Answered says that as many answers came as were waited for.
	Answered bool            `json:"answered"`
	Answers  []messageAnswer `json:"answers,omitempty"`
	// Over says why no answer can come any more: expired, deleted or closed, which is the channel.
	Over string `json:"over,omitempty"`
	// Declined says that the agent said no. It may still answer; whoever wants to know waits for this message again later.
	Declined bool `json:"declined,omitempty"`
	// Why says why not as many answers came, as far as the server knows.
	Why string `json:"why,omitempty"`
	// Cursor is for a wait that goes on after these answers.
	Cursor string `json:"cursor,omitempty"`
	// Hint says how to go on without an answer.
	Hint string `json:"hint,omitempty"`
}

// lookForAnswers looks for answers to a question of the caller.
func (s *session) lookForAnswers(ctx context.Context, a *awaited, patience time.Duration) (found, error) {
	wait, enough := patience.Seconds(), int32(min(a.Seen+a.Enough, mostAnswers))
	got, err := s.caller.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
		ChannelId: a.Channel, MessageId: a.Message, WaitSeconds: &wait, MinResponses: &enough, Explain: new(true),
	})
	if err != nil {
		return found{}, err
	}
	came := got.GetResponses()
	if err := s.tookAnswers(ctx, a, came); err != nil {
		return found{}, err
	}
	came = came[min(a.Seen, len(came)):]
	answer := questionAnswer{Message: a.Message, Answered: len(came) >= a.Enough, Why: got.GetExplanation(), Declined: got.GetCause() == declined}
	if !answer.Answered {
		if answer.Over, err = s.fate(ctx, a); err != nil {
			return found{}, err
		}
	}
	var shows gathered
	for _, response := range came {
		m := shown(response, nil, payloadRoom)
		m.To, m.Channel, m.Answers, m.Thread = "", "", "", "" // the question says it
		if !shows.add(m) {
			break
		}
	}
	answer.Answers = shows.messages
	if _, err := s.handOver(ctx, shows.messages); err != nil { // so that no wait for the inbox gives them again
		return found{}, err
	}
	if seen := a.Seen + len(shows.messages); seen > 0 {
		answer.Cursor = strconv.Itoa(seen)
	}
	if !answer.Answered && !answer.Declined && answer.Over == "" {
		answer.Hint = waitForThis
	}
	return found{
		answer: answer, ready: answer.Answered || answer.Declined || answer.Over != "", withdrawn: answer.Over == overDeleted,
	}, nil
}

// tookAnswers marks the answers read that the caller has by its cursor.
func (s *session) tookAnswers(ctx context.Context, a *awaited, came []*openintentv1.Message) error {
	var ids []string
	for _, response := range came[:min(a.Seen, len(came))] {
		if response.ReadAt == nil {
			ids = append(ids, response.GetId())
		}
	}
	return s.took(ctx, ids...)
}

// Why no answer can come any more.
const (
	overExpired = "expired"
	overDeleted = "deleted"
	overClosed  = "closed"
)

// fate says why no answer can come to a question any more, and "" if one still can. Of a question that is no longer retained, nobody
// knows.
func (s *session) fate(ctx context.Context, a *awaited) (string, error) {
	question, err := s.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: a.Channel, MessageId: a.Message})
	switch {
	case status.Code(err) == codes.NotFound:
		return "", nil
	case err != nil:
		return "", err
	case question.DeletedAt != nil:
		return overDeleted, nil
	case question.GetStatus() == openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED,
		question.ExpiresAt != nil && !question.GetExpiresAt().AsTime().After(time.Now()): // one with an answer never has that status
		return overExpired, nil
	}
	closed, err := s.closed(ctx, a)
	if closed {
		return overClosed, nil
	}
	return "", err
}
