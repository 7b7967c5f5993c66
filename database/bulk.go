package database

import (
	"fmt"
	"reflect"
	"strings"
)

// Column is one column of several rows.
type Column struct {
	// Name is the column's name in the table.
	Name string
	// Values has one value for each row: []int64, []*int64, []string, []*string, [][]byte or []bool. Nil pointers and
	// nil bytes are NULL.
	Values any
}

// Insert gives the statements that insert all rows: one on PostgreSQL, few on SQLite, none for no rows. All columns
// must have the same number of values.
func (tx *Tx) Insert(table string, columns ...Column) []Statement {
	return tx.insert(table, columns, "")
}

// InsertIgnore is Insert that leaves out rows which would violate a unique index or a primary key.
func (tx *Tx) InsertIgnore(table string, columns ...Column) []Statement {
	return tx.insert(table, columns, " ON CONFLICT DO NOTHING")
}

func (tx *Tx) insert(table string, columns []Column, suffix string) []Statement {
	if countRows(table, columns) == 0 {
		return nil
	}
	return tx.db.dialect.insert(table, columns, suffix)
}

// Update gives the statements that, for each row, set the columns of set in the table's rows whose key columns are
// equal to the row's. No two rows may have the same keys; a key that the table does not have changes nothing.
func (tx *Tx) Update(table string, keys []Column, set []Column) []Statement {
	if len(keys) == 0 || len(set) == 0 {
		panic("database: an update of " + table + " needs keys and columns to set")
	}
	if countRows(table, joined(keys, set)) == 0 {
		return nil
	}
	return tx.db.dialect.updateRows(joined(keys, set), func(rows string) string {
		return updateText(table, keys, set, nil, rows)
	})
}

// UpdateExpected is Update for rows of which it is not certain that they are as they were when last seen. If one's
// columns of expected have other values, or it is not there, the whole transaction fails with an error that IsData. The first
// column of set must be NOT NULL in the table: it is what refuses. The expected columns are never NULL.
func (tx *Tx) UpdateExpected(table string, keys, expected, set []Column) []Statement {
	if len(expected) == 0 {
		panic("database: an update of " + table + " needs columns to expect")
	}
	if countRows(table, joined(joined(keys, set), expected)) == 0 {
		return nil
	}
	missing := tx.db.dialect.updateRows(keys, func(rows string) string {
		return "INSERT INTO " + quoted(table) + " (" + strings.Join(names(keys), ", ") + ") SELECT v.* FROM " + rows +
			" WHERE NOT EXISTS (SELECT 1 FROM " + quoted(table) + " AS t WHERE " + strings.Join(pairs(keys, "=", 0), " AND ") + ")"
	})
	return append(missing, tx.db.dialect.updateRows(joined(joined(keys, set), expected), func(rows string) string {
		return updateText(table, keys, set, expected, rows)
	})...)
}

// RefuseChanged gives the statements by which the whole transaction fails with an error that IsData, if a row of the table
// with one of the keys has other columns than those expected; one that is not there has none but NULL. They change nothing
// otherwise. Some column that is neither a key nor has a default must be NOT NULL in the table: it is what refuses.
func (tx *Tx) RefuseChanged(table string, keys, expected []Column) []Statement {
	if countRows(table, joined(keys, expected)) == 0 {
		return nil
	}
	return tx.db.dialect.updateRows(joined(keys, expected), func(rows string) string {
		return refusalText(table, keys, expected, rows)
	})
}

// In gives the condition that a column has one of the values ([]int64 or []string), and its one argument. Both also
// fit gorm's Where. The values may be none.
func (tx *Tx) In(column string, values any) (sql string, arg any) {
	return tx.db.dialect.in(column, values)
}

// InRows gives the condition that the named columns together have the values of one of the rows, and its arguments. It is
// In for keys of several columns, of []int64 or []string. The rows may be none.
func (tx *Tx) InRows(columns ...Column) (sql string, args []any) {
	countRows("a condition", columns)
	return tx.db.dialect.inRows(columns)
}

// countRows is the number of rows that the columns describe; columns of unequal length are an error of the program.
func countRows(table string, columns []Column) int {
	if len(columns) == 0 {
		panic("database: rows of " + table + " without columns")
	}
	rows := rowsOf(columns)
	for _, column := range columns {
		if n := reflect.ValueOf(column.Values).Len(); n != rows {
			panic(fmt.Sprintf("database: column %s of %s has %d values, %s has %d",
				columns[0].Name, table, rows, column.Name, n))
		}
	}
	return rows
}

func rowsOf(columns []Column) int { return reflect.ValueOf(columns[0].Values).Len() }

func names(columns []Column) []string {
	names := make([]string, len(columns))
	for i, column := range columns {
		names[i] = quoted(column.Name)
	}
	return names
}

// quoted protects a name from being read as a keyword.
func quoted(name string) string { return `"` + name + `"` }

// updateText is an update of a table from rows called v, whose columns are the keys, what is set and what is expected.
func updateText(table string, keys, set, expected []Column, rows string) string {
	assigned := make([]string, len(set))
	for i, column := range set {
		assigned[i] = quoted(column.Name) + " = v." + rowColumn(len(keys)+i)
	}
	if len(expected) > 0 {
		as := pairs(expected, "=", len(keys)+len(set))
		assigned[0] = quoted(set[0].Name) + " = CASE WHEN " + strings.Join(as, " AND ") + " THEN v." + rowColumn(len(keys)) + " END"
	}
	return "UPDATE " + quoted(table) + " AS t SET " + strings.Join(assigned, ", ") +
		" FROM " + rows + " WHERE " + strings.Join(pairs(keys, "=", 0), " AND ")
}

// refusalText is an insertion that the table takes no row of, from rows called v, whose columns are the keys and what is
// expected.
func refusalText(table string, keys, expected []Column, rows string) string {
	given := make([]string, len(keys))
	for i := range keys {
		given[i] = "v." + rowColumn(i)
	}
	return "INSERT INTO " + quoted(table) + " (" + strings.Join(names(keys), ", ") + ") SELECT " + strings.Join(given, ", ") +
		" FROM " + rows + " LEFT JOIN " + quoted(table) + " AS t ON " + strings.Join(pairs(keys, "=", 0), " AND ") +
		" WHERE " + strings.Join(pairs(expected, "IS DISTINCT FROM", len(keys)), " OR ")
}

// pairs compares columns of the table with those of v, from a place in the row on.
func pairs(columns []Column, operator string, from int) []string {
	compared := make([]string, len(columns))
	for i, column := range columns {
		compared[i] = "t." + quoted(column.Name) + " " + operator + " v." + rowColumn(from+i)
	}
	return compared
}

// rowColumn is the name of a column of v: the one that SQLite gives to the columns of a VALUES list.
func rowColumn(i int) string { return fmt.Sprintf("column%d", i+1) }

// joined is the keys followed by what is set.
func joined(keys, set []Column) []Column { return append(append([]Column(nil), keys...), set...) }

func unknownValues(column Column) string {
	return fmt.Sprintf("database: column %s has values of type %T, which cannot be written in bulk", column.Name, column.Values)
}
