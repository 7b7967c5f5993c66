package leases

import "strings"

const (
	// taskScope begins the scope that names a task; the task's id follows.
	taskScope = "task:"
	// authority begins what follows the scheme in a URI.
	authority = "//"
)

// scopeOf returns the scope that names a task.
func scopeOf(taskID string) string { return taskScope + taskID }

// taskOf returns the id in a scope that names a task. A URI, such as task://ID, is a word like others and names none.
func taskOf(scope string) (taskID string, named bool) {
	taskID, named = strings.CutPrefix(scope, taskScope)
	return taskID, named && !strings.HasPrefix(taskID, authority)
}
