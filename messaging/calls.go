package messaging

import (
	"cmp"
	"context"
	"time"

	"openintent/caller"
	"openintent/channels"
	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// defaultTimeout is how long Ask and AskAll wait when the caller does not say.
const defaultTimeout = 30 * time.Second

// SendMessage sends a message on a channel.
func (s *Service) SendMessage(ctx context.Context, req *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	d, err := s.messageOn(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, d)
}

// messageOn drafts a message on a channel.
func (s *Service) messageOn(ctx context.Context, req *openintentv1.SendMessageRequest) (*draft, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.messageType = TypeFrom(req.GetMessageType(), TypeNotify)
	d.target, d.correlationID = req.GetTo(), req.GetCorrelationId()
	return d, s.onChannel(ctx, d, req.GetChannelId())
}

// SendMessageByName sends a message on the intent's channel of a name, which it creates when there is none.
func (s *Service) SendMessageByName(
	ctx context.Context, req *openintentv1.SendMessageByNameRequest,
) (*openintentv1.Message, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.messageType = TypeFrom(req.GetMessageType(), TypeNotify)
	d.target, d.correlationID, d.name = req.GetTo(), req.GetCorrelationId(), req.GetName()
	if err := s.channels.CheckName("name", d.name); err != nil {
		return nil, err
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		d.intentNo, err = s.intents.Resolve(tx, req.GetIntentId())
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.send(ctx, d)
}

// ReplyMessage answers a request.
func (s *Service) ReplyMessage(ctx context.Context, req *openintentv1.ReplyMessageRequest) (*openintentv1.Message, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.messageType, d.correlationID, d.replying = TypeResponse, req.GetMessageId(), true
	if err := s.onChannel(ctx, d, req.GetChannelId()); err != nil {
		return nil, err
	}
	return s.send(ctx, d)
}

// Ask sends a request and gives its first response.
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
	if err != nil {
		return nil, err
	}
	return first.toWire(seen.now)
}

// AskAll sends a request and gives the responses that came in time.
func (s *Service) AskAll(ctx context.Context, req *openintentv1.AskAllRequest) (*openintentv1.AskAllResponse, error) {
	d, err := s.question(ctx, req)
	if err != nil {
		return nil, err
	}
	seen, err := s.ask(ctx, d, int(req.GetMinResponses()))
	if err != nil {
		return nil, err
	}
	responses, err := toWire(seen.responses, seen.now)
	return &openintentv1.AskAllResponse{Responses: responses}, err
}

// AwaitResponses gives the responses to an earlier request.
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
	responses, err := toWire(seen.responses, seen.now)
	return &openintentv1.AwaitResponsesResponse{Responses: responses}, err
}

// ListMessages lists the messages that the caller may see.
func (s *Service) ListMessages(
	ctx context.Context, req *openintentv1.ListMessagesRequest,
) (*openintentv1.ListMessagesResponse, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	q := listing{
		by: c, since: req.GetSince(), recipient: req.GetTo(), limit: int(req.GetLimit()),
		messageType: TypeFrom(req.GetMessageType(), ""), correlationID: req.GetCorrelationId(),
	}
	if q.limit == 0 {
		q.limit = maxPage
	}
	if err := cmp.Or(caller.CheckText("to", q.recipient), caller.CheckText("correlation_id", q.correlationID)); err != nil {
		return nil, err
	}
	messages, next, now, err := s.list(ctx, key, q)
	if err != nil {
		return nil, err
	}
	s.offers.record(c.Agent, now, messages...)
	wire, err := toWire(messages, now)
	return &openintentv1.ListMessagesResponse{Messages: wire, NextSince: &next}, err
}

// GetMessage gives one message.
func (s *Service) GetMessage(ctx context.Context, req *openintentv1.GetMessageRequest) (*openintentv1.Message, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	m, now, err := s.get(ctx, key, c, req.GetMessageId())
	if err != nil {
		return nil, err
	}
	s.offers.record(c.Agent, now, m)
	return m.toWire(now)
}

