package database

import "strings"

// Invariant is a rule that the stored rows keep at every commit. Each room has those of its own tables, in its file invariants.go.
// They hold however much was evicted, removed or purged, so a row that breaks one was changed by something else than the server.
type Invariant struct {
	// Rule says what holds, in the form "each message is in a channel".
	Rule string
	// Of is the table that the rule speaks of, with a WHERE if it does not speak of all rows. Its rows are counted.
	Of string
	// Broken selects the rows that break the rule: a query from its FROM on.
	Broken string
	// At are the columns of Broken that say which row it is.
	At []string
	// Find takes the place of Broken and At where a statement alone cannot decide. It reports the place of each row that breaks the
	// rule, and must not keep more than a bounded number of rows in memory.
	Find func(tx *Tx, broken func(where string)) error
}

// Refers returns the invariant that each row of a table has the row of another table with the same values in some columns.
func Refers(table, to string, columns ...string) Invariant {
	at, same := make([]string, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		at[i], same[i] = "a."+column, "b."+column+" = a."+column
	}
	return Invariant{
		Rule:   "each row of " + table + " refers to a row of " + to,
		Of:     table,
		Broken: "FROM " + table + " a WHERE NOT EXISTS (SELECT 1 FROM " + to + " b WHERE " + strings.Join(same, " AND ") + ")",
		At:     at,
	}
}

// Check counts the rows that the rule speaks of, and reports the place of each row that breaks it.
func (i Invariant) Check(tx *Tx, broken func(where string)) (rows int64, err error) {
	if err := tx.Pipeline(ReadValue(&rows, "SELECT count(*) FROM "+i.Of)); err != nil {
		return 0, err
	}
	if i.Find != nil {
		return rows, i.Find(tx, broken)
	}
	values := make([]string, len(i.At))
	read, into := make([]string, len(i.At)), make([]any, len(i.At))
	for n, column := range i.At {
		read[n], into[n] = "COALESCE(CAST("+column+" AS text), '')", &values[n]
	}
	return rows, tx.Pipeline(Statement{
		SQL: "SELECT " + strings.Join(read, ", ") + " " + i.Broken,
		Scan: func(row Row) error {
			if err := row.Scan(into...); err != nil {
				return err
			}
			broken(i.place(values))
			return tx.ctx.Err()
		},
	})
}

// place returns the names and values of the columns that say which row it is.
func (i Invariant) place(values []string) string {
	parts := make([]string, len(values))
	for n, column := range i.At {
		parts[n] = column[strings.LastIndex(column, ".")+1:] + " " + values[n]
	}
	return strings.Join(parts, ", ")
}

// FileInvariants are those of the database itself. PostgreSQL looks after its own files.
func FileInvariants(engine Engine) []Invariant {
	if engine != SQLite {
		return nil
	}
	return []Invariant{{
		Rule: "the pages and indexes of the file are whole",
		Of:   "sqlite_schema",
		Find: func(tx *Tx, broken func(where string)) error {
			return tx.Pipeline(Statement{SQL: "PRAGMA integrity_check(1000)", Scan: func(row Row) error {
				var found string
				err := row.Scan(&found)
				if err == nil && found != "ok" {
					broken(found)
				}
				return err
			}})
		},
	}}
}
