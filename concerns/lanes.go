package concerns

import (
	"slices"

	"openintent/internal/database"
)

// seeking returns a lane whose statement seeks the rows after a place in their order, and reads a limited number of them. scan reads a row;
// its candidate is nil if the row is none for this caller.
func seeking(
	kind int64, statement func(after place, limit int) (sql string, args []any), scan func(database.Row) (place, *candidate, error),
) *lane {
	return &lane{kind: kind, read: func(after place, limit int) (database.Statement, func() portion) {
		sql, args := statement(after, limit)
		found := portion{through: after}
		return database.Statement{SQL: sql, Args: args, Scan: func(row database.Row) error {
				at, c, err := scan(row)
				found.rows++
				found.through = at
				if c != nil && err == nil {
					found.candidates = append(found.candidates, *c)
				}
				return err
			}}, func() portion {
				found.ended = found.rows < limit
				return found
			}
	}}
}

// whole returns a lane whose statement reads at once all that it has, in any order, and calls found for each. The statement bounds how many
// that are.
func whole(kind int64, statement func(found func(candidate)) database.Statement) *lane {
	return &lane{kind: kind, read: func(after place, _ int) (database.Statement, func() portion) {
		all := portion{ended: true}
		return statement(func(c candidate) {
				if c.kind = kind; c.compare(after) > 0 {
					all.candidates = append(all.candidates, c)
				}
			}), func() portion {
				slices.SortFunc(all.candidates, func(a, b candidate) int { return a.compare(b.place) })
				return all
			}
	}}
}
