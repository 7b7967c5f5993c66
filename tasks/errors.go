package tasks

import (
	"strconv"

	"openintent/internal/fault"
)

// ErrNotFound means that the task does not exist.
var ErrNotFound = fault.New(fault.NotFound, "TASK_NOT_FOUND", "There is no such task; check the id.")

var (
	errVersionRequired = fault.New(fault.PreconditionRequired, "EXPECTED_VERSION_REQUIRED",
		"The change needs the version it is based on; send expected_version, over REST the If-Match header.")
	errNothingGiven = fault.New(fault.Invalid, "NOTHING_TO_CHANGE", "The request names nothing to change.")
	errNotAssigned  = fault.New(fault.Denied, "TASK_NOT_ASSIGNED",
		"Another agent has the task; only that agent, an administrator of the intent or the operator may change it.")
	errNotReady = fault.New(fault.Conflict, "TASK_NOT_READY", "The task is not ready; only a ready task can be claimed.")
	errEnded    = fault.New(fault.Conflict, "TASK_ENDED", "The task has ended and does not change any more.")
	errUnmet    = fault.New(fault.Invalid, "UNMET_DEPENDENCIES",
		"The task becomes ready by itself once all tasks that it depends on are completed or skipped.")
)

// invalidTransition refuses a transition that the lifecycle does not know.
func invalidTransition(t *Task, next Status) error {
	if t.Ended() {
		return fault.New(fault.Invalid, "INVALID_TRANSITION", "The task is %s, which is final.", t.Status)
	}
	return fault.New(fault.Invalid, "INVALID_TRANSITION", "A task that is %s cannot become %s.", t.Status, next)
}

// versionMismatch refuses a change that is not based on the task's present version.
func versionMismatch(current int64) error {
	return fault.New(fault.VersionMismatch, "VERSION_MISMATCH",
		"The task has changed since; read it again and repeat the change on its current version.").
		With("current_version", strconv.FormatInt(current, 10))
}

// notOfIntent refuses a reference to anything but a task of the same intent.
func notOfIntent(field string) error {
	return fault.BadField(field, "must be a task of the same intent.")
}
