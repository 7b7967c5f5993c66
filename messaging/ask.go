package messaging

import (
	"context"
	"errors"
	"time"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/messaging/writing"
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
}

// Ask sends a request and returns its first response.
//
// This file turns the calls that ask into questions; answers.go waits for the answers.
func (s *Service) Ask(ctx context.Context, req *openintentv1.AskRequest) (*openintentv1.Message, error) {
	d, err := s.question(ctx, req)
	if err != nil {
		return nil, err
	}
	seen, err := s.ask(ctx, d, 1)
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
	seen, err := s.ask(ctx, d, int(req.GetMinResponses()))
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
	return d, s.checked(d)
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
	q := question{by: c, asker: c.Agent, key: key, id: req.GetMessageId(), wanted: max(1, int(req.GetMinResponses()))}
	seen, err := s.awaitResponses(ctx, q, seconds(req.GetWaitSeconds()))
	if err != nil {
		return nil, nameRequest(err, q.id)
	}
	responses, err := message.ToWire(seen.responses, seen.now)
	return &openintentv1.AwaitResponsesResponse{Responses: responses}, err
}
