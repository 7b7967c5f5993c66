package database

import "strings"

// PostgreSQL takes several rows as one array for each column, so that a statement has one text however many rows there are. It
// then unpacks each array for itself, which costs several microseconds a column. So a single row, which is by far the most
// frequent, goes as plain arguments, in a statement of its own.

func (p *postgresServer) inRows(columns []Column) (string, []any) {
	compared := make([]string, len(columns))
	for i, column := range columns {
		compared[i] = column.Name
	}
	source, args := rowsSource(columns)
	return "(" + strings.Join(compared, ", ") + ") IN (" + source + ")", args
}

func (p *postgresServer) insert(table string, columns []Column, suffix string) []Statement {
	source, args := rowsSource(columns)
	return []Statement{{
		SQL:  "INSERT INTO " + quoted(table) + " (" + strings.Join(names(columns), ", ") + ") " + source + suffix,
		Args: args,
	}}
}

func (p *postgresServer) updateRows(columns []Column, text func(rows string) string) []Statement {
	source, args := rowsSource(columns)
	names := make([]string, len(args))
	for i := range names {
		names[i] = rowColumn(i)
	}
	rows := "(" + source + ") AS v (" + strings.Join(names, ", ") + ")"
	return []Statement{{SQL: text(rows), Args: args}}
}

// rowsSource returns a query for the rows, with one argument for each column: its value in the only row, or all its values as
// an array.
func rowsSource(columns []Column) (query string, args []any) {
	one := rowsOf(columns) == 1
	parts, args := make([]string, len(columns)), make([]any, len(columns))
	for i, column := range columns {
		typed, first := postgresType(column)
		if one {
			parts[i], args[i] = "?::"+typed, first
		} else {
			parts[i], args[i] = "?::"+typed+"[]", column.Values
		}
	}
	if one {
		return "VALUES (" + strings.Join(parts, ", ") + ")", args
	}
	return "SELECT * FROM unnest(" + strings.Join(parts, ", ") + ")", args
}

// postgresType returns the type of a column's values, and its first value; nil if there is none.
func postgresType(column Column) (typed string, first any) {
	switch values := column.Values.(type) {
	case []int64:
		return "bigint", firstOf(values)
	case []*int64:
		return "bigint", firstOf(values)
	case []string:
		return "text", firstOf(values)
	case []*string:
		return "text", firstOf(values)
	case [][]byte:
		return "bytea", firstOf(values)
	case []bool:
		return "boolean", firstOf(values)
	}
	panic(unknownValues(column))
}

func firstOf[T any](values []T) any {
	if len(values) == 0 {
		return nil
	}
	return values[0]
}
