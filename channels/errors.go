package channels

import (
	"time"

	"openintent/caller"
	"openintent/fault"
	"openintent/intents"
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

// requireManager refuses whoever does not manage the channel: without read access to the intent as any call on it is
// refused, and otherwise in the same form, since no level of access makes a manager.
func (r *Rules) requireManager(c caller.Caller, access *intents.Rules, now time.Time) error {
	if err := access.Require(c, c.Agent, intents.PermissionRead, now); err != nil {
		return err
	}
	if r.Manages(c.Agent, c.IsOperator, access, now) {
		return nil
	}
	return fault.New(fault.Denied, "FORBIDDEN",
		"Only the channel's creator, the intent's coordinator and the operator may change this channel.").
		With("required_permission", "channel_manager").
		With("current_permission", access.Level(c.Agent, false, now).String()).
		With("access_request_url", "/v1/intents/"+r.IntentID+"/access-requests")
}
