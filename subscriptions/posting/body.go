package posting

import (
	"bytes"
	"encoding/json"
	"strconv"

	"openintent/messaging/reading"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/subscriptions/record"
)

// envelope is the body of a post (RFC-0006). It contains a logged event as lists show it, or a message in the form of an event.
type envelope struct {
	SubscriptionID string          `json:"subscription_id"`
	Event          json.RawMessage `json:"event"`
}

// messageEvent is a message in the form of an event.
type messageEvent struct {
	ID        string          `json:"id"`
	IntentID  string          `json:"intent_id"`
	EventType string          `json:"event_type"`
	Actor     string          `json:"actor"`
	Payload   json.RawMessage `json:"payload"`
	CreatedAt json.RawMessage `json:"created_at"`
}

// messagePlace contains the members that come before those of the message in its payload.
type messagePlace struct {
	IntentID    string `json:"intent_id"`
	ChannelName string `json:"channel_name"`
}

// annotationPlace contains the members of an annotation's payload.
type annotationPlace struct {
	messagePlace
	Annotation json.RawMessage `json:"annotation"`
}

// attentionMember is the member that comes after those of the message in its payload.
type attentionMember struct {
	Attention json.RawMessage `json:"attention"`
}

// body returns the body to post for an entry.
func (p *Poster) body(sub *record.Subscription, entry reading.Entry) ([]byte, error) {
	if entry.Annotation != nil {
		return p.annotationBody(sub, entry)
	}
	message, event, _, err := entry.ToWire()
	if err != nil {
		return nil, err
	}
	if event != nil {
		encoded, err := p.encode(event)
		if err != nil {
			return nil, err
		}
		return plainJSON(envelope{sub.ID, encoded})
	}
	payload, err := p.messagePayload(message, entry)
	if err != nil {
		return nil, err
	}
	place, err := plainJSON(messagePlace{entry.IntentID, entry.ChannelName})
	if err != nil {
		return nil, err
	}
	createdAt, err := p.encode(timestamppb.New(entry.Message.CreatedAt))
	if err != nil {
		return nil, err
	}
	encoded, err := plainJSON(messageEvent{
		ID: message.GetId(), IntentID: entry.IntentID, EventType: reading.MessageEventType, Actor: message.GetSender(),
		Payload: joined(place, payload), CreatedAt: createdAt,
	})
	if err != nil {
		return nil, err
	}
	return plainJSON(envelope{sub.ID, encoded})
}

// messagePayload returns the members of a message, and what the message asks of the subscriber if the subscription includes that.
func (p *Poster) messagePayload(message *openintentv1.Message, entry reading.Entry) ([]byte, error) {
	payload, err := p.encode(message)
	block := entry.AttentionToWire()
	if err != nil || block == nil {
		return payload, err
	}
	encoded, err := p.encode(block)
	if err != nil {
		return nil, err
	}
	asked, err := plainJSON(attentionMember{encoded})
	if err != nil {
		return nil, err
	}
	return joined(payload, asked), nil
}

// annotationBody returns the body to post for an annotation. Its id is that of its place, because an annotation has none of its
// own that clients know.
func (p *Poster) annotationBody(sub *record.Subscription, entry reading.Entry) ([]byte, error) {
	a := entry.Annotation
	encoded, err := p.encode(a.ToWire())
	if err != nil {
		return nil, err
	}
	payload, err := plainJSON(annotationPlace{messagePlace{entry.IntentID, entry.ChannelName}, encoded})
	if err != nil {
		return nil, err
	}
	createdAt, err := p.encode(timestamppb.New(a.CreatedAt))
	if err != nil {
		return nil, err
	}
	event, err := plainJSON(messageEvent{
		ID: a.MessageID + "/" + strconv.FormatInt(a.Position, 10), IntentID: entry.IntentID, EventType: string(a.Type),
		Actor: a.AgentID, Payload: payload, CreatedAt: createdAt,
	})
	if err != nil {
		return nil, err
	}
	return plainJSON(envelope{sub.ID, event})
}

// joined merges two non-empty JSON objects into one.
func joined(first, second []byte) []byte {
	return append(append(first[:len(first)-1:len(first)-1], ','), second[1:]...)
}

// plainJSON encodes a value without the escapes that only HTML needs, like all other JSON of the server.
func plainJSON(value any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

// webhookID identifies a delivery to its receiver. It is the same each time the delivery is posted.
func webhookID(sub *record.Subscription, number int64) string {
	return sub.ID + "_" + strconv.FormatInt(number, 10)
}
