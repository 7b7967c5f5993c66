package replay

import (
	"time"

	openintentv1 "openintent/gen/openintent/v1"
)

// Result is how attention judges what one agent received in an intent.
type Result struct {
	IntentID string
	Agent    string
	Rules    Rules
	// Messages are in the order of the log.
	Messages []*Message
	Totals   Totals
}

// Message is one delivery to the agent, and how it is judged.
type Message struct {
	// Position is the message's place in the intent's log.
	Position  int64
	ID        string
	ChannelID string
	// Channel is the channel's name.
	Channel, Sender string
	// To is empty for everyone.
	To        string
	Type      openintentv1.MessageType
	Subject   string
	CreatedAt time.Time

	Directedness openintentv1.Directedness
	Policy       openintentv1.ResponsePolicy
	Injection    openintentv1.Injection
	Reason       string
	// Disposition is what the agent did with it in the end; empty if it did nothing that the log knows of.
	Disposition string
	// Characters is how long its subject and its payload are.
	Characters int
}

// asks reports whether something is to be done with the message, if only to take note of it.
func (m *Message) asks() bool {
	return m.Policy != openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND
}

// NeverDisposed reports whether the message asks something of the agent and the agent has done nothing with it.
func (m *Message) NeverDisposed() bool { return m.asks() && m.Disposition == "" }

// Totals are what the agent got in all.
type Totals struct {
	Messages int `json:"messages"`
	// FullDeliveries are deliveries of whole messages that interrupt or wait for the next pause. Several messages may come in one.
	FullDeliveries int `json:"full_deliveries"`
	// Full, Knocks, Digested and Mailbox say how many messages come whole, as a knock, in a summary, and not at all unless fetched.
	Full     int `json:"full"`
	Knocks   int `json:"knocks"`
	Digested int `json:"digested"`
	Mailbox  int `json:"mailbox"`
	// Digests is how many summaries come.
	Digests int `json:"digests"`
	// MustRespond, MayRespond, AckOnly and MustNotRespond count the messages by policy, and Braked those that a brake holds back.
	MustRespond    int `json:"must_respond"`
	MayRespond     int `json:"may_respond"`
	AckOnly        int `json:"ack_only"`
	MustNotRespond int `json:"must_not_respond"`
	Braked         int `json:"braked"`
	// NeverDisposed counts the messages that ask something and that the agent never disposed of, and MustRespondNeverDisposed those
	// among them that must be answered.
	NeverDisposed            int        `json:"never_disposed"`
	MustRespondNeverDisposed int        `json:"must_respond_never_disposed"`
	Characters               Characters `json:"characters"`
}

// Characters say how much is delivered and shown, in characters of subjects and payloads, knocks and digests.
type Characters struct {
	// Whole is what all messages have. Delivered is less where digests take the place of messages. Shown is what a harness that follows
	// attention puts before its model: full messages, knocks and digests.
	Whole     int `json:"whole"`
	Delivered int `json:"delivered"`
	Shown     int `json:"shown"`
}

// loopBrake is the reason of what the loop brake holds back.
const loopBrake = "loop_brake"

// count adds what a message is by itself.
func (t *Totals) count(m *Message) {
	t.Messages++
	t.Characters.Whole += m.Characters
	*map[openintentv1.ResponsePolicy]*int{
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND:     &t.MustRespond,
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND:      &t.MayRespond,
		openintentv1.ResponsePolicy_RESPONSE_POLICY_ACK_ONLY:         &t.AckOnly,
		openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND: &t.MustNotRespond,
	}[m.Policy]++
	if m.Reason == loopBrake {
		t.Braked++
	}
}
