package message

import (
	"strings"
	"time"

	"openintent/channels"
	"openintent/internal/caller"
	"openintent/internal/jsonvalue"
)

// Type says what a message is for (RFC-0021 section 2.3).
type Type string

// The message types.
const (
	TypeRequest   Type = "request"
	TypeResponse  Type = "response"
	TypeNotify    Type = "notify"
	TypeBroadcast Type = "broadcast"
)

// Status says how far a message has come (RFC-0021 section 2.5). There is no `pending`: a message is acknowledged and
// visible only once it is stored, and from then on it is delivered.
type Status string

// The message statuses.
const (
	StatusDelivered Status = "delivered"
	StatusRead      Status = "read"
	StatusExpired   Status = "expired"
)

// Message is one stored communication. Zero times and empty texts mean unset.
type Message struct {
	IntentNo, ChannelNo int64
	// Position is the message's place in the intent's log, Ordinal its place in the channel.
	Position, Ordinal int64

	ID, ChannelID string
	Sender        string
	// Target is the address as sent: an agent, role:<role_id>, "*", or empty, which means everyone as "*" does.
	Target string
	Type   Type
	// CorrelationPosition and CorrelationID name the request that a response answers.
	CorrelationPosition int64
	CorrelationID       string
	Payload, Metadata   jsonvalue.Object
	// Conversation is what the message carries beyond RFC-0021; nil if it carries none of it. It is shared and never changed.
	Conversation *Conversation

	CreatedAt, ExpiresAt time.Time
	// ReadAt is when the first of the recipients acknowledged the message.
	ReadAt time.Time
	// EndedAt is set once the message's expiry is stored (expiry_store.go).
	EndedAt time.Time
	// Open is true for a request that nobody has answered and whose expiry is not stored. A request that takes an exact number of
	// answers stays open until it has them.
	Open bool
	// AnsweredAt is when a request to a role got its first answer; if it takes an exact number, its latest. It is zero without an answer, and for any other message.
	AnsweredAt time.Time
	// Abandoned is true for an open request whose addressee left after it was sent, or whose channel has closed. It counts
	// as expired even before the departure's work or the sweep has stored that.
	Abandoned bool

	// ReadByViewer tells whether the viewer for whom the message was loaded has acknowledged it.
	ReadByViewer bool
	// AnsweredByViewer tells whether that viewer has answered the message, if it is a request to a role.
	AnsweredByViewer bool
}

// ForAnother returns the message without what is true only of the viewer for whom it was loaded.
func (m *Message) ForAnother() *Message {
	other := *m
	other.ReadByViewer, other.AnsweredByViewer = false, false
	return &other
}

// Size is how many bytes of a page the message takes up.
func (m *Message) Size() int { return len(m.Payload) + len(m.Metadata) + m.Conversation.Size() }

// Status returns the message's status at a time.
func (m *Message) Status(now time.Time) Status {
	switch {
	case m.Expired(now):
		return StatusExpired
	case !m.ReadAt.IsZero():
		return StatusRead
	}
	return StatusDelivered
}

// ByHuman reports whether a person sent the message.
func (m *Message) ByHuman() bool { return m.Conversation != nil && m.Conversation.Human }

// Key returns the key of the message's channel.
func (m *Message) Key() channels.Key {
	return channels.Key{IntentNo: m.IntentNo, ChannelNo: m.ChannelNo}
}

// ToEveryone reports whether an address means every participant of the channel.
func ToEveryone(target string) bool { return target == "" || target == caller.Broadcast }

// RoleOf returns the role of a role address, or "" for any other address.
func RoleOf(target string) string {
	role, ok := strings.CutPrefix(target, caller.RolePrefix)
	if !ok {
		return ""
	}
	return role
}

// IsAgent reports whether an address names one agent.
func IsAgent(target string) bool { return !ToEveryone(target) && RoleOf(target) == "" }
