package channels

import (
	"openintent/fault"
)

// Refusals of this room. Those with metadata still match these by errors.Is.
var (
	// ErrChannelNotFound is an absent or deleted channel.
	ErrChannelNotFound = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND", "There is no such channel.")
	// ErrChannelClosed is a change that a closed channel does not take.
	ErrChannelClosed = fault.New(fault.Conflict, "CHANNEL_CLOSED",
		"The channel is closed and never opens again; create another one.")
	// ErrNameTaken carries the metadata channel_id of the open channel that has the name.
	ErrNameTaken = fault.New(fault.AlreadyExists, "CHANNEL_NAME_TAKEN",
		"An open channel of this intent has that name; use that channel or choose another name.")
	// ErrTaskEnded is a channel asked for in a task that is over.
	ErrTaskEnded = fault.New(fault.Conflict, "TASK_ENDED",
		"The task has ended and takes no new channels; choose another task or none.")
)
