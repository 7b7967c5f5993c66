package database

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Statement is one SQL statement of a Pipeline.
type Statement struct {
	// SQL has a ? for each argument, or is numbered already ($1, $2 and so on) on PostgreSQL.
	SQL  string
	Args []any
	// Scan is called for each row of the result, in order. It must not use the transaction. An error from it fails
	// the statement. Nil discards the rows.
	Scan func(row Row) error
	// Affected, if not nil, receives the number of rows changed or, with Scan, returned.
	Affected *int64

	local func() // runs in the statement's turn instead of SQL
}

// Row is one row of a result.
type Row interface {
	// Scan copies the columns to the variables that dest points to. A NULL needs a []byte, a pointer, or a sql.Scanner
	// such as sql.NullInt64.
	Scan(dest ...any) error
}

// ReadValue returns a statement that reads one value. If it finds no row, the variable stays as it is.
func ReadValue[T any](into *T, sql string, args ...any) Statement {
	return Statement{SQL: sql, Args: args, Scan: func(row Row) error { return row.Scan(into) }}
}

// ReadValues returns a statement that appends the values of one column to a list, in order.
func ReadValues[T any](into *[]T, sql string, args ...any) Statement {
	return Statement{SQL: sql, Args: args, Scan: func(row Row) error {
		var value T
		err := row.Scan(&value)
		*into = append(*into, value)
		return err
	}}
}

// Pipeline executes the statements in order; each sees the effects of those before it. On PostgreSQL they take one round trip,
// which includes the opening of the transaction if they are its first statements. Pipeline returns the first failure, and no
// statement after it has an effect.
func (tx *Tx) Pipeline(statements ...Statement) error {
	if len(statements) == 0 {
		return nil
	}
	return tx.runNow(statements)
}

// runNow runs the statements unless the transaction has failed. It opens the transaction first if that is still necessary.
func (tx *Tx) runNow(statements []Statement) error {
	if tx.failed != nil {
		return fmt.Errorf("the transaction has failed before: %w", tx.failed)
	}
	if tx.atOnce {
		return ErrNotAtOnce
	}
	statements = tx.opened(statements)
	if len(statements) == 0 {
		return nil
	}
	defer tx.endWaiting()
	return tx.note(tx.timed(tx.observed(statements), false, func(statements []Statement) error {
		return tx.tally.run(statements, func(statements []Statement) error { return tx.conn.run(tx.ctx, statements) })
	}))
}

// observed lets the hook see the statements and their rows.
func (tx *Tx) observed(statements []Statement) []Statement {
	if tx.db.hooks.Statement == nil {
		return statements
	}
	statements = slices.Clone(statements)
	for i, s := range statements {
		if s.local != nil {
			continue
		}
		row := tx.db.hooks.Statement(tx.ctx, s.SQL)
		if scan := s.Scan; scan != nil && row != nil {
			statements[i].Scan = func(found Row) error {
				row()
				return scan(found)
			}
		}
	}
	return statements
}

// numbered rewrites the ? of each argument to $1, $2 and so on. It does not change quoted texts, quoted names and comments.
func numbered(sql string) string {
	if !strings.Contains(sql, "?") {
		return sql
	}
	var out strings.Builder
	out.Grow(len(sql) + 16)
	arguments := 0
	for i := 0; i < len(sql); {
		rest := sql[i:]
		width := 1
		switch {
		case rest[0] == '?':
			arguments++
			out.WriteByte('$')
			out.WriteString(strconv.Itoa(arguments))
			i++
			continue
		case rest[0] == '\'' || rest[0] == '"':
			width = spanTo(rest, 1, rest[:1])
		case strings.HasPrefix(rest, "--"):
			width = spanTo(rest, 2, "\n")
		case strings.HasPrefix(rest, "/*"):
			width = spanTo(rest, 2, "*/")
		}
		out.WriteString(rest[:width])
		i += width
	}
	return out.String()
}

// spanTo returns the length of text up to and including the end mark; it looks for the mark from an offset on.
func spanTo(text string, from int, mark string) int {
	if at := strings.Index(text[from:], mark); at >= 0 {
		return from + at + len(mark)
	}
	return len(text)
}
