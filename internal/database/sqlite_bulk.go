package database

import (
	"encoding/json"
	"strconv"
	"strings"
)

// sqliteChunks are the lengths of VALUES lists. Bulk statements send their rows to SQLite as lists of these few lengths, so the
// texts of the statements repeat and stay prepared. The longest stays below SQLite's bound of 32,766 arguments with 127 columns.
var sqliteChunks = []int{256, 64, 16, 4, 1}

func (s *sqliteFile) insert(of shape, columns []Column) []Statement {
	return s.chunked(of, columns, func(rows string) string {
		return "INSERT INTO " + quoted(of.table) + " (" + strings.Join(names(columns), ", ") + ") VALUES " + rows + of.suffix
	})
}

func (s *sqliteFile) updateRows(of shape, columns []Column, text func(rows string) string) []Statement {
	return s.chunked(of, columns, func(rows string) string { return text("(VALUES " + rows + ") AS v") })
}

// inRows passes the rows as one JSON text, so the statement's text is the same for any number of rows and stays prepared.
func (s *sqliteFile) inRows(columns []Column) (string, []any) {
	names, values := make([]string, len(columns)), make([]string, len(columns))
	for i, column := range columns {
		names[i], values[i] = column.Name, "value ->> "+strconv.Itoa(i)
	}
	rows := make([][]any, countRows("a condition", columns))
	for i := range rows {
		rows[i] = cells(columns, i, 1)
	}
	text, err := json.Marshal(rows)
	if err != nil {
		panic(err) // numbers and texts always have a JSON form
	}
	condition := "(" + strings.Join(names, ", ") + ") IN (SELECT " + strings.Join(values, ", ") + " FROM json_each(?))"
	return condition, []any{string(text)}
}

// chunked returns one statement for each chunk of the rows; text returns the SQL for a chunk's list of rows.
func (s *sqliteFile) chunked(of shape, columns []Column, text func(rows string) string) []Statement {
	var statements []Statement
	done, total := 0, rowsOf(columns)
	for _, size := range sqliteChunks {
		if total-done < size {
			continue
		}
		sql := s.texts.of(of, columns, size, func() string {
			row := "(" + strings.Repeat("?, ", len(columns)-1) + "?)"
			return text(strings.Repeat(row+", ", size-1) + row)
		})
		for ; total-done >= size; done += size {
			statements = append(statements, Statement{SQL: sql, Args: cells(columns, done, size)})
		}
	}
	return statements
}

// cells returns the values of some rows, row by row.
func cells(columns []Column, from, count int) []any {
	list := make([]any, 0, count*len(columns))
	for row := from; row < from+count; row++ {
		for _, column := range columns {
			list = append(list, cell(column, row))
		}
	}
	return list
}

func cell(column Column, row int) any {
	switch values := column.Values.(type) {
	case []int64:
		return values[row]
	case []string:
		return values[row]
	case []bool:
		return values[row]
	case []*int64:
		if values[row] != nil {
			return *values[row]
		}
		return nil
	case []*string:
		if values[row] != nil {
			return *values[row]
		}
		return nil
	case [][]byte:
		if values[row] != nil {
			return values[row]
		}
		return nil
	}
	panic(unknownValues(column))
}
