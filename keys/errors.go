package keys

import (
	"strconv"

	"openintent/internal/fault"
)

// The refusals of this room.
var (
	errNotOperator = fault.New(fault.Denied, "NOT_OPERATOR",
		"Only the operator may do this; call with a key that is not bound to agents, and without X-Agent-ID.")
	errNotFound = fault.New(fault.NotFound, "KEY_NOT_FOUND",
		"The database has no key of that id; keys of the server's configuration are not in it.")
	errEnded = fault.New(fault.Conflict, "KEY_ENDED",
		"The key has expired or was revoked, and stays so; create a new one.")
	errInviteEnded = fault.New(fault.Conflict, "INVITE_ENDED",
		"The invite has expired or was revoked, and stays so; make a new one.")
	errInviteNotFound = fault.New(fault.NotFound, "INVITE_NOT_FOUND", "The channel has no invite of that id.")
	// ErrNameTaken refuses a guest the name of another.
	ErrNameTaken = fault.New(fault.AlreadyExists, "AGENT_NAME_TAKEN",
		"A guest has or had this name, and no name is given twice; choose another one.")
	errUsedUp = fault.New(fault.Denied, "INVITE_USED_UP",
		"As many guests as may have come with this invite; act as one of them, or ask for another invite.")
	errTooManyInvites = fault.New(fault.Quota, "TOO_MANY_INVITES",
		"The invites that are accepted let in as many guests as they may; revoke those that nobody needs.")
	errTooMany = fault.New(fault.Quota, "TOO_MANY_KEYS",
		"The database has as many keys as it may; revoke those that nobody needs.")
)

func versionMismatch(current int64) error {
	return fault.New(fault.VersionMismatch, "VERSION_MISMATCH",
		"The key has changed; read it again and base the change on its current version.").
		With("current_version", strconv.FormatInt(current, 10))
}
