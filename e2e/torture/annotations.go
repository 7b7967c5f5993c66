package torture

// Reaction is an attempt to add a signal to a message, or to remove one. No two reactions add the same signal, and none removes a
// signal that an unfinished call may still add. So each stored reaction is one annotation.
type Reaction struct {
	// To is the send of the message. It is acknowledged, and not part of an Ask.
	To *Send
	Note
	// Acknowledged is true when the agent knows that the reaction was stored; Refused is true when it knows that the reaction was
	// not. When neither is true, the agent does not know.
	Acknowledged, Refused bool
	// Span reaches from the first attempt to the outcome.
	Span Span
}

// Note is what a reaction's annotation says. No two reactions say the same.
type Note struct {
	MessageID, Channel, Agent, Signal string
	Removed                           bool
}

// Annotation is an annotation as a client saw it.
type Annotation struct {
	Note
	// Position is its place in the intent's log, and also the cursor.
	Position int64
	// Stored is when it was stored, in microseconds; it strictly rises within an intent, together with the messages' times.
	Stored int64
	At     Tick
}
