package message

import (
	"time"

	"openintent/internal/fault"
)

// Refusals that several paths share. Each is a value; a path adds metadata with With.
var (
	ErrMessageNotFound = fault.New(fault.NotFound, "MESSAGE_NOT_FOUND",
		"There is no such message for this caller on this channel; check the message id.")
	ErrNotMember = fault.New(fault.Denied, "NOT_A_MEMBER",
		"This channel is for its listed members only; its creator or the intent's coordinator can add the agent.")
	ErrTargetNotMember = fault.New(fault.Denied, "TARGET_NOT_A_MEMBER",
		"The addressed agent is not a member of this channel; add it to the members first or address a member.")
	ErrTargetWithoutAccess = fault.New(fault.Denied, "TARGET_WITHOUT_ACCESS",
		"The addressed agent has no access to the intent and would never see the message; grant it access first.")
	ErrRefused = fault.New(fault.Denied, "REFUSED",
		"The addressed agent takes no messages that this sender addresses to it; only the agent itself or the operator can allow them again.")
	ErrChannelClosed = fault.New(fault.Conflict, "CHANNEL_CLOSED",
		"The channel is closed and takes no more messages; use an open channel of an intent that has not ended.")
	ErrIntentEnded = fault.New(fault.Conflict, "INTENT_ENDED",
		"The intent has reached a terminal status and takes no more messages.")
	ErrMessageExpired = fault.New(fault.Conflict, "MESSAGE_EXPIRED",
		"The message has expired; it can no longer be answered, acknowledged or edited.")
	ErrMessageDeleted = fault.New(fault.Conflict, "MESSAGE_DELETED",
		"The message was deleted; it can no longer be answered, claimed or edited.")
	ErrNotARequest = fault.New(fault.Invalid, "NOT_A_REQUEST",
		"Only a message of type request can be answered; send a notify instead.")
	ErrOwnRequest = fault.New(fault.Denied, "OWN_REQUEST",
		"A request is answered by its recipients, not by its sender.")
	ErrNotTheAsker = fault.New(fault.Denied, "NOT_THE_ASKER",
		"Only the sender of a request may await its responses; answer it with a reply instead.")
	ErrOwnMessage = fault.New(fault.Denied, "OWN_MESSAGE",
		"A message is acknowledged by its recipients, not by its sender.")
	// ErrCursorBeyondLog ends a stream, or refuses to begin one, whose position lies beyond the end of the log.
	ErrCursorBeyondLog = fault.New(fault.Conflict, "CURSOR_BEYOND_LOG",
		"The log ends before this stream's position: the position is wrong, or the database has lost messages; "+
			"begin again without a position, and list the messages since a time.")
	// ErrEventsRemoved ends a stream that would skip logged events which the server has removed, or refuses to begin one. It is completed
	// with the position of the last of them.
	ErrEventsRemoved = fault.New(fault.Conflict, "EVENTS_REMOVED",
		"Logged events after this stream's position are older than the server keeps, and were removed; begin at removed_through or later, "+
			"at 0 to get all that is left, or follow messages only.")
	ErrKeyReused = fault.New(fault.AlreadyExists, "IDEMPOTENCY_KEY_REUSED",
		"This idempotency key was used for a different message; use a new key for a new message.")
	// ErrTimeout is completed with what the server knows of the silence (messaging/silence.go).
	ErrTimeout = fault.New(fault.TimedOut, "MESSAGE_TIMEOUT",
		"No response came before the time ran out; the request has expired.")
	ErrQueueFull = fault.New(fault.Unavailable, "WRITE_QUEUE_FULL",
		"The server has as many unwritten messages as it can hold; try again in a moment.").After(100 * time.Millisecond)
	ErrKeyQueueFull = fault.New(fault.Quota, "KEY_QUEUE_FULL",
		"Too many messages of this API key wait to be stored; wait for answers, or try again in a moment.").After(100 * time.Millisecond)
	ErrIntentBusy = fault.New(fault.Unavailable, "INTENT_BUSY",
		"Another server keeps this intent locked; the message was not stored, so try again in a moment.").After(time.Second)
	ErrStopping = fault.New(fault.Unavailable, "SERVER_STOPPING",
		"The server is stopping; connect again and repeat the call.").After(time.Second)
	ErrOutcomeUnknown = fault.New(fault.Unavailable, "OUTCOME_UNKNOWN",
		"The database went away while the message was being stored; repeat the call with the same idempotency key.").After(time.Second)
	ErrAnswersUnknown = fault.New(fault.Unavailable, "DATABASE_UNAVAILABLE",
		"The database went away during the wait; await the responses to the request again.").After(time.Second)
	ErrCorrelationUnknown = fault.BadField("correlation_id",
		"there is no such request for this caller on this channel; give the id of a request it received")
)
