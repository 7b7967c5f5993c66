package keys

import (
	"strconv"

	"openintent/fault"
)

// The refusals of this room.
var (
	errNotOperator = fault.New(fault.Denied, "NOT_OPERATOR",
		"Only the operator may do this; call with a key that is not bound to agents, and without X-Agent-ID.")
	errNotFound = fault.New(fault.NotFound, "KEY_NOT_FOUND",
		"The database has no key of that id; keys of the server's configuration are not in it.")
	errEnded = fault.New(fault.Conflict, "KEY_ENDED",
		"The key has expired or was revoked, and stays so; create a new one.")
	errTooMany = fault.New(fault.Quota, "TOO_MANY_KEYS",
		"The database has as many keys as it may; revoke those that nobody needs.")
)

func versionMismatch(current int64) error {
	return fault.New(fault.VersionMismatch, "VERSION_MISMATCH",
		"The key has changed; read it again and base the change on its current version.").
		With("current_version", strconv.FormatInt(current, 10))
}
