package chat

import (
	"encoding/json"
	"strconv"
	"strings"

	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/jsonvalue"
)

// Platform is the name by which events say where they come from.
const Platform = "openintent"

// System is the author of what the server itself says.
const System = "system"

// Event is a message as the draft 2026-06-02 shows it. The tools show it with no more than is known.
type Event struct {
	EventID string `json:"eventId"`
	// SourceIDs are the messages of a delivery that stands for several, oldest first.
	SourceIDs    []string     `json:"sourceIds,omitempty"`
	Source       Source       `json:"source"`
	Conversation Conversation `json:"conversation"`
	Author       Author       `json:"author"`
	Target       Target       `json:"target"`
	// Content is withheld from a knock.
	Content   []Part     `json:"content,omitempty"`
	Timing    Timing     `json:"timing"`
	Attention *Attention `json:"attention,omitempty"`
}

// Source is the chat that an event comes from; the workspace is the intent.
type Source struct {
	Platform    string `json:"platform"`
	WorkspaceID string `json:"workspaceId,omitempty"`
}

// The kinds of conversations. The contract has nothing that the draft's kind `tool` would be.
const (
	KindDM      = "dm"
	KindChannel = "channel"
	KindThread  = "thread"
	KindSystem  = "system"
)

// Conversation is a channel, or a part of one.
type Conversation struct {
	ID       string `json:"id"`
	Kind     string `json:"kind"`
	StreamID string `json:"streamId,omitempty"`
	ThreadID string `json:"threadId,omitempty"`
}

// Author is who wrote a message.
type Author struct {
	ID          string `json:"id"`
	Kind        string `json:"kind"`
	DisplayName string `json:"displayName"`
}

// Target is whom a message is meant for.
type Target struct {
	Mentions     []string `json:"mentions,omitempty"`
	Recipient    string   `json:"recipient,omitempty"`
	Directedness string   `json:"directedness,omitempty"`
}

// Part is a part of a message: a text, or any other payload as data.
type Part struct {
	Type string          `json:"type"`
	Text *string         `json:"text,omitempty"`
	Data json.RawMessage `json:"data,omitempty"`
}

// Timing is when a message was stored, and its place in its intent's log.
type Timing struct {
	CreatedAt string `json:"createdAt,omitempty"`
	Sequence  int64  `json:"sequence,omitempty"`
}

// Attention is what an event asks of its recipient.
type Attention struct {
	Policy     string `json:"policy"`
	Reason     string `json:"reason"`
	Priority   string `json:"priority"`
	DeadlineMS *int64 `json:"deadlineMs,omitempty"`
}

// Entry is a message with what is known about it beside.
type Entry struct {
	Message   *openintentv1.Message
	Attention *openintentv1.Attention
	// IntentID and Position are unset where a call does not give them.
	IntentID string
	Position int64
}

// EventOf returns a message as an agent's event.
func EventOf(agent string, e Entry) Event {
	m := e.Message
	return Event{
		EventID:      m.GetId(),
		Source:       Source{Platform, e.IntentID},
		Conversation: conversationOf(agent, e),
		Author:       authorOf(m),
		Target:       targetOf(m, e.Attention),
		Content:      ContentOf(m),
		Timing:       Timing{moment(m.GetCreatedAt()), e.Position},
		Attention:    attentionOf(e.Attention),
	}
}

func conversationOf(agent string, e Entry) Conversation {
	c := Conversation{ID: e.Message.GetChannelId(), Kind: KindChannel, StreamID: e.IntentID, ThreadID: e.Message.GetThreadId()}
	switch {
	case e.Message.GetSender() == System:
		c.Kind = KindSystem
	case e.Message.GetTo() == agent, e.Message.GetSender() == agent && isAgent(e.Message.GetTo()):
		c.Kind = KindDM
	case c.ThreadID != "":
		c.Kind = KindThread
	}
	return c
}

// isAgent reports whether a message's target is one agent.
func isAgent(to string) bool {
	return to != "" && to != everyone && !strings.HasPrefix(to, rolePrefix)
}

const (
	everyone    = "*"
	rolePrefix  = "role:"
	agentPrefix = "agent:"
)

// AuthorOf returns an agent, or the server, as an author.
func AuthorOf(sender string) Author {
	kind := "agent"
	if sender == System {
		kind = "system"
	}
	return Author{sender, kind, sender}
}

// human is the kind of a person, for the draft and for the contract.
const human = "human"

// authorOf returns who sent a message as its author.
func authorOf(m *openintentv1.Message) Author {
	author := AuthorOf(m.GetSender())
	if m.GetSenderKind() == human {
		author.Kind = human
	}
	return author
}

func targetOf(m *openintentv1.Message, attention *openintentv1.Attention) Target {
	t := Target{Directedness: doors.Word(attention.GetDirectedness())}
	if m.GetTo() != "" && m.GetTo() != everyone {
		t.Recipient = Named(m.GetTo())
	}
	for _, name := range m.GetMentions() {
		t.Mentions = append(t.Mentions, Named(name))
	}
	return t
}

// Named returns an agent or a role as the draft names it: `agent:NAME` or `role:NAME`.
func Named(target string) string {
	if strings.HasPrefix(target, rolePrefix) {
		return target
	}
	return agentPrefix + target
}

// ContentOf returns what a message says: its subject, and its payload. {"text": T} is a text, and any other payload is data.
func ContentOf(m *openintentv1.Message) (parts []Part) {
	if m.GetSubject() != "" {
		parts = append(parts, TextPart(m.GetSubject()))
	}
	payload := m.GetPayload()
	if payload == nil {
		return parts
	}
	text, isText := payload.GetFields()["text"].GetKind().(*structpb.Value_StringValue)
	if isText && len(payload.GetFields()) == 1 {
		return append(parts, TextPart(text.StringValue))
	}
	whole, err := jsonvalue.FromStruct(payload, "payload")
	if err != nil {
		return parts // what the contract hands out is JSON
	}
	return append(parts, Part{Type: "data", Data: json.RawMessage(whole)})
}

// TextPart returns a text as a part.
func TextPart(text string) Part { return Part{Type: "text", Text: &text} }

// DigestEvent returns the event of a digest, without its content. It stands for messages of several conversations, so it is the server's.
func DigestEvent(made *openintentv1.SubscriptionDelivery) Event {
	return Event{
		EventID:      "digest" + beforePosition + made.GetIntentId() + beforePosition + strconv.FormatInt(made.GetPosition(), 10),
		Source:       Source{Platform, made.GetIntentId()},
		Conversation: Conversation{ID: made.GetIntentId(), Kind: KindSystem, StreamID: made.GetIntentId()},
		Author:       AuthorOf(System),
		Target:       Target{Directedness: doors.Word(made.GetAttention().GetDirectedness())},
		Timing:       Timing{Sequence: made.GetPosition()},
		Attention:    attentionOf(made.GetAttention()),
	}
}

func attentionOf(given *openintentv1.Attention) *Attention {
	if given == nil {
		return nil
	}
	return &Attention{
		Policy: doors.Word(given.GetPolicy()), Reason: given.GetReason(), Priority: doors.Word(given.GetPriority()),
		DeadlineMS: given.DeadlineMs, //nolint:protogetter // unset is another thing than 0
	}
}

func moment(at *timestamppb.Timestamp) string {
	if at == nil {
		return ""
	}
	return at.AsTime().Format("2006-01-02T15:04:05.000000Z")
}
