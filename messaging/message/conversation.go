package message

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

// Priority says how urgent a sender finds its message. Empty counts as normal.
type Priority string

// The priorities.
const (
	PriorityLow    Priority = "low"
	PriorityNormal Priority = "normal"
	PriorityHigh   Priority = "high"
	PriorityUrgent Priority = "urgent"
)

// Conversation is what a message carries beyond RFC-0021. Most messages carry none of it: they have no Conversation at all, and
// the database keeps nothing for them. All fields are optional. The database keeps them as one JSON object, except for
// ThreadPosition, which has a column of its own.
type Conversation struct {
	// ParentID and ThreadID are set when the sender gave a parent, and in responses to such requests. ThreadPosition is the
	// position of the thread's first message, whose id ThreadID is.
	ParentID       string `json:"parent_id,omitempty"`
	ThreadID       string `json:"thread_id,omitempty"`
	ThreadPosition int64  `json:"-"`

	Subject  string   `json:"subject,omitempty"`
	Kind     string   `json:"kind,omitempty"`
	TaskID   string   `json:"task_id,omitempty"`
	Priority Priority `json:"priority,omitempty"`
	// Mentions are agents and role addresses, each once.
	Mentions []string `json:"mentions,omitempty"`
	// MentionsGiven is true if the sender gave the mentions; otherwise the server has looked for them in the text.
	MentionsGiven bool `json:"mentions_given,omitempty"`
	// Collect is nil for any number of answers, which is the default.
	Collect *Collect `json:"collect,omitempty"`

	// Directedness and Policy are what the sender means or asks for at most. They are zero when it says nothing.
	Directedness openintentv1.Directedness   `json:"directedness,omitempty"`
	Policy       openintentv1.ResponsePolicy `json:"policy,omitempty"`

	// Obligation is nil for a message without one. Return is nil except in the server's reminders of obligations.
	Obligation *Obligation `json:"obligation,omitempty"`
	Return     *Return     `json:"return,omitempty"`

	// Braked is true if the loop brake was on when the message was stored. Clients see it in what attention says of the message.
	Braked bool `json:"braked,omitempty"`
	// Human is true if a person sent the message (caller.Caller.SpeaksAsHuman).
	Human bool `json:"human,omitempty"`
	// Document is true if the message was sent as a document of its channel. Kind is the document's name.
	Document bool `json:"document,omitempty"`

	// Revision counts how often the content was given; it is 0 before the first edit, and then at least 2.
	Revision  int       `json:"revision,omitempty"`
	EditedAt  time.Time `json:"edited_at,omitzero"`
	DeletedAt time.Time `json:"deleted_at,omitzero"`
}

// Collection says how many answers a request wants.
type Collection string

// The collections.
const (
	CollectAny    Collection = "any"
	CollectOne    Collection = "one"
	CollectAll    Collection = "all"
	CollectQuorum Collection = "quorum"
)

// Collect is how many answers a request wants, as its sender gave it.
type Collect struct {
	Collection Collection `json:"collection"`
	// Quorum is the number of answers of CollectQuorum, and 0 otherwise.
	Quorum int `json:"quorum,omitempty"`
}

// Bounds of a conversation's fields.
const (
	MaxMentions = 50
	MaxQuorum   = 100
)

// collecting returns how many answers the message wants.
func (m *Message) collecting() Collect {
	if m.Conversation == nil || m.Conversation.Collect == nil {
		return Collect{Collection: CollectAny}
	}
	return *m.Conversation.Collect
}

// ExactAnswers returns how many answers the message takes, when it is a request that takes exactly so many. It returns 0 for any other
// message. A request to one agent takes at most one.
func (m *Message) ExactAnswers() int {
	if m.Type != TypeRequest {
		return 0
	}
	switch c := m.collecting(); {
	case c.Collection == CollectOne:
		return 1
	case c.Collection == CollectQuorum && (c.Quorum == 1 || RoleOf(m.Target) != ""):
		return c.Quorum
	}
	return 0
}

