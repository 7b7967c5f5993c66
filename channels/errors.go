package channels

import (
	"openintent/internal/fault"
)

// The refusals of this room. A copy with metadata still matches them by errors.Is.
var (
	// ErrChannelNotFound means that the channel does not exist or is deleted.
	ErrChannelNotFound = fault.New(fault.NotFound, "CHANNEL_NOT_FOUND", "There is no such channel.")
	// ErrChannelClosed refuses a change of a closed channel.
	ErrChannelClosed = fault.New(fault.Conflict, "CHANNEL_CLOSED",
		"The channel is closed and never opens again; create another one.")
	// ErrNameTaken carries the metadata channel_id of the open channel that has the name.
	ErrNameTaken = fault.New(fault.AlreadyExists, "CHANNEL_NAME_TAKEN",
		"An open channel of this intent has that name; use that channel or choose another name.")
	// ErrTaskEnded refuses a new channel in a task that has ended.
	ErrTaskEnded = fault.New(fault.Conflict, "TASK_ENDED",
		"The task has ended and takes no new channels; choose another task or none.")
)
