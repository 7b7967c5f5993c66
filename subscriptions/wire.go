package subscriptions

import (
	"openintent/internal/optional"
	"openintent/messaging/reading"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// toWire returns a subscription as clients see it, without its secret.
func (s summary) toWire(active bool) *openintentv1.Subscription {
	wire := &openintentv1.Subscription{
		Id:                  s.id,
		Name:                s.name,
		SubscriberId:        s.subscriber,
		IntentId:            optional.Text(s.intentID),
		ChannelId:           optional.Text(s.channelID),
		EventTypes:          s.filter.EventTypes,
		CorrelationId:       optional.Text(s.filter.CorrelationID),
		WebhookUrl:          optional.Text(s.webhookURL),
		UseEndpoint:         s.useEndpoint,
		Active:              active,
		AcknowledgeSeconds:  int32(s.acknowledgeSeconds),
		MaxAttempts:         int32(s.maxAttempts),
		CreatedAt:           timestamppb.New(s.createdAt),
		ExpiresAt:           optional.Time(s.expiresAt),
		AcknowledgedThrough: s.acknowledgedThrough,
		LastNumber:          s.lastNumber,
		OutstandingCount:    s.outstanding,
		DeadLetterCount:     s.dead,
		LastError:           optional.Text(s.lastError),
		Include:             s.include,
	}
	if s.compose {
		wire.Compose = &s.compose
	}
	if s.digestSeconds > 0 {
		seconds, chars := int32(s.digestSeconds), int32(s.maxChars)
		wire.DigestSeconds, wire.MaxChars = &seconds, &chars
	}
	if s.filter.MessageType != "" {
		messageType := s.filter.MessageType.ToWire()
		wire.MessageType = &messageType
	}
	return wire
}

// toWire returns a delivery as clients see it. When there is no entry, the caller fills in the intent.
func toWire(sub *subscription, d delivery, entry *reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	wire := &openintentv1.SubscriptionDelivery{
		SubscriptionId: sub.id, Number: d.number, Attempt: int32(d.attempts), Position: d.position,
	}
	if entry == nil {
		return wire, nil
	}
	message, event, _, err := entry.ToWire()
	wire.IntentId, wire.ChannelName, wire.Message, wire.Event = entry.IntentID, entry.ChannelName, message, event
	wire.Annotation, wire.Attention = entry.AnnotationToWire(), entry.AttentionToWire()
	return wire, err
}

// toSend returns a delivery in the form that the stream sends. All subscribers get the same bytes of a message that was handed over, except
// for the subscription, the number and the attempt. So a stream over the network has the shared part encoded once for all of them. It stands
// here as a field that the program does not know, which protobuf sends as it is.
func (st *deliveryStream) toSend(d delivery, entry *reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	if !st.encodes || entry.Content == nil || entry.Message == nil || entry.Attention != nil {
		return toWire(st.sub, d, entry)
	}
	shared, err := entry.Content.Encoded(entry.Message, entry.Now, func() ([]byte, error) {
		wire, err := toWire(new(subscription), delivery{position: d.position}, entry)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(wire)
	})
	if err != nil {
		return nil, err
	}
	wire, err := toWire(st.sub, delivery{number: d.number, attempts: d.attempts}, nil)
	wire.ProtoReflect().SetUnknown(shared)
	return wire, err
}
