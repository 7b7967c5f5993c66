package intents

import (
	"strconv"

	"openintent/internal/fault"
)

// The refusals of this room that other rooms match with errors.Is or return themselves.
var (
	// ErrIntentNotFound means that the intent does not exist.
	ErrIntentNotFound = fault.New(fault.NotFound, "INTENT_NOT_FOUND", "There is no such intent; check the id.")
	// ErrIntentEnded refuses changes of an intent that is completed or abandoned.
	ErrIntentEnded = fault.New(fault.Conflict, "INTENT_ENDED",
		"The intent is completed or abandoned and takes no more changes of this kind; create a new intent instead.")
)

var (
	errVersionRequired = fault.New(fault.Invalid, "EXPECTED_VERSION_REQUIRED",
		"The change needs the version it is based on; send expected_version, over REST the If-Match header.")
	errUnmetDependencies = fault.New(fault.Invalid, "UNMET_DEPENDENCIES",
		"An intent can be completed only when everything it depends on and every part of it is completed.")
	errAssignmentNotFound = fault.New(fault.NotFound, "ASSIGNMENT_NOT_FOUND",
		"The agent is not assigned to the intent; list the intent's agents to see who is.")
	errEntryNotFound = fault.New(fault.NotFound, "ACCESS_ENTRY_NOT_FOUND",
		"The intent's access control list has no such entry; check the id.")
	errTooManyEntries = fault.New(fault.Quota, "TOO_MANY_ENTRIES",
		"The intent's access control list has %d entries, the most that one may have; take back those that are not needed "+
			"any more.", maxEntries)
	errEventNotFound = fault.New(fault.NotFound, "EVENT_NOT_FOUND",
		"The intent's log has no such event; check the id.")
	errCoordinatorNotFound = fault.New(fault.NotFound, "COORDINATOR_NOT_FOUND",
		"There is no such coordinator in place; list the intent's coordinators to see them.")
	errCoordinatorExists = fault.New(fault.AlreadyExists, "COORDINATOR_EXISTS",
		"The intent has a coordinator; remove it first, or wait until it has fallen silent.")
	errNotCoordinator = fault.New(fault.Denied, "NOT_COORDINATOR",
		"Only the coordinator itself can send its heartbeat; call as that agent.")
	errCoordinatorEnded = fault.New(fault.Conflict, "COORDINATOR_ENDED",
		"The coordination is over; create a new coordinator instead.")
)

// versionMismatch refuses a change that is not based on the intent's present version.
func versionMismatch(current int64) error {
	return fault.New(fault.VersionMismatch, "VERSION_MISMATCH",
		"The intent has changed since; read it again and repeat the change on its current version.").
		With("current_version", strconv.FormatInt(current, 10))
}
