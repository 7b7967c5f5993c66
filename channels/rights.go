package channels

import (
	"time"

	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// Manages reports whether the acting agent may change, close and delete the channel. The channel's creator and the intent's
// coordinator may, if they have read access to the intent, and the operator may. Admin access to the intent does not suffice. A
// guest never may.
func (r *Rules) Manages(acting string, operator bool, access *intents.Rules, now time.Time) bool {
	if operator {
		return true
	}
	if caller.IsGuest(acting) {
		return false
	}
	if access.Level(acting, false, now) < intents.PermissionRead {
		return false
	}
	return acting == r.CreatedBy || access.Coordinates(acting, now)
}

// RequireManager refuses a caller that does not manage the channel. Without read access to the intent, the caller gets the
// refusal of any call on the intent. Otherwise it gets a refusal of the same form that requires channel_manager, because no
// level of access makes a manager. Nobody manages the channel in which the server alone writes.
func (r *Rules) RequireManager(c caller.Caller, access *intents.Rules, now time.Time) error {
	if !caller.IsGuest(c.Agent) {
		if err := access.Require(c, c.Agent, intents.PermissionRead, now); err != nil {
			return err
		}
	}
	if r.Reserved() {
		return ErrReserved
	}
	if r.Manages(c.Agent, c.IsOperator, access, now) {
		return nil
	}
	return fault.New(fault.Denied, "FORBIDDEN",
		"Only the channel's creator, the intent's coordinator and the operator may change this channel.").
		With("required_permission", "channel_manager").
		With("current_permission", access.Level(c.Agent, false, now).String())
}
