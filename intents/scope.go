package intents

import (
	"strings"

	"openintent/caller"
)

// inScope returns an SQL condition on the intent i: it must lie in the scope. It begins with AND, and is empty for everywhere.
func inScope(scope *caller.Scope) (condition string, args []any) {
	switch {
	case scope == nil:
		return "", nil
	case len(scope.Intents) == 0:
		return " AND 1 = 0", nil
	}
	for _, id := range scope.Intents {
		args = append(args, id)
	}
	return " AND i.id IN (?" + strings.Repeat(", ?", len(args)-1) + ")", args
}
