package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging/message"
	"openintent/messaging/wake"
	"openintent/messaging/writing"
	"openintent/reach"
)

// defaultTimeout is how long Ask and AskAll wait when the caller does not say.
const defaultTimeout = 30 * time.Second

// asking is what the requests of Ask and AskAll have in common.
type asking interface {
	sending
	GetChannelId() string
	GetTo() string
	GetTimeoutSeconds() float64
	GetTimeout() float64
	GetFailFast() bool
}

// question is a request whose answers somebody awaits.
type question struct {
	by     caller.Caller
	asker  string
	key    channels.Key
	id     string
	wanted int
	// request is the message, when the call has just stored it.
	request *message.Message
	// wait ends at the deadline, by the store's clock.
	wait wait
	// explains is true when the call can say why no answer came.
	explains bool
	// settles is true when the request ends with the wait. The last look is then under the lock and stores the expiry, so
	// that it misses no answer that was stored in time, and none is stored afterwards.
	settles bool
}

// Ask sends a request and returns its first response.
func (s *Service) Ask(ctx context.Context, req *openintentv1.AskRequest) (*openintentv1.Message, error) {
	d, err := s.question(ctx, req)
	if err != nil {
		return nil, err
	}
	seen, err := s.ask(ctx, d, 1, true)
	if err != nil {
		return nil, err
	}
	first, err := seen.first()
	if errors.Is(err, message.ErrTimeout) {
		err = s.explain(ctx, d, seen.request)
	}
	if err != nil {
		return nil, err
	}
	return first.ToWire(seen.now)
}

// AskAll sends a request and returns the responses that came in time.
func (s *Service) AskAll(ctx context.Context, req *openintentv1.AskAllRequest) (*openintentv1.AskAllResponse, error) {
	d, err := s.question(ctx, req)
	if err != nil {
		return nil, err
	}
	minimum := d.Wanted()
	if req.MinResponses != nil {
		minimum = int(req.GetMinResponses())
	}
	seen, err := s.ask(ctx, d, minimum, false)
	if err != nil {
		return nil, err
	}
	responses, err := message.ToWire(seen.responses, seen.now)
	return &openintentv1.AskAllResponse{Responses: responses}, err
}

// question drafts the request of Ask or AskAll.
func (s *Service) question(ctx context.Context, req asking) (*writing.Draft, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.MessageType, d.Target, d.Timeout = message.TypeRequest, req.GetTo(), defaultTimeout
	switch {
	case req.GetTimeoutSeconds() > 0 && req.GetTimeout() > 0:
		return nil, fault.BadField("timeout", "it means the same as timeout_seconds; give only one of them")
	case req.GetTimeoutSeconds() > 0:
		d.Timeout = seconds(req.GetTimeoutSeconds())
	case req.GetTimeout() > 0:
		d.Timeout = seconds(req.GetTimeout())
	}
	if err := s.onChannel(ctx, d, req.GetChannelId()); err != nil {
		return nil, err
	}
	if err := s.checked(d); err != nil || !req.GetFailFast() {
		return d, err
	}
	return d, s.refuseUnheard(ctx, d)
}

// seconds turns a number of seconds into a duration. Unless it is 0, that is at least a microsecond, the store's precision.
func seconds(n float64) time.Duration {
	if n <= 0 {
		return 0
	}
	return max(time.Duration(n*float64(time.Second)).Truncate(time.Microsecond), time.Microsecond)
}

// AwaitResponses returns the responses to an earlier request.
func (s *Service) AwaitResponses(
	ctx context.Context, req *openintentv1.AwaitResponsesRequest,
) (*openintentv1.AwaitResponsesResponse, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	q := question{by: c, asker: c.Agent, key: key, id: req.GetMessageId(), wanted: max(1, int(req.GetMinResponses())), explains: req.GetExplain()}
	patience := seconds(req.GetWaitSeconds())
	if patience > 0 {
		defer reach.Hear(ctx, reach.Wait)()
	}
	seen, err := s.awaitResponses(ctx, q, patience)
	if err != nil {
		return nil, nameRequest(err, q.id)
	}
	answer := &openintentv1.AwaitResponsesResponse{}
	if req.GetExplain() && len(seen.responses) < q.wanted && seen.request != nil {
		if answer.Cause, answer.Explanation, err = s.explainWait(ctx, q, seen); err != nil {
			return nil, err
		}
		if seen.refusal != nil && answer.GetCause() == causeDeclined {
			answer.Note = seen.refusal.note
		}
	}
	answer.Responses, err = message.ToWire(seen.responses, seen.now)
	return answer, err
}

