package subscriptions

import (
	"time"

	"openintent/internal/database"
)

const deliveryColumns = `d.number, d.intent_no, d.position, d.channel_no, d.attempts, d.due_at, d.given_up_at, d.dead_at,
	d.reason, d.sources`

const (
	// unfinishedOnly is the condition for unfinished deliveries. Acknowledged ones are deleted, and dead letters have a dead_at.
	unfinishedOnly = "d.due_at IS NOT NULL AND d.dead_at IS NULL"
	// deadOnly is the condition for dead letters.
	deadOnly = "d.dead_at IS NOT NULL"
)

// liveTable is the table of deliveries for who wants unfinished ones. They have an index of their own, so that nobody reads dead letters or
// agents' own logs to find them.
func liveTable(tx *database.Tx) string {
	return "subscription_deliveries AS d" + tx.IndexedBy("subscription_deliveries_live")
}

// deadTable is liveTable for dead letters.
func deadTable(tx *database.Tx) string {
	return "subscription_deliveries AS d" + tx.IndexedBy("subscription_deliveries_dead")
}

// unfinishedOf selects the unfinished deliveries of a subscription.
func unfinishedOf(tx *database.Tx) string {
	return liveTable(tx) + " WHERE d.subscription_no = ? AND " + unfinishedOnly
}

// deadOf selects the dead letters of a subscription.
func deadOf(tx *database.Tx) string {
	return deadTable(tx) + " WHERE d.subscription_no = ? AND " + deadOnly
}

// scanDelivery reads deliveryColumns, and reads the columns that follow them into further.
func scanDelivery(row database.Row, further ...any) (delivery, error) {
	var d delivery
	var channelNo, dueAt, givenUpAt, deadAt *int64
	var reason *string
	var stored string
	err := row.Scan(append([]any{
		&d.number, &d.intentNo, &d.position, &channelNo, &d.attempts, &dueAt, &givenUpAt, &deadAt, &reason, &stored,
	}, further...)...)
	if err != nil {
		return d, err
	}
	d.sources, err = sourcesFrom(stored)
	d.channelNo, d.reason = orZero(channelNo), orZero(reason)
	d.dueAt, d.givenUpAt, d.deadAt = database.TimeOrZero(dueAt), database.TimeOrZero(givenUpAt), database.TimeOrZero(deadAt)
	return d, err
}

// prepareDeliveries returns the statement that reads deliveries in the order of their numbers, and where it puts them. selected begins with the
// table.
func prepareDeliveries(selected, suffix string, args ...any) (*[]delivery, database.Statement) {
	found := new([]delivery)
	return found, database.Statement{
		SQL:  "SELECT " + deliveryColumns + " FROM " + selected + " ORDER BY d.number" + suffix,
		Args: args,
		Scan: func(row database.Row) error {
			d, err := scanDelivery(row)
			*found = append(*found, d)
			return err
		},
	}
}

func deliveries(tx *database.Tx, selected, suffix string, args ...any) ([]delivery, error) {
	found, statement := prepareDeliveries(selected, suffix, args...)
	err := tx.Pipeline(statement)
	return *found, err
}

// deliveriesNumbered reads deliveries of a subscription by their numbers.
func deliveriesNumbered(tx *database.Tx, no int64, numbers []int64) (*[]delivery, database.Statement) {
	in, argument := tx.In("d.number", numbers)
	return prepareDeliveries("subscription_deliveries d WHERE d.subscription_no = ? AND "+in, "", no, argument)
}

// deliveriesAfter reads the deliveries of an agent's own log that come after a number, up to another one.
func deliveriesAfter(tx *database.Tx, no, number, through int64, limit int) ([]delivery, error) {
	return deliveries(tx, "subscription_deliveries d WHERE d.subscription_no = ? AND d.number > ? AND d.number <= ?", " LIMIT ?", no, number, through, limit)
}

