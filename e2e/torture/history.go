package torture

// Tick is a moment of the test's process. Of two ticks the lower one came first.
type Tick int64

// forever is later than every moment.
const forever = Tick(1) << 62

// Span is the time of a call, from before it began to after it ended. The zero Span lies before everything.
type Span struct{ Begun, Ended Tick }

// History is what clients recorded, and what they had been allowed.
type History struct {
	// Intents and Channels are by id.
	Intents  map[string]Intent
	Channels map[string]Channel
	Rights   []Right

	Sends     []*Send
	Asks      []*Ask
	Receivers []*Receiver
	Logs      []Log
	// Timings are of sends that should be on time whatever happens elsewhere; Disturbances excuse some.
	Timings      []Timing
	Disturbances []Disturbance
	// Freezes are the times in which a replica stood still and did not know it.
	Freezes []Span
	// Problems are failures that no client should have met, in words.
	Problems []string
}

// Intent is where channels are. Whoever wants to see anything of a restricted one needs the right Access.
type Intent struct{ Restricted bool }

// Channel is where messages are sent. On an explicit one only members see anything.
type Channel struct {
	Intent            string
	Explicit, Audited bool
}

// Message is a message, or a logged event, as a client saw it. Nothing in it ever changes, so all who see it see the same.
type Message struct {
	ID, Intent string
	// Channel is empty for a logged event.
	Channel  string
	Sender   string
	To, Kind string
	// Answers is the request's id, for a response.
	Answers string
	// Content is what the sender said. No two sends say the same.
	Content string
	// At is when it was stored, in microseconds; it strictly rises within an intent.
	At int64
}

// Kinds of messages.
const (
	Request   = "request"
	Response  = "response"
	Notify    = "notify"
	Broadcast = "broadcast"
	// LoggedEvent is an event that an agent appended to an intent's log.
	LoggedEvent = "event"
)

// everyone is the target of what is for all participants.
const everyone = "*"

// Send is an attempt to send a message, repeated under its idempotency key or not, or to append an event. A request that is
// not an Ask is answered by nobody and never expires, so it stays open.
type Send struct {
	Sender, Intent, Channel, To, Kind string
	// Answers is the request's id, for a response.
	Answers string
	Content string
	// ID is the message's, as far as the sender learned it.
	ID string
	// Acknowledged is true when the sender knows that the message was stored; Refused when it knows that it was not. With
	// neither, the sender does not know.
	Acknowledged, Refused bool
	// Span reaches from the first attempt to the outcome.
	Span Span
}

// Ask is a question with what came of it. Its Send is acknowledged when an answer came: an unanswered question may expire
// before anybody saw it.
type Ask struct {
	Send
	// All is true when all answers of the whole time were asked for.
	All bool
	// Complete is true when the asker was told that there are no other answers: its time ran out, or it got all.
	Complete bool
	Answers  []*Message
}

// Guarantee is what a way to receive promises.
type Guarantee int

const (
	// Once is for cursors that the client keeps: each message comes once, in order.
	Once Guarantee = iota
	// AtLeastOnce is for deliveries that are acknowledged by number: an attempt may be lost and made again later.
	AtLeastOnce
	// InOrder is AtLeastOnce where nothing follows before its forerunner in the channel was taken.
	InOrder
	// State is for what waits, oldest first: until it is marked as read or, a request, until it is answered. Whoever gains a
	// right sees the open requests too that were sent before.
	State
)

// Receiver is a client that follows something by one transport, over as many connections as it takes.
type Receiver struct {
	Name      string
	Transport string
	Guarantee Guarantee
	// Agent is whose eyes it has; Operator is true for the operator's, which see everything.
	Agent    string
	Operator bool
	// Intent and Channel are what it follows. With neither it is what reaches the agent.
	Intent, Channel string
	// From is when it began to follow: it misses nothing whose sending began later. Events is true when it gets logged
	// events too.
	From        Tick
	Events      bool
	Connections []*Connection
	// Done are the deliveries that the server knows to be done with.
	Done []Done
}

// Connection is one stream, fetch or page.
type Connection struct {
	Begun Tick
	// After is the cursor it went on from.
	After      int64
	Deliveries []Delivery
}

// Delivery is something received.
type Delivery struct {
	Message *Message
	// Cursor is the position, or the delivery's number; 0 where there is none.
	Cursor int64
	// Backfill is true for an open request from behind the cursor.
	Backfill bool
	// Attempt counts attempts from 1; 0 where it is not told.
	Attempt int
	// EventID is the delivery's identity where the transport has one of its own.
	EventID string
	// Logged is the log's copy that came with an audited message.
	Logged *Message
	At     Tick
}

// Done says that the server confirmed, at a moment, that a delivery is done with: by its number, or by the message's id.
type Done struct {
	Cursor int64
	ID     string
	At     Tick
}

// Log is an intent's log at the end.
type Log struct {
	Intent string
	// Broken says what the server's own verification found; empty when the chain holds.
	Broken string
	Events []Event
}

// Event is an entry of a log.
type Event struct {
	ID       string
	Sequence int64
	// Message is the message whose copy this is; nil for others.
	Message        *Message
	Previous, Hash string
}
