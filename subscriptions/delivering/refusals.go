package delivering

import "openintent/internal/fault"

// ErrChannelClosed ends whoever receives from a channel in which nothing will follow.
var ErrChannelClosed = fault.New(fault.Conflict, "CHANNEL_CLOSED",
	"The subscription's channel is closed and has nothing left to deliver; nothing more will come.")
