// Package tasks keeps the tasks of intents (RFC-0012), as far as channels need them: a channel that is scoped to a task
// closes when the task ends.
//
// # Lifecycle
//
//	pending --> ready --> claimed --> running --> completed
//	   |          ^  \                ^  |  ^ \
//	   v          |   +---------------+  |  |  +--> blocked --> running
//	skipped       |                      v
//	              +------------------- failed
//
//	claimed --> completed          without saying that it runs
//	all but the ended --> cancelled
//
// A task with dependencies is pending until all of them are completed or skipped; the transaction that ends the last one
// makes it ready. Completed, cancelled and skipped are final, and so is failed once all attempts are used; before that a
// failed task may become ready again, free for any agent. An attempt counts when the task begins to run.
//
// # What holds
//
// Every change locks the head of the task's intent first and decides after that; so at most one of two agents that claim
// a task gets it. Each transition is one event in the intent's log, stored in the same transaction; a change that is no
// transition (output noted on the way, another agent assigned) logs nothing. Dependencies name earlier tasks of the same
// intent and never change, so there are no circles.
//
// Reading needs read access to the intent, and every change write access. A task that an agent has is that agent's to
// change, besides administrators of the intent and the operator. A task that nobody has is anybody's to take on; to cancel
// it, to skip it or to give it to another agent takes write access that somebody gave. After the intent has ended no tasks are made, but those
// there are may be brought to their end.
//
// # What happens on failure
//
// A hook that fails undoes the change that it belongs to. There is no work of the server's own here: nothing ends a task
// that nobody ends, and timeout_seconds is passed on to those who work on it.
package tasks
