package repomesh

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
)

// eventLog says something to everybody or to one agent, and does what follows from it.
var eventLog = newAction("event.log", "Say something: type agent.chat with payload {to: all or an agent, content, subject?, task_id?, "+
	"parent_message_id?}, or another type of the registry with its fields.",
	[]string{"payload"},
	[]property{
		text("type"), text("severity"), object("payload"), text("channel"), text("recipient_id"), text("parent_message_id"), text("task_id"),
		text("agent_id"), text("idempotency_key"), text("repo_id"),
	},
	func(ctx context.Context, s *session, given logArguments) (any, error) {
		d, err := s.draft(given)
		if err != nil {
			return nil, err
		}
		sent, err := s.send(ctx, d)
		if err != nil {
			return nil, err
		}
		e := eventOf(sent, value(d.channel), s.room)
		answer := loggedAnswer{
			ID: e.ID, Type: d.name, Severity: e.Severity, AgentID: e.AgentID, RecipientID: e.RecipientID, ParentID: e.ParentID, TaskID: e.TaskID,
			Channel: e.Channel, ChannelID: sent.GetChannelId(), CreatedAt: e.CreatedAt,
		}
		if d.legacy != "" {
			answer.Note = d.legacy + " is an older name; it is stored as " + chat + "."
		}
		answer.Effect = s.follow(ctx, d, sent)
		return answer, nil
	}).signed()

type logArguments struct {
	identity
	repository
	Type     string          `json:"type"`
	Severity string          `json:"severity"`
	Payload  json.RawMessage `json:"payload"`
	Channel  *string         `json:"channel"`
	// These four may stand in the payload, too.
	TaskID    *string `json:"task_id"`
	ParentID  *string `json:"parent_message_id"`
	Recipient *string `json:"recipient_id"`
	Key       *string `json:"idempotency_key"`
}

type loggedAnswer struct {
	ID          string  `json:"id"`
	Type        string  `json:"type"`
	Severity    string  `json:"severity"`
	AgentID     *string `json:"agent_id"`
	RecipientID *string `json:"recipient_id"`
	ParentID    *string `json:"parent_message_id"`
	TaskID      *string `json:"task_id"`
	Channel     string  `json:"channel,omitempty"`
	ChannelID   string  `json:"channel_id"`
	CreatedAt   string  `json:"created_at"`
	Note        string  `json:"note,omitempty"`
	// Effect is what followed from the event by a rule of the protocol.
	Effect *effect `json:"effect,omitempty"`
}

// draft is an event that is to be logged.
type draft struct {
	name, legacy, severity string
	channel                *string
	to, subject            *string
	parent, task, key      *string
	mentions               *structpb.ListValue
	// values are the members of the payload as they came, and payload those that are stored.
	values            map[string]any
	payload, metadata *structpb.Struct
}

// draft reads an event, and refuses one that does not fit its type or names another author.
func (s *session) draft(given logArguments) (*draft, error) {
	d := &draft{severity: cmp.Or(given.Severity, "info"), channel: given.Channel, key: given.Key}
	var err error
	if d.name, d.legacy, err = typeOf(cmp.Or(given.Type, chat)); err != nil {
		return nil, err
	}
	if !slices.Contains(severities, d.severity) {
		return nil, fault.BadField("severity", "must be info, warning or error.")
	}
	object, err := jsonvalue.ParseObject(given.Payload, "payload")
	if err != nil {
		return nil, err
	}
	if d.values, err = values(object); err != nil {
		return nil, err
	}
	if err := d.base(given); err != nil {
		return nil, err
	}
	if err := check(d.name, d.values, value(d.task)); err != nil {
		return nil, err
	}
	if err := s.authored(given, d.values); err != nil {
		return nil, err
	}
	return d, d.store()
}

// base takes the members of the base format from the arguments or the payload.
func (d *draft) base(given logArguments) error {
	for _, m := range []struct {
		name   string
		beside *string
		into   **string
	}{
		{"to", given.Recipient, &d.to}, {"recipient_id", given.Recipient, &d.to}, {"subject", nil, &d.subject},
		{"parent_message_id", given.ParentID, &d.parent}, {"reply_to", given.ParentID, &d.parent},
		{"task_id", given.TaskID, &d.task}, {"channel", given.Channel, &d.channel},
	} {
		within, isText := d.values[m.name].(string)
		switch {
		case d.values[m.name] != nil && !isText:
			return fault.BadField("payload."+m.name, "must be a text.")
		case m.beside != nil && isText && within != "" && *m.beside != within:
			return fault.BadField(m.name, "differs from the payload's; give it once.")
		}
		if text := cmp.Or(within, value(m.beside)); text != "" {
			*m.into = &text
		}
	}
	if said := d.values["timestamp"]; said != nil {
		text, _ := said.(string)
		if _, err := time.Parse(time.RFC3339, text); err != nil {
			return fault.BadField("payload.timestamp", "must be an ISO 8601 time, such as 2026-02-22T23:20:00Z.")
		}
	}
	if said := d.values["mentions"]; said != nil {
		if !texts("").right(said) {
			return fault.BadField("payload.mentions", "must be a list of agents.")
		}
		items, _ := said.([]any)
		d.mentions, _ = structpb.NewList(items)
	}
	if metadata := d.values["metadata"]; metadata != nil {
		if _, isObject := metadata.(map[string]any); !isObject {
			return fault.BadField("payload.metadata", "must be an object.")
		}
	}
	return nil
}

