package messaging

import (
	"openintent/intents"
	"openintent/internal/database"
)

// LogEnd is how an intent's log ended when somebody read it: the last position, and the log's time then, in microseconds. Whoever remembers
// how far it has read a log remembers the end, too. It tells whether the database has lost what was read (Lost).
type LogEnd struct{ IntentNo, Position, At int64 }

// endOf returns the end of the log of a head.
func endOf(head *intents.Head) LogEnd {
	return LogEnd{head.IntentNo, head.LastPosition, database.Micros(head.LastAt)}
}

// EntryTimes are when the entries at some positions were stored, in microseconds, by the intent and the position. What was removed is missing.
type EntryTimes map[[2]int64]int64

// PrepareEntryTimes returns the statement that reads when the entries at some ends were stored, and where it puts that. Without ends there is
// no statement.
func PrepareEntryTimes(tx *database.Tx, ends []LogEnd) (EntryTimes, []database.Statement) {
	times := make(EntryTimes)
	var intentNos, positions []int64
	for _, end := range ends {
		place := [2]int64{end.IntentNo, end.Position}
		if _, again := times[place]; !again {
			times[place] = 0
			intentNos, positions = append(intentNos, end.IntentNo), append(positions, end.Position)
		}
	}
	if len(times) == 0 {
		return times, nil
	}
	in, args := tx.InRows(database.Column{Name: "intent_no", Values: intentNos}, database.Column{Name: "position", Values: positions})
	statement := database.Statement{Scan: func(row database.Row) error {
		var intentNo, position, at int64
		err := row.Scan(&intentNo, &position, &at)
		times[[2]int64{intentNo, position}] = at
		return err
	}}
	for i, table := range []string{"messages", "events", "annotations"} {
		if i > 0 {
			statement.SQL += " UNION ALL "
		}
		statement.SQL += "SELECT intent_no, position, created_at FROM " + table + " WHERE " + in
		statement.Args = append(statement.Args, args...)
	}
	return times, []database.Statement{statement}
}

// Lost reports whether the log, in its state now, lacks what was read up to the end: it ends before, or it has grown as far again, so that a
// newer entry has the place of the last one.
func (e LogEnd) Lost(now intents.State, times EntryTimes) bool {
	return now.LastPosition < e.Position || e.replaced(times)
}

// replaced reports whether a newer entry has the place of the last one.
func (e LogEnd) replaced(times EntryTimes) bool {
	return times[[2]int64{e.IntentNo, e.Position}] > e.At
}