// ask sends a request and waits for its responses. minimum says how many are enough; with 0 it waits the whole time. If
// fewer have come by the deadline, it returns those. explains says whether the call can say why no answer came.
func (s *Service) ask(ctx context.Context, d *writing.Draft, minimum int, explains bool) (answers, error) {
	listening := s.hub.ListenFor(d.Sender, wake.RequestTopic(d.ID), wake.ClosingTopic(d.Channel), wake.IntentTopic(d.IntentNo))
	defer listening.Close()
	request, replayed, err := s.submit(ctx, d)
	if err != nil {
		return answers{}, err
	}
	if replayed && request.ID != d.ID {
		listening.Also(wake.RequestTopic(request.ID))
	}
	q := question{
		by: d.By, asker: d.Sender, key: d.Channel, id: request.ID, wanted: minimum, request: request, explains: explains,
		wait: wait{until: request.ExpiresAt}, settles: true,
	}
	seen, err := s.await(ctx, listening, q, replayed)
	if errors.Is(err, channels.ErrChannelNotFound) {
		// The channel was deleted meanwhile, which closes it.
		seen.request, seen.closed = request, true
		return seen, nil
	}
	return seen, nameRequest(err, request.ID)
}

// awaitResponses returns the responses to an earlier request. If patience is not 0, it waits for the wanted number.
func (s *Service) awaitResponses(ctx context.Context, q question, patience time.Duration) (answers, error) {
	q.wait.until = s.db.Now().Add(patience)
	listening := s.hub.ListenFor(q.asker, wake.RequestTopic(q.id), wake.ClosingTopic(q.key), wake.IntentTopic(q.key.IntentNo))
	defer listening.Close()
	return s.await(ctx, listening, q, true)
}

// await looks at the question whenever it is woken, and now and then without that, until the wait is over. A request that
// was only just stored need not be looked at before the first wake-up, because its listener was there before it. Nor is a
// look needed when the answers were handed over. With an error it returns what it saw before the error.
func (s *Service) await(ctx context.Context, listening *wake.Listener, q question, lookFirst bool) (seen answers, err error) {
	for look := lookFirst; ; {
		if look {
			latest, err := s.lookAtAnswers(ctx, q)
			switch {
			case database.IsUnavailable(err) && ctx.Err() == nil:
				s.logger.Warn("a waiting call could not look for responses; it looks again", "error", err)
			case err != nil:
				return seen, err
			case q.over(latest):
				return latest, nil
			case q.settles && latest.request.Expired(latest.now):
				return s.settle(ctx, q) // its addressee left, but an answer from before may be on its way
			default:
				seen, q.request = latest, latest.request
				q.wait.until = message.Earliest(q.wait.until, seen.request.ExpiresAt)
			}
		}
		remaining := q.wait.remaining(s.db.Now())
		switch {
		case remaining <= 0 && q.settles:
			return s.settle(ctx, q)
		case remaining <= 0 && seen.request != nil:
			return seen, nil
		case remaining <= 0:
			return s.lookAtAnswers(ctx, q)
		}
		timer := time.NewTimer(min(remaining, s.lookAgain))
		select {
		case <-listening.Woken():
			given, due := listening.Take()
			if latest, enough := s.answersFromHandovers(given, q); enough && !due {
				timer.Stop()
				return latest, nil
			}
			look = due || len(given) > 0
		case <-timer.C:
			look = true
		case <-ctx.Done():
			err = context.Cause(ctx)
		}
		timer.Stop()
		if err != nil {
			return seen, err
		}
	}
}

// over reports whether another look can bring nothing more.
func (q question) over(seen answers) bool {
	if q.wanted > 0 && len(seen.responses) >= q.wanted || seen.closed || seen.full || seen.request.Deleted() || q.heedsNo(seen) {
		return true
	}
	return !q.settles && (seen.request.Expired(seen.now) || seen.request.PastExpiry(seen.now))
}