// insertDeliveries stores deliveries that were gathered at a time, each for the subscription with the number in nos.
func insertDeliveries(tx *database.Tx, nos []int64, rows []delivery, at time.Time) []database.Statement {
	n := len(rows)
	numbers, intentNos, positions := make([]int64, n), make([]int64, n), make([]int64, n)
	channelNos, times, attempts, dues := make([]*int64, n), make([]int64, n), make([]int64, n), make([]*int64, n)
	givenUp := make([]*int64, n)
	var standFor []string
	for i, d := range rows {
		if d.sources != nil {
			if standFor == nil {
				standFor = make([]string, n)
			}
			standFor[i] = d.sources.stored()
		}
		numbers[i], intentNos[i], positions[i] = d.number, d.intentNo, d.position
		channelNos[i], times[i], attempts[i] = database.NullInt(d.channelNo), database.Micros(at), d.attempts
		dues[i], givenUp[i] = database.NullMicros(d.dueAt), database.NullMicros(d.givenUpAt)
	}
	columns := []database.Column{
		{Name: "subscription_no", Values: nos},
		{Name: "number", Values: numbers},
		{Name: "intent_no", Values: intentNos},
		{Name: "position", Values: positions},
		{Name: "channel_no", Values: channelNos},
		{Name: "gathered_at", Values: times},
		{Name: "attempts", Values: attempts},
		{Name: "due_at", Values: dues},
		{Name: "given_up_at", Values: givenUp},
	}
	if standFor != nil {
		columns = append(columns, database.Column{Name: "sources", Values: standFor})
	}
	return tx.Insert("subscription_deliveries", columns...)
}

// updateDeliveries stores the attempts, times and outcomes of deliveries, each of the subscription with the number in nos.
func updateDeliveries(tx *database.Tx, nos []int64, rows []delivery) []database.Statement {
	n := len(rows)
	numbers, attempts := make([]int64, n), make([]int64, n)
	dues, givenUp, dead, reasons := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*string, n)
	for i, d := range rows {
		numbers[i], attempts[i] = d.number, d.attempts
		dues[i], givenUp[i] = database.NullMicros(d.dueAt), database.NullMicros(d.givenUpAt)
		dead[i], reasons[i] = database.NullMicros(d.deadAt), database.NullText(d.reason)
	}
	return tx.Update("subscription_deliveries", []database.Column{
		{Name: "subscription_no", Values: nos},
		{Name: "number", Values: numbers},
	}, []database.Column{
		{Name: "attempts", Values: attempts},
		{Name: "due_at", Values: dues},
		{Name: "given_up_at", Values: givenUp},
		{Name: "dead_at", Values: dead},
		{Name: "reason", Values: reasons},
	})
}

// makeDue makes every delivery due that was made and is not acknowledged. A delivery that had its last attempt keeps waiting.
func makeDue(no int64, now time.Time) database.Statement {
	return database.Statement{
		SQL: `UPDATE subscription_deliveries SET due_at = ? WHERE subscription_no = ? AND attempts > 0 AND due_at > ?
			AND given_up_at IS NULL AND dead_at IS NULL`,
		Args: []any{database.Micros(now), no, database.Micros(now)},
	}
}

// deleteDeliveries removes finished deliveries.
func deleteDeliveries(tx *database.Tx, finished pairs) []database.Statement {
	if len(finished.nos) == 0 {
		return nil
	}
	in, args := tx.InRows(finished.keys("subscription_no", "number")...)
	return []database.Statement{{SQL: "DELETE FROM subscription_deliveries WHERE " + in, Args: args}}
}

func numbersOf(rows []delivery) []int64 {
	numbers := make([]int64, len(rows))
	for i, d := range rows {
		numbers[i] = d.number
	}
	return numbers
}

// insertPositions stores the positions at which a new subscription begins.
func insertPositions(tx *database.Tx, no int64, positions map[int64]int64) []database.Statement {
	nos, intentNos := make([]int64, 0, len(positions)), make([]int64, 0, len(positions))
	values := make([]int64, 0, len(positions))
	for intentNo, position := range positions {
		nos, intentNos, values = append(nos, no), append(intentNos, intentNo), append(values, position)
	}
	return tx.Insert("subscription_positions",
		database.Column{Name: "subscription_no", Values: nos},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "position", Values: values},
	)
}
