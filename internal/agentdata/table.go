package agentdata

import (
	"slices"
	"strings"
)

// Table says what one table of the schema has of an agent, and what becomes of it.
type Table struct {
	Name string
	// Of is the condition that a row x is of the agent, who stands for each "?". It is empty for a table that has nothing of any agent.
	Of string
	// Listed is a column with a JSON list of agents; rows that list the agent are of it, too. Empty: none.
	Listed string
	// Columns are those that an export shows, each with its form (see forms); one without a form is text. Hidden are all others: the
	// numbers used inside, for which an export shows ids, and secrets.
	Columns, Hidden string

	// Erased says what an erasure takes away; empty: nothing.
	Erased string
	// Stays says why rows stay, or what of them; of a table that has nothing of any agent it says what the table has.
	Stays string
	// change is how rows are erased; nil if a room has a function for them.
	change *change
}

// change is how an erasure changes rows of one intent: a bounded number of those that meet a condition, in the order of a column.
type change struct {
	// where is the condition on a row x.
	where string
	// by is a column with numbers. Few rows have the same.
	by string
	// set are the assignments; empty: the rows are removed, unless text rewrites them.
	set string
	// column is one with JSON that text rewrites; empty: none. changed is false if there is nothing to rewrite.
	column string
	text   func(before []byte) (after []byte, changed bool, err error)
}

// removal removes the agent's rows.
func removal(of, by string) *change { return &change{where: of, by: by} }

// arguments returns the agent as often as a condition asks for it.
func arguments(condition, agentID string) []any {
	return slices.Repeat([]any{agentID}, strings.Count(condition, "?"))
}

// hides reports whether the table has a column that exports do not show.
func (t Table) hides(column string) bool { return slices.Contains(strings.Fields(t.Hidden), column) }