// NeedsClaim reports whether only the holder of a claim may answer the message: it is a request to a role, and takes an exact number of
// answers.
func (m *Message) NeedsClaim() bool { return m.ExactAnswers() > 0 && RoleOf(m.Target) != "" }

// ThreadRoot returns the position of the first message of the message's thread: the one that it names, or else the request that
// it answers, or itself.
func (m *Message) ThreadRoot() int64 {
	_, position := m.Thread()
	return position
}

// Thread returns the id and the position of the first message of the message's thread (see ThreadRoot).
func (m *Message) Thread() (id string, position int64) {
	switch {
	case m.NamesThread():
		return m.Conversation.ThreadID, m.Conversation.ThreadPosition
	case m.CorrelationPosition != 0:
		return m.CorrelationID, m.CorrelationPosition
	}
	return m.ID, m.Position
}

// NamesThread reports whether the message names the thread to which it belongs. Then its responses do so too.
func (m *Message) NamesThread() bool {
	return m.Conversation != nil && m.Conversation.ThreadPosition != 0
}

// encode returns the conversation as the database keeps it; nil for none.
func (c *Conversation) encode() []byte {
	if c == nil {
		return nil
	}
	text, err := json.Marshal(c)
	if err != nil {
		panic(err) // it holds nothing that JSON cannot express
	}
	return text
}

// KindText returns a part of what the database keeps of each conversation of a kind.
func KindText(kind string) []byte {
	text := (&Conversation{Kind: kind}).encode()
	return text[1 : len(text)-1]
}

// Columns returns what the database keeps of the conversation: the thread's position and the other fields. Both are nil for none.
func (c *Conversation) Columns() (threadPosition *int64, fields []byte) {
	if c == nil {
		return nil, nil
	}
	if c.ThreadPosition != 0 {
		threadPosition = &c.ThreadPosition
	}
	return threadPosition, c.encode()
}

// Empty reports whether the conversation has no field at all, so that there is nothing to keep.
func (c *Conversation) Empty() bool {
	return c.ParentID == "" && c.ThreadID == "" && c.Subject == "" && c.Kind == "" && c.TaskID == "" && c.Priority == "" &&
		len(c.Mentions) == 0 && !c.MentionsGiven && c.Collect == nil && c.Obligation == nil && c.Return == nil &&
		c.Directedness == 0 && c.Policy == 0 && c.Revision == 0 && !c.Braked && !c.Human && !c.Document
}

// Outline returns what of the conversation decides about other messages: the thread, how many answers a request wants, and whether the
// content was deleted. It is small, whatever the sender wrote.
func (c *Conversation) Outline() *Conversation {
	if c == nil || c.ThreadPosition == 0 && c.Collect == nil && c.DeletedAt.IsZero() {
		return nil
	}
	return &Conversation{ThreadID: c.ThreadID, ThreadPosition: c.ThreadPosition, Collect: c.Collect, DeletedAt: c.DeletedAt}
}

// onlyBraked is what a message carries that would carry nothing without the brake.
var onlyBraked = &Conversation{Braked: true}

// WithBrake returns the conversation of a message that is braked.
func (c *Conversation) WithBrake() *Conversation {
	if c == nil {
		return onlyBraked
	}
	braked := *c
	braked.Braked = true
	return &braked
}

// SenderHuman is the kind of sender of a person's messages, as clients see it. Agents' messages have none.
const SenderHuman = "human"

// FromHuman returns the conversation of a message that a person sent.
func (c *Conversation) FromHuman() *Conversation {
	if c == nil {
		return &Conversation{Human: true}
	}
	human := *c
	human.Human = true
	return &human
}

// Size is how many bytes of a page the conversation takes up.
func (c *Conversation) Size() int {
	if c == nil {
		return 0
	}
	size := len(c.ParentID) + len(c.ThreadID) + len(c.Subject) + len(c.Kind) + len(c.TaskID)
	for _, name := range c.Mentions {
		size += len(name)
	}
	if c.Obligation != nil {
		size += len(c.Obligation.Delegate)
	}
	return size
}

