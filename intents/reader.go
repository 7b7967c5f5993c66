package intents

import (
	"slices"
	"strings"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// reader is the agent for which a list of intents, or of events across intents, is read, and the time of reading.
type reader struct {
	agent    string
	operator bool
	// closedWithoutList is true if intents without a list are for related agents only.
	closedWithoutList bool
	now               time.Time
	// scope is where the caller's key works.
	scope *caller.Scope
}

func (s *Service) readerFor(c caller.Caller, now time.Time) reader {
	return reader{
		agent: c.Agent, operator: c.IsOperator, closedWithoutList: s.defaultAccess == PolicyClosed, now: now,
		scope: c.Scope,
	}
}

// way is a way in which intents come into a list, such as one in which they are readable: a table has a row of the intent, with a key in a
// column, if the way names one, and the row meets a further condition, if there is one. The SQL calls the row w. An index has the rows of
// the key, or those that meet the condition, in the order of the intents' numbers.
type way struct {
	table, column string
	further       string // begins with AND
	args          []any
}

// holds returns the condition that a row has the key and meets the further condition.
func (w way) holds(key string) (condition string, args []any) {
	if w.column == "" {
		return strings.TrimPrefix(w.further, " AND "), w.args
	}
	return w.column + " = ?" + w.further, append([]any{key}, w.args...)
}

// numbers returns the query of the numbers of the intents that come this way, at most so many of those that follow a place, in order.
func (w way) numbers(tx *database.Tx, key string, from listPlace, rows int) (query string, args []any) {
	columns := "w.intent_no"
	next := database.Selection{Condition: from.follows(columns), OrderBy: from.by(columns), Args: []any{from.number}}
	if w.column != "" {
		next = tx.Following(w.column, columns, database.Keyed{Key: key, After: from.number, Descending: from.descending})
		columns = w.column + ", " + columns
	}
	args = append(append(next.Args, w.args...), rows)
	return "SELECT intent_no FROM (SELECT DISTINCT " + columns + " FROM " + w.table + " AS w WHERE " + next.Condition + w.further +
		" ORDER BY " + next.OrderBy + " LIMIT ?) AS listed", args
}

// ways returns the ways in which intents are readable for everyone but the operator; the reader is the key. Together they say what
// Rules.Level does in Go: the reader must have at least read access. A test checks that the two agree.
func (r reader) ways() []way {
	now := database.Micros(r.now)
	ways := []way{
		{table: "intents", further: " AND w.default_policy = 'open'"},
		{table: "intents", column: "w.created_by"},
		{table: "assignments", column: "w.agent_id"},
		{
			table: "access_entries", column: "w.principal_id",
			further: " AND w.principal_type <> 'group' AND (w.expires_at IS NULL OR w.expires_at > ?)", args: []any{now},
		},
		{
			table: "coordinators", column: "w.agent_id",
			further: " AND w.status IN ('active', 'completing') AND (w.expires_at IS NULL OR w.expires_at > ?)" +
				" AND w.last_heartbeat_at + 2000000 * w.heartbeat_interval_seconds >= ?",
			args: []any{now, now},
		},
	}
	if !r.closedWithoutList {
		ways = append([]way{{table: "intents", further: " AND w.default_policy IS NULL"}}, ways...)
	}
	return ways
}

// mayRead returns the SQL condition on the intent i that the reader may read it and that it lies in the scope. It begins with AND, and is
// empty for the operator.
func (r reader) mayRead() (condition string, args []any) {
	if r.operator {
		return "", nil
	}
	inScope, args := inScope(r.scope)
	either, of := r.comesBy(r.ways())
	return inScope + " AND " + either, append(args, of...)
}

// isRelated returns the SQL condition on the intent i that the reader has made it or is named in it.
func (r reader) isRelated() (condition string, args []any) {
	return r.comesBy(slices.DeleteFunc(r.ways(), func(w way) bool { return w.column == "" }))
}

// comesBy returns the SQL condition that the intent i comes to the reader in one of some ways.
func (r reader) comesBy(ways []way) (condition string, args []any) {
	var either []string
	for _, way := range ways {
		holds, of := way.holds(r.agent)
		if way.table == "intents" {
			holds = strings.ReplaceAll(holds, "w.", "i.")
		} else {
			holds = "EXISTS (SELECT 1 FROM " + way.table + " AS w WHERE w.intent_no = i.intent_no AND " + holds + ")"
		}
		either, args = append(either, holds), append(args, of...)
	}
	return "(" + strings.Join(either, " OR ") + ")", args
}

// readable returns the query of the numbers of the intents that the reader may read, whatever the scope, at most so many of those that
// follow a place, in order. It looks at no others, and of each way at most so many.
func (r reader) readable(tx *database.Tx, from listPlace, rows int) (query string, args []any) {
	var each []string
	for _, way := range r.ways() {
		query, of := way.numbers(tx, r.agent, from, rows)
		each, args = append(each, query), append(args, of...)
	}
	return strings.Join(each, " UNION ") + " ORDER BY " + from.by("intent_no") + " LIMIT ?", append(args, rows)
}

// countReadable returns the query that counts at most so many of the intents that the reader may read, some of them more than once.
func (r reader) countReadable(rows int) (query string, args []any) {
	var each []string
	for _, way := range r.ways() {
		holds, of := way.holds(r.agent)
		each, args = append(each, "SELECT w.intent_no FROM "+way.table+" AS w WHERE "+holds), append(args, of...)
	}
	return "SELECT count(*) FROM (" + strings.Join(each, " UNION ALL ") + " LIMIT ?) AS n", append(args, rows)
}
