package messaging

import (
	"context"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/optional"
	"openintent/messaging/message"
	"openintent/messaging/writing"
)

// SendMessage sends a message on a channel.
func (s *Service) SendMessage(ctx context.Context, req *openintentv1.SendMessageRequest) (*openintentv1.Message, error) {
	d, err := s.messageOn(ctx, req)
	if err != nil {
		return nil, err
	}
	return s.send(ctx, d)
}

// messageOn drafts a message on a channel.
func (s *Service) messageOn(ctx context.Context, req *openintentv1.SendMessageRequest) (*writing.Draft, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.MessageType = message.TypeFrom(req.GetMessageType(), message.TypeNotify)
	d.Target, d.CorrelationID = req.GetTo(), req.GetCorrelationId()
	if err := s.onChannel(ctx, d, req.GetChannelId()); err != nil || !req.GetFailFast() {
		return d, err
	}
	return d, s.refuseUnheard(ctx, d)
}

// SendMessageByName sends a message on the intent's channel with a name. If there is none, it creates one.
func (s *Service) SendMessageByName(
	ctx context.Context, req *openintentv1.SendMessageByNameRequest,
) (*openintentv1.Message, error) {
	d, err := s.draft(ctx, req)
	if err != nil {
		return nil, err
	}
	d.MessageType = message.TypeFrom(req.GetMessageType(), message.TypeNotify)
	d.Target, d.CorrelationID, d.Name = req.GetTo(), req.GetCorrelationId(), req.GetName()
	d.Unowned = req.GetUnowned()
	if err := s.channels.CheckName("name", d.Name); err != nil {
		return nil, err
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		d.IntentNo, err = s.intents.Resolve(tx, req.GetIntentId())
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
	d.MessageType, d.CorrelationID, d.Replying = message.TypeResponse, req.GetMessageId(), true
	if err := s.onChannel(ctx, d, req.GetChannelId()); err != nil {
		return nil, err
	}
	return s.send(ctx, d)
}

// sending is what every request that sends has in common.
type sending interface {
	writing.Conversing
	GetSender() string
	GetPayload() *structpb.Struct
	GetMetadata() *structpb.Struct
	GetIdempotencyKey() string
}

// draft begins a draft with what every request that sends has in common.
func (s *Service) draft(ctx context.Context, req sending) (*writing.Draft, error) {
	c, err := caller.Known(ctx)
	if err != nil {
		return nil, err
	}
	sender, err := c.ActAs("sender", req.GetSender())
	if err != nil {
		return nil, err
	}
	d := &writing.Draft{
		ID: message.NewID(), By: c, Sender: sender, Privileged: message.ActsAsOperator(c, sender), TraceID: c.TraceID,
		Human: c.SpeaksAsHuman() && sender == c.Agent, Key: req.GetIdempotencyKey(),
	}
	if expiring, ok := req.(expiring); ok {
		if err := setExpiry(d, expiring); err != nil {
			return nil, err
		}
	}
	if err := d.SetContent(req.GetPayload(), req.GetMetadata()); err != nil {
		return nil, err
	}
	return d, d.SetConversation(req)
}

// expiring is what requests that send and do not wait have in common.
type expiring interface {
	GetExpiresAt() *timestamppb.Timestamp
	GetExpiresInSeconds() float64
}

// setExpiry reads when a message expires: at a time, or so long after it is stored.
func setExpiry(d *writing.Draft, req expiring) (err error) {
	d.Timeout = seconds(req.GetExpiresInSeconds())
	if d.Timeout > 0 && req.GetExpiresAt() != nil {
		return fault.BadField("expires_in_seconds", "it says what expires_at says; give only one of them")
	}
	d.ExpiresAt, err = optional.TimeFrom("expires_at", req.GetExpiresAt())
	return err
}

// onChannel finds the draft's channel.
func (s *Service) onChannel(ctx context.Context, d *writing.Draft, channelID string) error {
	key, err := s.locate(ctx, channelID)
	d.Channel, d.ChannelID, d.IntentNo = key, channelID, key.IntentNo
	return err
}

// checked applies the rules that need no state, and computes the fingerprint that goes with the draft's idempotency key.
func (s *Service) checked(d *writing.Draft) error {
	if err := d.Check(s.maxPayloadBytes); err != nil {
		return err
	}
	return d.Seal()
}

// send stores a checked draft and returns the message.
func (s *Service) send(ctx context.Context, d *writing.Draft) (*openintentv1.Message, error) {
	if err := s.checked(d); err != nil {
		return nil, err
	}
	m, _, err := s.submit(ctx, d)
	if err != nil {
		return nil, err
	}
	return m.WireWith(d.Given, m.CreatedAt), nil
}

// submit gives a checked draft to the writer, unless it would be one too many of a stranger's.
func (s *Service) submit(ctx context.Context, d *writing.Draft) (m *message.Message, replayed bool, err error) {
	if err := s.piles.admit(ctx, d); err != nil {
		return nil, false, err
	}
	return s.writer.Submit(ctx, d)
}
