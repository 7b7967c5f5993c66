package delivering

import (
	"openintent/messaging/reading"

	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/subscriptions/record"
)

// toWire returns a delivery as clients see it. When there is no entry, the caller fills in the intent.
func toWire(sub *record.Subscription, d record.Delivery, entry *reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	wire := &openintentv1.SubscriptionDelivery{
		SubscriptionId: sub.ID, Number: d.Number, Attempt: int32(d.Attempts), Position: d.Position,
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
func (st *Stream) toSend(d record.Delivery, entry *reading.Entry) (*openintentv1.SubscriptionDelivery, error) {
	if !st.Encodes || entry.Content == nil || entry.Message == nil || entry.Attention != nil {
		return toWire(st.sub, d, entry)
	}
	shared, err := entry.Content.Encoded(entry.Message, entry.Now, func() ([]byte, error) {
		wire, err := toWire(new(record.Subscription), record.Delivery{Position: d.Position}, entry)
		if err != nil {
			return nil, err
		}
		return proto.Marshal(wire)
	})
	if err != nil {
		return nil, err
	}
	wire, err := toWire(st.sub, record.Delivery{Number: d.Number, Attempts: d.Attempts}, nil)
	wire.ProtoReflect().SetUnknown(shared)
	return wire, err
}
