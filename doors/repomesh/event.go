package repomesh

import (
	"cmp"
	"encoding/json"
	"time"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
)

// event is a message or an entry of the mesh's log in the protocol's form. The server vouches for everything outside the payload, and in
// it for the members that the base format has.
type event struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Severity string `json:"severity"`
	// AgentID is null for the server's own.
	AgentID *string `json:"agent_id"`
	// System says that the server itself tells this, and no agent.
	System bool `json:"system,omitempty"`
	// AgentKind is human for a person's message.
	AgentKind string `json:"agent_kind,omitempty"`
	Channel   string `json:"channel,omitempty"`
	// MessageType says that the message is a request or a response of RFC-0021. A request to the caller is answered with its id as
	// parent_message_id.
	MessageType string `json:"message_type,omitempty"`
	// LegacyType is the older name under which the event came.
	LegacyType string `json:"legacy_type,omitempty"`
	// Status is how far the message came: delivered, read or expired.
	Status    string `json:"status,omitempty"`
	CreatedAt string `json:"created_at"`
	Edited    bool   `json:"edited,omitempty"`
	Deleted   bool   `json:"deleted,omitempty"`
	// Cut is how many bytes the whole payload has, if only its content's beginning is shown.
	Cut     int    `json:"cut_from_bytes,omitempty"`
	Snippet string `json:"snippet,omitempty"`
	// RecipientID is null if the event is for all. It, TaskID and ParentID are in the payload, too.
	RecipientID *string `json:"recipient_id"`
	TaskID      *string `json:"task_id"`
	ParentID    *string `json:"parent_message_id"`
	// Payload is left out if the caller does not want it.
	Payload map[string]any `json:"payload,omitempty"`

	at time.Time
}

// namespace is the member of a message's metadata in which the door keeps what the contract has no field for.
const namespace = "repomesh"

// everyone is how the protocol addresses all agents, and wildcard how the contract does.
const everyone, wildcard = "all", "*"

// system is the server's own name as a sender.
const system = "system"

// baseMembers are those members of a payload that the contract keeps in fields of its own.
var baseMembers = []string{
	"from", "from_id", "to", "recipient_id", "subject", "parent_message_id", "reply_to", "task_id", "timestamp", "metadata", "mentions",
}

// stamp writes a time as the protocol does, exact to the microsecond, so that it can serve as a cursor.
func stamp(at *timestamppb.Timestamp) string { return at.AsTime().Format(stampLayout) }

const stampLayout = "2006-01-02T15:04:05.000000Z07:00"

// eventOf returns a message in the protocol's form, with at most room bytes of its payload.
func eventOf(m *openintentv1.Message, channel string, room int) *event {
	kept := m.GetMetadata().GetFields()[namespace].GetStructValue().GetFields()
	e := &event{
		ID: m.GetId(), Type: cmp.Or(m.GetKind(), chat), Severity: cmp.Or(kept["severity"].GetStringValue(), "info"),
		AgentID: new(m.GetSender()), AgentKind: m.GetSenderKind(), Channel: channel, LegacyType: kept["legacy_type"].GetStringValue(),
		CreatedAt: stamp(m.GetCreatedAt()), Edited: m.EditedAt != nil, Deleted: m.DeletedAt != nil, at: m.GetCreatedAt().AsTime(),
	}
	if m.GetSender() == system {
		e.AgentID, e.System = nil, true
	}
	if to := m.GetTo(); to != "" && to != wildcard {
		e.RecipientID = &to
	}
	e.TaskID, e.ParentID = m.TaskId, parentOf(m)
	switch m.GetMessageType() {
	case openintentv1.MessageType_MESSAGE_TYPE_REQUEST:
		e.MessageType = "request"
	case openintentv1.MessageType_MESSAGE_TYPE_RESPONSE:
		e.MessageType = "response"
	}
	switch m.GetStatus() {
	case openintentv1.MessageStatus_MESSAGE_STATUS_READ:
		e.Status = "read"
	case openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED:
		e.Status = "expired"
	default:
		e.Status = "delivered"
	}
	e.Payload = payloadOf(m, kept)
	e.cut(room)
	return e
}

// payloadOf returns what the sender wrote, under what the server knows.
func payloadOf(m *openintentv1.Message, kept map[string]*structpb.Value) map[string]any {
	payload := m.GetPayload().AsMap()
	if m.GetKind() == "" || m.GetKind() == chat {
		payload["content"] = contentOf(m, payload)
	}
	payload["from"], payload["from_id"] = m.GetSender(), m.GetSender()
	payload["to"] = everyone
	if to := m.GetTo(); to != "" && to != wildcard {
		payload["to"] = to
	}
	payload["timestamp"] = stamp(m.GetCreatedAt())
	for name, value := range map[string]*string{
		"subject": m.Subject, "task_id": m.TaskId, "parent_message_id": parentOf(m),
	} {
		delete(payload, name)
		if value != nil {
			payload[name] = *value
		}
	}
	delete(payload, "mentions")
	if len(m.GetMentions()) > 0 {
		payload["mentions"] = m.GetMentions()
	}
	payload["metadata"] = m.GetMetadata().AsMap()
	if kept != nil {
		payload["metadata"] = kept["metadata"].GetStructValue().AsMap()
	}
	return payload
}

// parentOf returns the message that a message belongs under, and nil if there is none. A response belongs under its request.
func parentOf(m *openintentv1.Message) *string {
	if m.ParentId == nil {
		return m.CorrelationId
	}
	return m.ParentId
}

// contentOf returns the text of a message that did not come through this door either: the usual members for it, or the payload's JSON.
func contentOf(m *openintentv1.Message, payload map[string]any) string {
	if payload["event"] == "lease_ended" && m.GetSender() == system {
		scope, _ := payload["scope"].(string)
		reason, _ := payload["reason"].(string)
		return "Your lock of " + scope + " has ended: " + reason + "."
	}
	for _, name := range []string{"content", "text", "question"} {
		if text, isText := payload[name].(string); isText {
			return text
		}
	}
	whole, err := jsonvalue.FromStruct(m.GetPayload(), "payload")
	if err != nil || len(payload) == 0 {
		return ""
	}
	return string(whole)
}

// cut leaves of a payload that is too large what the base format has, and the beginning of its content.
func (e *event) cut(room int) {
	written, err := json.Marshal(e.Payload)
	if err != nil || len(written) <= room+baseRoom {
		return
	}
	e.Cut = len(written)
	short := make(map[string]any)
	for _, name := range baseMembers {
		if value, has := e.Payload[name]; has && name != "metadata" {
			short[name] = value
		}
	}
	for _, name := range []string{"content", "message", "summary"} {
		if text, isText := e.Payload[name].(string); isText {
			short[name] = doors.Beginning(text, room)
		}
	}
	e.Payload = short
}

// baseRoom is what the members of the base format may take beside the content.
const baseRoom = 600

// size is about how many bytes the event takes in an answer.
func (e *event) size() int {
	written, _ := json.Marshal(e)
	return len(written)
}
