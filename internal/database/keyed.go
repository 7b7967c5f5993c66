package database

// Keyed is a place among the rows of one key, which have numbers: right after a number, in the order of the numbers or against it.
type Keyed struct {
	Key        string
	After      int64
	Descending bool
}

// Selection is a condition in SQL with its arguments, and an order.
type Selection struct {
	Condition string
	Args      []any
	OrderBy   string
}

// Following selects the rows of a key that follow a place, in order. An index that begins with the two columns has them in a row, and the
// query reads no others, whatever the planner expects of the key. With SELECT DISTINCT, the query selects the two columns first.
func (tx *Tx) Following(key, number string, of Keyed) Selection {
	return tx.db.dialect.keyed(key, number, of)
}

// keyed leaves the order to the key and the number. If the query had one key alone, a planner that expects the key in many rows would go
// through all rows in the order of their numbers.
func (p *postgresServer) keyed(key, number string, of Keyed) Selection {
	selection := Selection{
		Condition: "(" + key + ", " + number + ") > (?, ?) AND " + key + " <= ?",
		OrderBy:   key + ", " + number,
		Args:      []any{of.Key, of.After, of.Key},
	}
	if of.Descending {
		selection.Condition = "(" + key + ", " + number + ") < (?, ?) AND " + key + " >= ?"
		selection.OrderBy = key + " DESC, " + number + " DESC"
	}
	return selection
}

// keyed compares the columns one by one. SQLite goes by the whole of an index for that, also if the number is the one that it adds itself.
func (s *sqliteFile) keyed(key, number string, of Keyed) Selection {
	selection := Selection{
		Condition: key + " = ? AND " + number + " > ?",
		OrderBy:   number,
		Args:      []any{of.Key, of.After},
	}
	if of.Descending {
		selection.Condition, selection.OrderBy = key+" = ? AND "+number+" < ?", number+" DESC"
	}
	return selection
}
