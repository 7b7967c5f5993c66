package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/wake"
)

// answers is what one look at a question found.
type answers struct {
	request   *message.Message
	responses []*message.Message
	// refusal is the no of the one agent that was asked; nil if it has said none.
	refusal *refusal
	closed  bool
	// full is true when there are as many responses as one answer holds, in number or in bytes.
	full bool
	now  time.Time
}

// lookAtAnswers reads the question's state in one snapshot.
func (s *Service) lookAtAnswers(ctx context.Context, q question) (seen answers, err error) {
	err = s.db.ReadFor(ctx, q.by.Reader(), func(tx *database.Tx) error {
		found, said, statements := q.prepare()
		l, err := s.reader.Snapshot(tx, q.key, []string{q.asker}, statements...)
		if err != nil {
			return err
		}
		seen, err = q.judge(tx, l, found)
		seen.refusal = *said
		return err
	})
	return seen, err
}

// answersFromHandovers returns what a look at the question would find, if the first responses to it were handed over and are
// enough. For later responses the handover does not show whether they are all.
func (s *Service) answersFromHandovers(given []*wake.Handover, q question) (seen answers, enough bool) {
	for _, stored := range given {
		if _, first := stored.Answered[q.id]; !first || stored.Key != q.key || q.request == nil {
			continue
		}
		now := s.db.Now()
		l, known := s.reader.HandoverSnapshot(stored, now, q.asker)
		if !known || !stored.Fresh(now) {
			return answers{}, false
		}
		seen, err := q.judge(nil, l, reading.AnswersIn(stored, q.request))
		return seen, err == nil && q.wanted > 0 && len(seen.responses) >= q.wanted
	}
	return answers{}, false
}

// settle decides a question under the lock, at its deadline or once its addressee has left. What was stored before counts,
// and nothing is stored afterwards. It stores that a request without an answer has expired (message/expiry_store.go). A request
// whose addressee left is left to the departure's work, which also tells the channel (departure.go).
func (s *Service) settle(ctx context.Context, q question) (seen answers, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		found, said, statements := q.prepare()
		l, head, err := s.reader.LockedSnapshot(tx, q.key, []string{q.asker}, statements...)
		if err != nil {
			return err
		}
		seen, err = q.judge(tx, l, found)
		if seen.refusal = *said; err != nil || len(seen.responses) > 0 ||
			!seen.request.Open || seen.request.Abandoned {
			return err
		}
		return message.ExpireRequests(tx, head, []int64{seen.request.Position})
	})
	return seen, err
}

// prepare returns the statements that read the request and its responses, and whether the agent that was asked has declined, and what they
// fill.
func (q question) prepare() (found *reading.MessagePage, said **refusal, statements []database.Statement) {
	if !message.IsID(q.id) {
		q.id = "" // no message has this id
	}
	found, request := reading.PrepareMessages("",
		"SELECT "+message.Columns+" FROM messages m WHERE "+message.ByIDInIntent,
		message.ViewedBy(q.asker, q.id, q.key.IntentNo)...)
	_, responses := reading.PrepareMessages("",
		"SELECT "+message.Columns+" FROM messages m WHERE m.intent_no = ? AND m.correlation_position IS NOT NULL"+
			" AND m.correlation_position = (SELECT r.position FROM messages r WHERE r.id = ?) ORDER BY m.position LIMIT ?",
		message.ViewedBy(q.asker, q.key.IntentNo, q.id, reading.MaxPage)...)
	responses.Scan = request.Scan
	said, declined := prepareRefusal(q.id, q.key.IntentNo)
	return found, said, []database.Statement{request, responses, declined}
}

// judge decides what of the question the asker may see. For a request that is answered it needs no transaction. An asker
// that cannot see the request gets MESSAGE_NOT_FOUND. One that sees the request but has not sent it is refused.
func (q question) judge(tx *database.Tx, l reading.Snapshot, found *reading.MessagePage) (answers, error) {
	viewer, err := l.AdmitViewer(q.by, q.asker)
	if err != nil {
		return answers{}, err
	}
	if err := l.MarkAbandoned(tx, found.Messages); err != nil {
		return answers{}, err
	}
	seen := answers{now: l.Now, closed: l.Closed(), full: found.Full || len(found.Messages) > reading.MaxPage}
	for _, m := range found.Messages {
		m.ChannelID = l.Channel.ID
		switch {
		case m.ID == q.id:
			seen.request = m
		case viewer.Sees(m, message.EvenEvicted, l.Count.Floor, l.Now):
			seen.responses = append(seen.responses, m)
		}
	}
	switch request := seen.request; {
	case !viewer.Sees(request, message.Answerable, l.Count.Floor, l.Now) || request.ChannelNo != q.key.ChannelNo:
		return answers{}, message.ErrMessageNotFound
	case request.Type != message.TypeRequest:
		return answers{}, message.ErrNotARequest
	case !viewer.Operator && request.Sender != q.asker:
		return answers{}, message.ErrNotTheAsker
	}
	return seen, nil
}

// first returns the answer that Ask returns, or why there is none.
func (a answers) first() (*message.Message, error) {
	switch {
	case len(a.responses) > 0:
		return a.responses[0], nil
	case a.request.Deleted():
		return nil, message.ErrMessageDeleted.With("message_id", a.request.ID)
	case a.closed:
		return nil, message.ErrChannelClosed.With("message_id", a.request.ID)
	case a.refusal != nil:
		return nil, a.refusal.refuse(a.request)
	}
	return nil, message.ErrTimeout
}

// nameRequest adds the request's id to a refusal, or to an error because the database is away, so that the asker can await
// the responses again.
func nameRequest(err error, id string) error {
	var refusal *fault.Fault
	switch {
	case errors.As(err, &refusal):
		return refusal.With("message_id", id)
	case database.IsUnavailable(err):
		return message.ErrAnswersUnknown.With("message_id", id).Because(err)
	}
	return err
}
