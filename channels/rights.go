package channels

import (
	"time"

	"openintent/caller"
	"openintent/fault"
	"openintent/intents"
)

// Manages tells whether the acting agent may change, close and delete the channel: its creator or the intent's
// coordinator, with read access to the intent, or the operator. Being admin of the intent does not suffice.
func (r *Rules) Manages(acting string, operator bool, access *intents.Rules, now time.Time) bool {
	if operator {
		return true
	}
	if access.Level(acting, false, now) < intents.PermissionRead {
		return false
	}
	return acting == r.CreatedBy || access.Coordinates(acting, now)
}

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
