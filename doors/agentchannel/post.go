package agentchannel

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// Posting is an event that somebody wants to post. Author is taken and not used: the author is the caller.
type Posting struct {
	Kind    string          `json:"kind"`
	Author  string          `json:"author"`
	Payload json.RawMessage `json:"payload"`

	// Replaces is the event that has to be the present spec or state; "" for none yet, and nil for whichever is. Any demands that there is
	// one.
	Replaces *string `json:"-"`
	Any      bool    `json:"-"`
	// Key is the idempotency key; nil for none.
	Key *string `json:"-"`
}

// errNoPrecondition refuses a condition on an event that replaces none.
var errNoPrecondition = fault.BadField("If-Match", "goes with events of kind spec and state only; leave it out.")

// errDocumentMissing is the answer to a condition that there is a document.
var errDocumentMissing = fault.New(fault.PreconditionFailed, "DOCUMENT_CHANGED",
	"Nobody has posted this document yet; send it without a condition, or with If-None-Match: *.")

// Post appends an event to the channel's log.
func (d *Desk) Post(ctx context.Context, named string, posting Posting) (*Event, error) {
	if posting.Kind == "" {
		return nil, fault.BadField("kind", "is missing; give spec, state, status, comms, log or a word of your own.")
	}
	payload, err := payloadOf(posting.Payload)
	switch {
	case err != nil:
		return nil, err
	case payload == nil && isDocument(posting.Kind):
		return nil, fault.BadField("payload", "is missing, and would leave nothing of the %s; give the whole new one, or {} to empty it.", posting.Kind)
	case payload == nil:
		payload = &structpb.Struct{}
	}
	channel, err := d.find(ctx, named)
	if err != nil {
		return nil, err
	}
	request := &openintentv1.SendMessageRequest{
		ChannelId: channel.GetId(), Kind: &posting.Kind, Payload: payload, IdempotencyKey: posting.Key,
	}
	switch {
	case isDocument(posting.Kind):
		request.Document = new(true)
		if request.Replaces, err = d.condition(ctx, channel, posting); err != nil {
			return nil, err
		}
	case posting.Replaces != nil || posting.Any:
		return nil, errNoPrecondition
	}
	message, err := d.Caller.Messages.SendMessage(ctx, request)
	if err != nil {
		return nil, err
	}
	event, err := eventOf(message)
	if err != nil {
		return nil, err
	}
	if event.Kind == kindStatus {
		d.beat(ctx, event.Payload)
	}
	d.trace(ctx, channel, event)
	return &event, nil
}

// condition returns the event that a document has to replace; nil for whichever is there.
func (d *Desk) condition(ctx context.Context, channel *openintentv1.Channel, posting Posting) (*string, error) {
	if !posting.Any {
		return posting.Replaces, nil
	}
	present, err := d.documentIn(ctx, channel, posting.Kind)
	switch {
	case err != nil:
		return nil, err
	case present == nil:
		return nil, errDocumentMissing
	}
	return &present.ID, nil
}

// payloadOf reads a payload; nil if there is none. A text T stands for {"text": T}.
func payloadOf(given json.RawMessage) (*structpb.Struct, error) {
	given = bytes.TrimSpace(given)
	switch {
	case len(given) == 0 || bytes.Equal(given, []byte("null")):
		return nil, nil
	case given[0] == '"':
		given = append(append([]byte(`{"text":`), given...), '}')
	case given[0] != '{':
		return nil, fault.BadField("payload", "must be a JSON object or a text.")
	}
	payload, err := jsonvalue.ParseObject(given, "payload")
	if err != nil {
		return nil, err
	}
	return payload.Struct()
}

// longestNote is how many characters a note on an agent's record has at most.
const longestNote = 200

// beat counts a status event as a sign of life of the caller's record, if it has one. The event is stored already, so nothing follows from a
// failure.
func (d *Desk) beat(ctx context.Context, payload json.RawMessage) {
	request := &openintentv1.HeartbeatRequest{AgentId: d.Caller.Agent}
	for _, name := range []string{"note", "summary", "text"} {
		if note, isText := jsonvalue.Object(payload).String(name); isText && request.StatusNote == nil {
			request.StatusNote = new(oneLine(note))
		}
	}
	_, _ = d.Caller.Agents.Heartbeat(ctx, request)
}

// oneLine returns the beginning of a text as one line.
func oneLine(text string) string {
	line := []rune(strings.Join(strings.Fields(strings.ToValidUTF8(text, "")), " "))
	if utf8.RuneCountInString(text) > longestNote {
		line = line[:min(len(line), longestNote)]
	}
	return string(line)
}
