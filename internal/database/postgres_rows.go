package database

import "strings"

// PostgreSQL takes many rows as one array for each column, so that a statement has one text however many rows there are. It
// then unpacks each array for itself, which costs several microseconds a column. So up to fewRows rows go as plain arguments. Each
// number of rows has a text of its own, so there are only a few.

// fewRows is how many rows go as plain arguments. A single row is by far the most frequent, and a message to an agent is decided by two
// agents' records.
const fewRows = 2

func (p *postgresServer) inRows(columns []Column) (string, []any) {
	compared := make([]string, len(columns))
	for i, column := range columns {
		compared[i] = column.Name
	}
	rows := plainRows(columns)
	return "(" + strings.Join(compared, ", ") + ") IN (" + rowsSource(columns, rows) + ")", arguments(columns, rows)
}

// The texts of insert and updateRows are numbered, so that this is not done for each of the statements.

func (p *postgresServer) insert(of shape, columns []Column) []Statement {
	rows := plainRows(columns)
	text := p.texts.of(of, columns, rows, func() string {
		return numbered("INSERT INTO " + quoted(of.table) + " (" + strings.Join(names(columns), ", ") + ") " +
			rowsSource(columns, rows) + of.suffix)
	})
	return []Statement{{SQL: text, Args: arguments(columns, rows)}}
}

func (p *postgresServer) updateRows(of shape, columns []Column, text func(rows string) string) []Statement {
	rows := plainRows(columns)
	sql := p.texts.of(of, columns, rows, func() string {
		names := make([]string, len(columns))
		for i := range names {
			names[i] = rowColumn(i)
		}
		return numbered(text("(" + rowsSource(columns, rows) + ") AS v (" + strings.Join(names, ", ") + ")"))
	})
	return []Statement{{SQL: sql, Args: arguments(columns, rows)}}
}

// plainRows is how many rows go as plain arguments; 0 if they go as arrays.
func plainRows(columns []Column) int {
	if rows := rowsOf(columns); rows <= fewRows {
		return rows
	}
	return 0
}

// rowsSource returns a query for the rows: so many as plain arguments, or any number as arrays if that is 0.
func rowsSource(columns []Column, rows int) string {
	parts := make([]string, len(columns))
	if rows == 0 {
		for i, column := range columns {
			parts[i] = "?::" + typeOf(column) + "[]"
		}
		return "SELECT * FROM unnest(" + strings.Join(parts, ", ") + ")"
	}
	for i, column := range columns {
		parts[i] = "?::" + typeOf(column)
	}
	row := "(" + strings.Join(parts, ", ") + ")"
	return "VALUES " + row + strings.Repeat(", "+row, rows-1)
}

// arguments returns those of rowsSource.
func arguments(columns []Column, rows int) []any {
	if rows == 0 {
		args := make([]any, len(columns))
		for i, column := range columns {
			args[i] = column.Values
		}
		return args
	}
	return cells(columns, 0, rows)
}
