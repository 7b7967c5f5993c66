package mcp

import (
	"encoding/json"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
)

const (
	// payloadRoom is how many bytes of a payload an answer of several messages shows.
	payloadRoom = 400
	// answerRoom is how many bytes of messages an answer holds before it ends with a cursor. A token is about three bytes of JSON
	// that is full of ids.
	answerRoom = 2400
	// messagesShown is how many messages an answer holds unless its caller asks for more.
	messagesShown = 10
)

// messageAnswer is a message as a model sees it. The server vouches for the fields up to Cut; what the sender wrote comes after them,
// each as the value of one field, which no text can end.
type messageAnswer struct {
	ID   string `json:"id"`
	From string `json:"from"`
	// FromKind is human for a person's message.
	FromKind string `json:"from_kind,omitempty"`
	To       string `json:"to,omitempty"`
	Type     string `json:"type"`
	Channel  string `json:"channel,omitempty"`
	At       string `json:"at"`
	// Answers is the request that a response answers, and Thread the thread that the message stands in.
	Answers string `json:"answers,omitempty"`
	Thread  string `json:"thread,omitempty"`
	Expires string `json:"expires,omitempty"`
	Edited  bool   `json:"edited,omitempty"`
	Deleted bool   `json:"deleted,omitempty"`
	// What the message asks of the caller, if that was asked for.
	Policy    string `json:"policy,omitempty"`
	Why       string `json:"why,omitempty"`
	ClaimedBy string `json:"claimed_by,omitempty"`
	// Cut is how many bytes the whole payload has, if only its beginning is shown.
	Cut int `json:"cut_from_bytes,omitempty"`
	// Cursor leads on in the payload, if the answer is about this message alone.
	Cursor string `json:"cursor,omitempty"`

	Subject string          `json:"subject,omitempty"`
	Kind    string          `json:"kind,omitempty"`
	Text    *string         `json:"text,omitempty"`
	Payload json.RawMessage `json:"payload,omitempty"`
	Begin   string          `json:"payload_begins,omitempty"`
	// Part is a later part of the payload's JSON.
	Part string `json:"payload_part,omitempty"`
	// Reactions are those to the message, if they were asked for.
	Reactions []reactionAnswer `json:"reactions,omitempty"`
}

// shown returns a message as a model sees it, with at most room bytes of its payload. attention may be nil.
func shown(m *openintentv1.Message, attention *openintentv1.Attention, room int) messageAnswer {
	answer := messageAnswer{
		ID: m.GetId(), From: m.GetSender(), FromKind: m.GetSenderKind(), To: m.GetTo(), Channel: m.GetChannelId(), Type: doors.Word(m.GetMessageType()),
		At: moment(m.GetCreatedAt()), Expires: moment(m.GetExpiresAt()), Edited: m.EditedAt != nil, Deleted: m.DeletedAt != nil,
		Subject: m.GetSubject(), Kind: m.GetKind(),
	}
	if m.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_RESPONSE {
		answer.Answers = m.GetCorrelationId()
	}
	if m.GetThreadId() != m.GetId() {
		answer.Thread = m.GetThreadId()
	}
	if attention != nil {
		answer.Policy, answer.Why = doors.Word(attention.GetPolicy()), attention.GetReason()
		answer.ClaimedBy = attention.GetClaim().GetHolder()
	}
	answer.show(m.GetPayload(), room)
	return answer
}

// show puts the payload into the answer, or its beginning when it is too large. {"text": T} is shown as text.
func (a *messageAnswer) show(payload *structpb.Struct, room int) {
	if payload == nil {
		return
	}
	content, isText := contentOf(payload)
	begin := doors.Beginning(content, room)
	if len(begin) < len(content) {
		a.Cut = len(content)
	}
	switch {
	case isText:
		a.Text = &begin
	case len(begin) == len(content):
		a.Payload = json.RawMessage(content)
	default:
		a.Begin = begin
	}
}

// contentOf returns a payload as a model reads it: the text in {"text": T}, and the JSON of any other.
func contentOf(payload *structpb.Struct) (content string, isText bool) {
	text, isText := payload.GetFields()["text"].GetKind().(*structpb.Value_StringValue)
	if isText && len(payload.GetFields()) == 1 {
		return text.StringValue, true
	}
	whole, err := jsonvalue.FromStruct(payload, "payload")
	if err != nil {
		return "{}", false // what the contract hands out is JSON
	}
	return string(whole), false
}

// moment returns a time to the second, which is enough for a model, and "" for none.
func moment(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().Format("2006-01-02T15:04:05Z")
}