// ConversationFrom reads what Columns returned.
func ConversationFrom(threadPosition int64, fields []byte) (*Conversation, error) {
	if len(fields) == 0 {
		return nil, nil
	}
	c := new(Conversation)
	if err := json.Unmarshal(fields, c); err != nil {
		return nil, err
	}
	c.ThreadPosition = threadPosition
	return c, nil
}

var prioritiesOnTheWire = map[Priority]openintentv1.Priority{
	PriorityLow:    openintentv1.Priority_PRIORITY_LOW,
	PriorityNormal: openintentv1.Priority_PRIORITY_NORMAL,
	PriorityHigh:   openintentv1.Priority_PRIORITY_HIGH,
	PriorityUrgent: openintentv1.Priority_PRIORITY_URGENT,
}

// PriorityFrom returns the priority that a request names; empty when it names none.
func PriorityFrom(wire openintentv1.Priority) Priority {
	if wire == openintentv1.Priority_PRIORITY_UNSPECIFIED {
		return ""
	}
	for word, value := range prioritiesOnTheWire {
		if value == wire {
			return word
		}
	}
	return ""
}

// ToWire returns the priority as clients know it. Empty counts as normal.
func (p Priority) ToWire() openintentv1.Priority {
	if p == "" {
		p = PriorityNormal
	}
	return prioritiesOnTheWire[p]
}

// fill puts the conversation into a message as clients see it.
func (c *Conversation) fill(wire *openintentv1.Message) {
	if c == nil {
		return
	}
	wire.ParentId, wire.ThreadId = optional.Text(c.ParentID), optional.Text(c.ThreadID)
	wire.Subject, wire.Kind, wire.TaskId = optional.Text(c.Subject), optional.Text(c.Kind), optional.Text(c.TaskID)
	wire.Mentions, wire.Collect, wire.Obligation = c.Mentions, c.Collect.toWire(), c.Obligation.toWire()
	wire.EditedAt, wire.DeletedAt = optional.Time(c.EditedAt), optional.Time(c.DeletedAt)
	if c.Priority != "" {
		wire.Priority = c.Priority.ToWire().Enum()
	}
	if c.Directedness != 0 {
		wire.Directedness = c.Directedness.Enum()
	}
	if c.Policy != 0 {
		wire.Policy = c.Policy.Enum()
	}
	if c.Revision != 0 {
		revision := int32(c.Revision)
		wire.Revision = &revision
	}
	if c.Document {
		wire.Document = &c.Document
	}
	if c.Human {
		wire.SenderKind = new(SenderHuman)
	}
}

// DirectednessWord returns what the sender means at most, as clients know it in JSON; empty for nothing.
func (c *Conversation) DirectednessWord() string {
	return enumWord(int32(c.Directedness), "DIRECTEDNESS_", openintentv1.Directedness_name)
}

// PolicyWord returns what the sender asks for at most, as clients know it in JSON; empty for nothing.
func (c *Conversation) PolicyWord() string {
	return enumWord(int32(c.Policy), "RESPONSE_POLICY_", openintentv1.ResponsePolicy_name)
}

func enumWord(value int32, prefix string, names map[int32]string) string {
	if value == 0 {
		return ""
	}
	return strings.ToLower(strings.TrimPrefix(names[value], prefix))
}

// JSON returns the value as clients give it.
func (c *Collect) JSON() []byte {
	if c.Collection == CollectQuorum {
		return []byte(`{"quorum":` + strconv.Itoa(c.Quorum) + `}`)
	}
	return []byte(`"` + string(c.Collection) + `"`)
}

func (c *Collect) toWire() *structpb.Value {
	switch {
	case c == nil:
		return nil
	case c.Collection == CollectQuorum:
		return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"quorum": structpb.NewNumberValue(float64(c.Quorum)),
		}})
	}
	return structpb.NewStringValue(string(c.Collection))
}
