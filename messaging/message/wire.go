package message

import (
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

var typesOnTheWire = map[Type]openintentv1.MessageType{
	TypeRequest:   openintentv1.MessageType_MESSAGE_TYPE_REQUEST,
	TypeResponse:  openintentv1.MessageType_MESSAGE_TYPE_RESPONSE,
	TypeNotify:    openintentv1.MessageType_MESSAGE_TYPE_NOTIFY,
	TypeBroadcast: openintentv1.MessageType_MESSAGE_TYPE_BROADCAST,
}

var statusesOnTheWire = map[Status]openintentv1.MessageStatus{
	StatusDelivered: openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED,
	StatusRead:      openintentv1.MessageStatus_MESSAGE_STATUS_READ,
	StatusExpired:   openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED,
}

// TypeFrom returns the type that a request names, or the fallback when it names none.
func TypeFrom(wire openintentv1.MessageType, fallback Type) Type {
	if wire == openintentv1.MessageType_MESSAGE_TYPE_UNSPECIFIED {
		return fallback
	}
	for word, value := range typesOnTheWire {
		if value == wire {
			return word
		}
	}
	return fallback
}

// ToWire returns the type as clients know it.
func (t Type) ToWire() openintentv1.MessageType { return typesOnTheWire[t] }

// ToWire returns the message as clients see it at a time.
func (m *Message) ToWire(now time.Time) (*openintentv1.Message, error) {
	content, err := m.content()
	if err != nil {
		return nil, err
	}
	return m.WireWith(content, now), nil
}

// Content is a message's payload and metadata as gRPC carries them.
type Content struct{ Payload, Metadata *structpb.Struct }

func (m *Message) content() (content Content, err error) {
	if content.Payload, err = m.Payload.OrEmpty().Struct(); err != nil {
		return Content{}, err
	}
	content.Metadata, err = m.Metadata.OrEmpty().Struct()
	return content, err
}

// SharedContent is the content of one message for all streams that send it. The first one that needs it makes it, and nobody changes it.
type SharedContent struct {
	once    sync.Once
	content Content
	err     error

	mutex   sync.Mutex
	status  Status
	encoded []byte
}

// Of returns the content. The message is always the same one.
func (s *SharedContent) Of(m *Message) (Content, error) {
	s.once.Do(func() { s.content, s.err = m.content() })
	return s.content, s.err
}

// Encoded returns what all streams over the network send of the message alike. The first one that needs it encodes it, and the others use
// that for as long as the message's status stays. The message and the encoding are always the same ones. Nobody changes what is returned.
func (s *SharedContent) Encoded(m *Message, now time.Time, encode func() ([]byte, error)) (_ []byte, err error) {
	status := m.Status(now)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.encoded == nil || s.status != status {
		s.encoded, err = encode()
		s.status = status
	}
	return s.encoded, err
}

// WireWith is ToWire for a caller that has the message's content already.
func (m *Message) WireWith(content Content, now time.Time) *openintentv1.Message {
	wire := &openintentv1.Message{
		Id:            m.ID,
		ChannelId:     m.ChannelID,
		Sender:        m.Sender,
		To:            optional.Text(m.Target),
		MessageType:   typesOnTheWire[m.Type],
		CorrelationId: optional.Text(m.CorrelationID),
		Payload:       content.Payload,
		Metadata:      content.Metadata,
		Status:        statusesOnTheWire[m.Status(now)],
		CreatedAt:     timestamppb.New(m.CreatedAt),
		ExpiresAt:     optional.Time(m.ExpiresAt),
		ReadAt:        optional.Time(m.ReadAt),
	}
	m.Conversation.fill(wire)
	return wire
}

// ToWire returns messages as clients see them at a time.
func ToWire(messages []*Message, now time.Time) ([]*openintentv1.Message, error) {
	wire := make([]*openintentv1.Message, len(messages))
	for i, m := range messages {
		var err error
		if wire[i], err = m.ToWire(now); err != nil {
			return nil, err
		}
	}
	return wire, nil
}

// ToWireWithoutContents is ToWire for callers that ask for no payloads and metadata.
func ToWireWithoutContents(messages []*Message, now time.Time) []*openintentv1.Message {
	wire := make([]*openintentv1.Message, len(messages))
	for i, m := range messages {
		wire[i] = m.WireWith(Content{}, now)
	}
	return wire
}
