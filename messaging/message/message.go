package message

import (
	"strings"
	"time"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/jsonvalue"
)

// Type is what a message is for (RFC-0021 section 2.3).
type Type string

// The message types.
const (
	TypeRequest   Type = "request"
	TypeResponse  Type = "response"
	TypeNotify    Type = "notify"
	TypeBroadcast Type = "broadcast"
)

// Status is how far a message came (RFC-0021 section 2.5). `pending` is not among them: a message is acknowledged and
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
	// Position is the place in the intent's log, Ordinal the place in the channel.
	Position, Ordinal int64

	ID, ChannelID string
	Sender        string
	// Target is the address as sent: an agent, role:<role_id>, "*", or empty, which means everyone as "*" does.
	Target string
	Type   Type
	// CorrelationPosition and CorrelationID name a response's request.
	CorrelationPosition int64
	CorrelationID       string
	Payload, Metadata   jsonvalue.Object

	CreatedAt, ExpiresAt time.Time
	// ReadAt is the first acknowledgement by any recipient.
	ReadAt time.Time
	// EndedAt is set once expiry was made lasting.
	EndedAt time.Time
	// Open is true for a request that is neither answered nor expired for good.
	Open bool
	// AnsweredAt is when a request to a role was first answered; zero for one that was not, and for any other message.
	AnsweredAt time.Time
	// Abandoned is true for an open request whose addressee left after it was sent, or whose channel has closed: it counts
	// as expired, whether or not the departure's work or the channel's sweep has reached it.
	Abandoned bool

	// ReadByViewer tells whether the viewer for whom the message was loaded has acknowledged it.
	ReadByViewer bool
	// AnsweredByViewer tells of a request to a role whether that viewer has answered it.
	AnsweredByViewer bool
}

// ForAnother gives the message as it is for somebody else than whom it was loaded for.
func (m *Message) ForAnother() *Message {
	other := *m
	other.ReadByViewer, other.AnsweredByViewer = false, false
	return &other
}

// Size is how much of a page the message takes up, in bytes.
func (m *Message) Size() int { return len(m.Payload) + len(m.Metadata) }

// Expired tells whether the message's time ran out before it was read (a request's: answered), judged by time and not
// by whether a sweeper came by.
func (m *Message) Expired(now time.Time) bool {
	switch {
	case !m.EndedAt.IsZero() || m.Abandoned:
		return true
	case !m.PastExpiry(now):
		return false
	case m.Type == TypeRequest:
		return m.Open
	}
	return m.ReadAt.IsZero()
}

// Status gives the status at a time.
func (m *Message) Status(now time.Time) Status {
	switch {
	case m.Expired(now):
		return StatusExpired
	case !m.ReadAt.IsZero():
		return StatusRead
	}
	return StatusDelivered
}

// Answerable tells whether a reply may still be stored. After expires_at it may not, even to an answered request.
func (m *Message) Answerable(now time.Time) bool {
	return !m.Expired(now) && !m.PastExpiry(now)
}

// AbandonedBy tells whether an open request is to an agent that has departed since it was sent: nobody can answer it then
// (RFC-0021 section 7.2).
func (m *Message) AbandonedBy(addressee agents.Presence) bool {
	return m.Open && IsAgent(m.Target) && !m.CreatedAt.After(addressee.DepartedAt)
}

// PastExpiry tells whether the message's time has run out, whatever became of it before.
func (m *Message) PastExpiry(now time.Time) bool {
	return !m.ExpiresAt.IsZero() && !now.Before(m.ExpiresAt)
}

// Key gives the key of the message's channel.
func (m *Message) Key() channels.Key {
	return channels.Key{IntentNo: m.IntentNo, ChannelNo: m.ChannelNo}
}

// ToEveryone tells whether an address means every participant of the channel.
func ToEveryone(target string) bool { return target == "" || target == caller.Broadcast }

// RoleOf gives the role of a role address, or "" for any other address.
func RoleOf(target string) string {
	role, ok := strings.CutPrefix(target, caller.RolePrefix)
	if !ok {
		return ""
	}
	return role
}

// IsAgent tells whether an address names one agent.
func IsAgent(target string) bool { return !ToEveryone(target) && RoleOf(target) == "" }
