package agents

import (
	"strconv"

	"openintent/internal/fault"
)

// The refusals of this room.
var (
	// ErrNotFound means that no agent with that id ever registered.
	ErrNotFound = fault.New(fault.NotFound, "AGENT_NOT_FOUND", "No agent of that id is registered.")
	// ErrExists refuses to register an agent that is present already.
	ErrExists = fault.New(fault.AlreadyExists, "AGENT_EXISTS",
		"The agent is registered already; it must deregister, or update its record, before it can register anew.")
	// ErrGone refuses the heartbeat of an agent that has left.
	ErrGone = fault.New(fault.Gone, "AGENT_GONE", "The agent is deregistered; register it again.")

	// errEndpointOutOfScope keeps a key with a scope from having posted to it what other keys of the agent subscribed to.
	errEndpointOutOfScope = fault.New(fault.Denied, "OUT_OF_SCOPE",
		"Everything that reaches the agent may be posted to its endpoint, and the API key is for some intents or channels; "+
			"give a subscription a webhook_url instead.")
	errPartOutOfScope = fault.New(fault.Denied, "OUT_OF_SCOPE",
		"The API key is for other intents or for channels, and takes_part_in names an intent; leave it out, or use a key for that intent.")
	errRoleNotAllowed = fault.New(fault.Denied, "ROLE_NOT_ALLOWED", "The key does not list this role; register without it, or have the role listed with the key.")
)

func invalidTransition(from, to Status) error {
	if !from.Present() {
		return fault.New(fault.Invalid, "INVALID_TRANSITION",
			"The agent is %s and cannot become %s; register it again.", from, to)
	}
	return fault.New(fault.Invalid, "INVALID_TRANSITION", "An agent that is %s cannot become %s.", from, to)
}

func versionMismatch(current int64) error {
	return fault.New(fault.VersionMismatch, "VERSION_MISMATCH",
		"The agent has changed; read it again and base the change on its current version.").
		With("current_version", strconv.FormatInt(current, 10))
}
