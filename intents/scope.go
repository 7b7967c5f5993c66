package intents

import (
	"strings"

	"openintent/internal/caller"
	"openintent/internal/database"
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

// scoped returns the query of the numbers of the scope's intents, at most so many of those that follow a place. The sum keeps the planner
// from going through all intents instead.
func (r reader) scoped(_ *database.Tx, from listPlace, rows int) (query string, args []any) {
	condition, args := inScope(r.scope)
	return "SELECT i.intent_no FROM intents AS i WHERE 1 = 1" + condition + " AND " + from.follows("i.intent_no + 0") + " ORDER BY " + from.by("i.intent_no + 0") + " LIMIT ?",
		append(args, from.number, rows)
}
