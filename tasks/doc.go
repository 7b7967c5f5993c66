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
// Every change locks the head of the task's intent first and decides after that. So if two agents claim a task, at most one
// gets it. Each transition is one event in the intent's log, stored in the same transaction. A change that is not a transition
// (such as an intermediate output or a new assignment) logs nothing. Dependencies name earlier tasks of the same intent and
// never change, so there are no cycles.
//
// Reading needs read access to the intent, and every change needs write access. Only the agent that has a task may change it,
// besides administrators of the intent and the operator. Anybody with write access may take on a task that nobody has; to
// cancel it, to skip it or to give it to another agent, a caller needs write access that somebody gave. After the intent has
// ended, nobody can create tasks in it, but its existing tasks can still be finished.
//
// # What happens on failure
//
// A hook that fails undoes the change that it belongs to. The server does nothing here by itself: it never ends a task
// that no caller ends, and it only passes timeout_seconds on to the agents that work on the task.
package tasks