// authors are the members of a payload that name the event's author.
var authors = []string{"from_id", "from", "agent_id", "reviewer_id"}

// authored refuses an event that names somebody else as its author.
func (s *session) authored(given logArguments, payload map[string]any) error {
	if err := s.own(given.AgentID); err != nil {
		return err
	}
	for _, name := range authors {
		if said, isText := payload[name].(string); payload[name] != nil && (!isText || s.own(&said) != nil) {
			return errAnother
		}
	}
	return nil
}

// store makes the payload and the metadata as they are stored.
func (d *draft) store() (err error) {
	kept := map[string]any{"severity": d.severity}
	if d.legacy != "" {
		kept["legacy_type"] = d.legacy
	}
	if metadata := d.values["metadata"]; metadata != nil {
		kept["metadata"] = metadata
	}
	stored := make(map[string]any, len(d.values))
	for name, value := range d.values {
		if !slices.Contains(baseMembers, name) && name != "channel" {
			stored[name] = value
		}
	}
	if d.payload, err = structpb.NewStruct(stored); err != nil {
		return fault.BadField("payload", "must be an object.")
	}
	if d.metadata, err = structpb.NewStruct(map[string]any{namespace: kept}); err != nil {
		return fault.BadField("payload.metadata", "must be an object.")
	}
	return nil
}

// value returns a text, and "" for none.
func value(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// send stores the event as a message: an answer if it belongs under a request to the caller, and otherwise a notice.
func (s *session) send(ctx context.Context, d *draft) (*openintentv1.Message, error) {
	kind, to := openintentv1.MessageType_MESSAGE_TYPE_NOTIFY, d.to
	if to == nil || *to == everyone || *to == wildcard {
		kind, to = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST, nil
	}
	var under *openintentv1.Message
	if d.parent != nil {
		parent, err := s.caller.Messages.GetMessage(ctx, &openintentv1.GetMessageRequest{ChannelId: anyChannel, MessageId: *d.parent})
		if err != nil {
			return nil, err
		}
		if parent.GetMessageType() == openintentv1.MessageType_MESSAGE_TYPE_REQUEST && parent.GetSender() != s.caller.Agent &&
			(d.to == nil || *d.to == parent.GetSender()) {
			return s.reply(ctx, d, parent)
		}
		under = parent
	}
	if under != nil && d.channel == nil {
		return s.caller.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
			ChannelId: under.GetChannelId(), To: to, MessageType: &kind, Payload: d.payload, Metadata: d.metadata, IdempotencyKey: d.key,
			ParentId: d.parent, Subject: d.subject, Kind: &d.name, TaskId: d.task, Mentions: d.mentions,
		})
	}
	return s.caller.Messages.SendMessageByName(ctx, &openintentv1.SendMessageByNameRequest{
		IntentId: s.intent, Name: cmp.Or(value(d.channel), DefaultChannel), Unowned: true, To: to, MessageType: &kind, Payload: d.payload,
		Metadata: d.metadata, IdempotencyKey: d.key, ParentId: d.parent, Subject: d.subject, Kind: &d.name, TaskId: d.task,
		Mentions: d.mentions,
	})
}

// anyChannel stands for the channel that a message is in.
const anyChannel = "-"

// reply answers a request. If the request wants an exact number of answers, the caller claims it first, as it must.
func (s *session) reply(ctx context.Context, d *draft, request *openintentv1.Message) (*openintentv1.Message, error) {
	answer := &openintentv1.ReplyMessageRequest{
		ChannelId: request.GetChannelId(), MessageId: request.GetId(), Payload: d.payload, Metadata: d.metadata, IdempotencyKey: d.key,
		Subject: d.subject, Kind: &d.name, TaskId: d.task, Mentions: d.mentions,
	}
	sent, err := s.caller.Messages.ReplyMessage(ctx, answer)
	if doors.RefusalOf(err).Reason != "CLAIM_REQUIRED" {
		return sent, err
	}
	claim, err := s.caller.Claims.ClaimMessage(ctx, &openintentv1.ClaimMessageRequest{
		ChannelId: request.GetChannelId(), MessageId: request.GetId(), IdempotencyKey: new("answer through RepoMesh"),
	})
	if err != nil {
		return nil, err
	}
	answer.Fence = new(claim.GetFence())
	return s.caller.Messages.ReplyMessage(ctx, answer)
}
