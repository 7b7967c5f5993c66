package database

import (
	"database/sql/driver"
	"fmt"
	"reflect"
	"strconv"
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

// Insert returns the statements that insert all rows: one on PostgreSQL, a few on SQLite, none if there are no rows. All
// columns must have the same number of values.
func (tx *Tx) Insert(table string, columns ...Column) []Statement {
	return tx.insert(table, columns, "")
}

// InsertIgnore is Insert, but it leaves out rows that would violate a unique index or a primary key.
func (tx *Tx) InsertIgnore(table string, columns ...Column) []Statement {
	return tx.insert(table, columns, " ON CONFLICT DO NOTHING")
}

// Advance returns the statements that insert the rows, or set the columns of those that exist already and whose mark is lower than the
// given one. The keys are the table's primary key, and no two rows may have the same. A row that is further stays as it is.
func (tx *Tx) Advance(table string, keys []Column, mark Column, set ...Column) []Statement {
	marked := append([]Column{mark}, set...)
	assigned := make([]string, len(marked))
	for i, name := range names(marked) {
		assigned[i] = name + " = excluded." + name
	}
	at := quoted(mark.Name)
	return tx.insert(table, joined(keys, marked), " ON CONFLICT ("+strings.Join(names(keys), ", ")+") DO UPDATE SET "+
		strings.Join(assigned, ", ")+" WHERE "+quoted(table)+"."+at+" < excluded."+at)
}

func (tx *Tx) insert(table string, columns []Column, suffix string) []Statement {
	if countRows(table, columns) == 0 {
		return nil
	}
	return tx.db.dialect.insert(shape{verb: "insert", table: table, suffix: suffix}, columns)
}

// Update returns the statements that update the table by the given rows. Each row sets the columns of set in the table's row
// with the same key columns. No two rows may have the same keys; a key that the table does not have changes nothing.
func (tx *Tx) Update(table string, keys []Column, set []Column) []Statement {
	if len(keys) == 0 || len(set) == 0 {
		panic("database: an update of " + table + " needs keys and columns to set")
	}
	if countRows(table, joined(keys, set)) == 0 {
		return nil
	}
	s := shape{verb: "update", table: table, keys: len(keys), set: len(set)}
	return tx.db.dialect.updateRows(s, joined(keys, set), func(rows string) string {
		return updateText(table, keys, set, nil, rows)
	})
}

// UpdateExpected is Update for rows that may have changed since they were read. If the expected columns of one row have other
// values, or the row does not exist, the whole transaction fails with an error that IsData recognizes. The first column of set
// must be NOT NULL in the table, because a NULL for it causes the failure. The expected columns are never NULL. The first
// statement locks all the rows, without waiting: if another transaction has locked one of them, it fails with a conflict.
func (tx *Tx) UpdateExpected(table string, keys, expected, set []Column) []Statement {
	if len(expected) == 0 {
		panic("database: an update of " + table + " needs columns to expect")
	}
	if countRows(table, joined(joined(keys, set), expected)) == 0 {
		return nil
	}
	s := shape{verb: "lock", table: table, keys: len(keys)}
	missing := tx.db.dialect.updateRows(s, keys, func(rows string) string {
		return "INSERT INTO " + quoted(table) + " (" + strings.Join(names(keys), ", ") + ") SELECT v.* FROM " + rows +
			" WHERE NOT EXISTS (SELECT 1 FROM " + quoted(table) + " AS t WHERE " + strings.Join(pairs(keys, "=", 0), " AND ") +
			tx.ForUpdateNoWait() + ")"
	})
	s = shape{verb: "update", table: table, keys: len(keys), set: len(set)}
	return append(missing, tx.db.dialect.updateRows(s, joined(joined(keys, set), expected), func(rows string) string {
		return updateText(table, keys, set, expected, rows)
	})...)
}

// RefuseChanged returns statements that make the whole transaction fail, with an error that IsData recognizes, if the table's
// row with one of the keys has other columns than expected. A row that does not exist counts as one with NULL in all columns.
// Otherwise the statements change nothing. The table must have a NOT NULL column that is not a key and has no default, because
// a missing value for it causes the failure.
func (tx *Tx) RefuseChanged(table string, keys, expected []Column) []Statement {
	if countRows(table, joined(keys, expected)) == 0 {
		return nil
	}
	s := shape{verb: "refuse", table: table, keys: len(keys)}
	return tx.db.dialect.updateRows(s, joined(keys, expected), func(rows string) string {
		return refusalText(table, keys, expected, rows)
	})
}

// In returns the condition that a column has one of the values ([]int64 or []string), and the condition's single argument.
// Both also fit gorm's Where. The list of values may be empty.
func (tx *Tx) In(column string, values any) (sql string, arg any) {
	return tx.db.dialect.in(column, values)
}

// Contains returns the condition that a column of bytes contains some bytes, and the condition's argument.
func (tx *Tx) Contains(column string, part []byte) (sql string, arg any) {
	return tx.db.dialect.contains(column), whole(part)
}

// whole is an argument of bytes. gorm would turn a plain slice into several arguments.
type whole []byte

// Value implements driver.Valuer.
func (w whole) Value() (driver.Value, error) { return []byte(w), nil }

// InRows returns the condition that the named columns together have the values of one of the rows, and the condition's
// arguments. It is In for keys of several columns, each []int64 or []string. There may be no rows.
func (tx *Tx) InRows(columns ...Column) (sql string, args []any) {
	countRows("a condition", columns)
	return tx.db.dialect.inRows(columns)
}

// countRows returns the number of rows in the columns. It panics if the columns differ in length, which is a programming error.
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

// updateText returns an update of a table from rows called v; the columns of v are keys, set and expected.
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

// refusalText returns an insertion that fails for every row it selects, from rows called v; the columns of v are keys and
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

// pairs compares columns of the table with those of v, beginning at the given place in v.
func pairs(columns []Column, operator string, from int) []string {
	compared := make([]string, len(columns))
	for i, column := range columns {
		compared[i] = "t." + quoted(column.Name) + " " + operator + " v." + rowColumn(from+i)
	}
	return compared
}

// rowColumn returns the name of a column of v, which is the name that SQLite gives to the columns of a VALUES list.
func rowColumn(i int) string { return "column" + strconv.Itoa(i+1) }

// joined returns the keys followed by the other columns.
func joined(keys, set []Column) []Column { return append(append([]Column(nil), keys...), set...) }

func unknownValues(column Column) string {
	return fmt.Sprintf("database: column %s has values of type %T, which cannot be written in bulk", column.Name, column.Values)
}
