package torture

// Tick is a moment of the test's process. The lower of two ticks came first.
type Tick int64

// forever is later than every moment.
const forever = Tick(1) << 62

// Span is the time of a call, from before it began to after it ended. The zero Span lies before everything.
type Span struct{ Begun, Ended Tick }

// History contains everything that clients recorded, and the rights that they had.
type History struct {
	// Intents and Channels are keyed by id.
	Intents  map[string]Intent
	Channels map[string]Channel
	Rights   []Right

	Sends     []*Send
	Asks      []*Ask
	Reactions []*Reaction
	Receivers []*Receiver
	Logs      []Log
	// Timings contains sends that should be on time whatever happens elsewhere. Disturbances excuse some of them.
	Timings      []Timing
	Disturbances []Disturbance
	// Stays are the times in which agents that come and go were there, and Sightings the times at which a replica called one of them live.
	Stays     []Stay
	Sightings []Sighting
	// Freezes contains the times in which a replica stood still without noticing it.
	Freezes []Span
	// Problems describes failures that no client should have met.
	Problems []string
}

// Intent contains channels. To see anything of a restricted intent, an agent needs the right Access.
type Intent struct{ Restricted bool }

// Channel is a place for messages. Only members see anything on an explicit channel.
type Channel struct {
	Intent            string
	Explicit, Audited bool
}

// Message is a message, or a logged event, as a client saw it. Nothing in it ever changes, so everyone who sees it
// sees the same fields.
type Message struct {
	ID, Intent string
	// Channel is empty for a logged event.
	Channel  string
	Sender   string
	To, Kind string
	// Answers is the request's id, for a response.
	Answers string
	// Content is the sender's text. No two sends have the same content.
	Content string
	// At is when the message was stored, in microseconds; it strictly rises within an intent.
	At int64
}

// These are the kinds of messages.
const (
	Request   = "request"
	Response  = "response"
	Notify    = "notify"
	Broadcast = "broadcast"
	// LoggedEvent is an event that an agent appended to an intent's log.
	LoggedEvent = "event"
)

// everyone is the target of messages for all participants.
const everyone = "*"

// Send is an attempt to send a message or to append an event. A send may be repeated under an idempotency key. A
// request that is not an Ask is answered by nobody and never expires, so it stays open.
type Send struct {
	Sender, Intent, Channel, To, Kind string
	// Answers is the request's id, for a response.
	Answers string
	Content string
	// ID is the message's id, if the sender learned it.
	ID string
	// Acknowledged is true when the sender knows that the message was stored; Refused is true when it knows that the
	// message was not. When neither is true, the sender does not know.
	Acknowledged, Refused bool
	// Unwelcome is true when an attempt was refused because the agent that it is addressed to refuses its sender.
	Unwelcome bool
	// Span reaches from the first attempt to the outcome.
	Span Span
}

// Ask is a question with its outcome. Its Send is acknowledged only when an answer came, because an unanswered question may
// expire before anyone saw it.
type Ask struct {
	Send
	// All is true when the asker wanted all answers within the time.
	All bool
	// Complete is true when the asker was told that there are no other answers: its time ran out, or it got all of
	// them.
	Complete bool
	Answers  []*Message
}

// Guarantee is the promise of one way to receive.
type Guarantee int

const (
	// Once is for cursors that the client keeps: each message arrives once, in order.
	Once Guarantee = iota
	// AtLeastOnce is for deliveries that are acknowledged by number: an attempt may be lost and made again later.
	AtLeastOnce
	// InOrder is AtLeastOnce with one more rule: nothing follows before the previous message of the channel was
	// taken.
	InOrder
	// State is for waiting messages, oldest first. A message waits until it is marked as read, and a request until it is
	// answered. An agent that gains a right also sees the open requests that were sent before.
	State
)

// Receiver is a client that follows something by one transport, over as many connections as it takes.
type Receiver struct {
	Name      string
	Transport string
	Guarantee Guarantee
	// Agent is the agent whose rights it has; Operator is true for the operator's receivers, which see everything.
	Agent    string
	Operator bool
	// Intent and Channel are what it follows. When both are empty it follows everything that reaches the agent.
	Intent, Channel string
	// Annotations is true when it asked for annotations too. Only receivers with the guarantee Once that follow a channel or an
	// intent do so.
	Annotations bool
	// From is when the receiver began to follow. It must get every message whose sending began later. Events is true when it
	// also gets logged events.
	From        Tick
	Events      bool
	Connections []*Connection
	// Done contains the deliveries that are finished according to the server.
	Done []Done
}

// Connection is one stream, fetch or page.
type Connection struct {
	Begun Tick
	// After is the cursor at which it continued.
	After      int64
	Deliveries []Delivery
	// Annotations are the annotations that came between the deliveries; their ticks tell where.
	Annotations []Annotation
}

// Delivery is something that a receiver received.
type Delivery struct {
	Message *Message
	// Cursor is the position, or the delivery's number; it is 0 if there is none.
	Cursor int64
	// Backfill is true for an open request from before the cursor.
	Backfill bool
	// Attempt counts attempts from 1; it is 0 if the transport does not report it.
	Attempt int
	// EventID is the delivery's id if the transport has a separate one.
	EventID string
	// Logged is the log's copy that arrived with an audited message.
	Logged *Message
	At     Tick
}

// Done records that the server confirmed, at a moment, that a delivery is finished: by its number, or by the
// message's id.
type Done struct {
	Cursor int64
	ID     string
	At     Tick
}

// Log is an intent's log at the end.
type Log struct {
	Intent string
	// Broken describes what the server's verification found; it is empty when the chain is intact.
	Broken string
	Events []Event
}

// Event is an entry of a log.
type Event struct {
	ID       string
	Sequence int64
	// Message is the message that this event copies, or nil for other events.
	Message        *Message
	Previous, Hash string
}
