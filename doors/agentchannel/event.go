package agentchannel

import (
	"encoding/json"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
)

// The kinds that the protocol defines. Others are free.
const (
	kindSpec   = "spec"
	kindState  = "state"
	kindStatus = "status"
	kindComms  = "comms"
)

// isDocument reports whether events of a kind are documents, of which the newest counts.
func isDocument(kind string) bool { return kind == kindSpec || kind == kindState }

// Event is one event as readers of the protocol see it. The server vouches for all but what stands in Payload.
type Event struct {
	ID     string `json:"id"`
	Kind   string `json:"kind"`
	Author string `json:"author"`
	// AuthorKind is human for what a person wrote.
	AuthorKind string `json:"author_kind,omitempty"`
	CreatedAt  string `json:"created_at"`
	Type       string `json:"type,omitempty"`
	To         string `json:"to,omitempty"`
	Edited     bool   `json:"edited,omitempty"`
	Deleted    bool   `json:"deleted,omitempty"`
	// Payload is the checked text of an object.
	Payload json.RawMessage `json:"payload"`
}

// eventOf returns a message as an event. What came through other ways in says what type of message it is, and to whom it goes. It fails only
// if the message is none that the contract hands out.
func eventOf(m *openintentv1.Message) (Event, error) {
	payload, err := jsonvalue.FromStruct(m.GetPayload(), "payload")
	e := Event{
		ID: m.GetId(), Kind: m.GetKind(), Author: m.GetSender(), AuthorKind: m.GetSenderKind(), CreatedAt: moment(m.GetCreatedAt().AsTime()), To: m.GetTo(),
		Edited: m.EditedAt != nil, Deleted: m.DeletedAt != nil, Payload: json.RawMessage(payload.OrEmpty()),
	}
	if e.Kind == "" {
		e.Kind = kindComms
	}
	switch m.GetMessageType() {
	case openintentv1.MessageType_MESSAGE_TYPE_REQUEST:
		e.Type = "request"
	case openintentv1.MessageType_MESSAGE_TYPE_RESPONSE:
		e.Type = "response"
	}
	return e, err
}

// moment writes a time as the contract's JSON does.
func moment(at time.Time) string { return at.UTC().Format("2006-01-02T15:04:05.000000Z") }