// UpdateMessage marks a message read.
func (s *Service) UpdateMessage(ctx context.Context, req *openintentv1.UpdateMessageRequest) (*openintentv1.Message, error) {
	c, key, err := s.reading(ctx, req.GetChannelId())
	if err != nil {
		return nil, err
	}
	acting, err := c.ActAs("agent_id", req.GetAgentId())
	if err != nil {
		return nil, err
	}
	m, now, err := s.markRead(ctx, key, c, acting, req.GetMessageId())
	if err != nil {
		return nil, err
	}
	return m.toWire(now)
}

// reading finds the caller and the channel of a call that reads.
func (s *Service) reading(ctx context.Context, channelID string) (caller.Caller, channels.Key, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return caller.Caller{}, channels.Key{}, err
	}
	key, err := s.locate(ctx, channelID)
	return c, key, err
}

// sending is what every request that sends has in common.
type sending interface {
	GetSender() string
	GetPayload() *structpb.Struct
	GetMetadata() *structpb.Struct
	GetIdempotencyKey() string
}

// draft begins a draft with what every request that sends has in common.
func (s *Service) draft(ctx context.Context, req sending) (*draft, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	sender, err := c.ActAs("sender", req.GetSender())
	if err != nil {
		return nil, err
	}
	d := &draft{
		id: newMessageID(), by: c, sender: sender, privileged: actsAsOperator(c, sender), traceID: c.TraceID,
		key: req.GetIdempotencyKey(),
	}
	if timed, ok := req.(interface {
		GetExpiresAt() *timestamppb.Timestamp
	}); ok {
		if d.expiresAt, err = TimeFrom("expires_at", timed.GetExpiresAt()); err != nil {
			return nil, err
		}
	}
	return d, d.setContent(req.GetPayload(), req.GetMetadata())
}

// asking is what Ask's and AskAll's requests have in common.
type asking interface {
	sending
	GetChannelId() string
	GetTo() string
	GetTimeoutSeconds() float64
	GetTimeout() float64
}

// question makes the request of Ask or AskAll.
func (s *Service) question(ctx context.Context, req asking) (*draft, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.messageType, d.target, d.timeout = TypeRequest, req.GetTo(), defaultTimeout
	switch {
	case req.GetTimeoutSeconds() > 0 && req.GetTimeout() > 0:
		return nil, fault.BadField("timeout", "it means the same as timeout_seconds; give only one of them")
	case req.GetTimeoutSeconds() > 0:
		d.timeout = seconds(req.GetTimeoutSeconds())
	case req.GetTimeout() > 0:
		d.timeout = seconds(req.GetTimeout())
	}
	if err := s.onChannel(ctx, d, req.GetChannelId()); err != nil {
		return nil, err
	}
	return d, s.checked(d)
}

// seconds turns a number of seconds into a time span of at least a microsecond, the store's precision, unless it is 0.
func seconds(n float64) time.Duration {
	if n <= 0 {
		return 0
	}
	return max(time.Duration(n*float64(time.Second)).Truncate(time.Microsecond), time.Microsecond)
}

// onChannel finds the draft's channel.
func (s *Service) onChannel(ctx context.Context, d *draft, channelID string) error {
	key, err := s.locate(ctx, channelID)
	d.channel, d.channelID, d.intentNo = key, channelID, key.IntentNo
	return err
}

// checked applies the rules that need no state and seals the draft under its idempotency key.
func (s *Service) checked(d *draft) error {
	if err := d.check(s.maxPayloadBytes); err != nil {
		return err
	}
	return d.seal()
}

// send stores a checked draft and gives the message.
func (s *Service) send(ctx context.Context, d *draft) (*openintentv1.Message, error) {
	if err := s.checked(d); err != nil {
		return nil, err
	}
	m, _, err := s.writer.submit(ctx, d)
	if err != nil {
		return nil, err
	}
	return m.wireWith(d.given, m.CreatedAt), nil
}
