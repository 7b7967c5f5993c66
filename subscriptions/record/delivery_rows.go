package record

import (
	"time"

	"openintent/internal/database"
)

// DeliveryColumns are what ScanDelivery reads.
const DeliveryColumns = `d.number, d.intent_no, d.position, d.channel_no, d.attempts, d.due_at, d.given_up_at, d.dead_at,
	d.reason, d.sources`

const (
	// UnfinishedOnly is the condition for unfinished deliveries. Acknowledged ones are deleted, and dead letters have a dead_at.
	UnfinishedOnly = "d.due_at IS NOT NULL AND d.dead_at IS NULL"
	// DeadOnly is the condition for dead letters.
	DeadOnly = "d.dead_at IS NOT NULL"
)

// LiveTable is the table of deliveries for who wants unfinished ones. They have an index of their own, so that nobody reads dead letters or
// agents' own logs to find them.
func LiveTable(tx *database.Tx) string {
	return "subscription_deliveries AS d" + tx.IndexedBy("subscription_deliveries_live")
}

// DeadTable is LiveTable for dead letters.
func DeadTable(tx *database.Tx) string {
	return "subscription_deliveries AS d" + tx.IndexedBy("subscription_deliveries_dead")
}

// UnfinishedOf selects the unfinished deliveries of a subscription.
func UnfinishedOf(tx *database.Tx) string {
	return LiveTable(tx) + " WHERE d.subscription_no = ? AND " + UnfinishedOnly
}

// DeadOf selects the dead letters of a subscription.
func DeadOf(tx *database.Tx) string {
	return DeadTable(tx) + " WHERE d.subscription_no = ? AND " + DeadOnly
}

// ScanDelivery reads DeliveryColumns, and reads the columns that follow them into further.
func ScanDelivery(row database.Row, further ...any) (Delivery, error) {
	var d Delivery
	var channelNo, dueAt, givenUpAt, deadAt *int64
	var reason *string
	var stored string
	err := row.Scan(append([]any{
		&d.Number, &d.IntentNo, &d.Position, &channelNo, &d.Attempts, &dueAt, &givenUpAt, &deadAt, &reason, &stored,
	}, further...)...)
	if err != nil {
		return d, err
	}
	d.Sources, err = sourcesFrom(stored)
	d.ChannelNo, d.Reason = orZero(channelNo), orZero(reason)
	d.DueAt, d.givenUpAt, d.DeadAt = database.TimeOrZero(dueAt), database.TimeOrZero(givenUpAt), database.TimeOrZero(deadAt)
	return d, err
}

// prepareDeliveries returns the statement that reads deliveries in the order of their numbers, and where it puts them. selected begins with the
// table.
func prepareDeliveries(selected, suffix string, args ...any) (*[]Delivery, database.Statement) {
	found := new([]Delivery)
	return found, database.Statement{
		SQL:  "SELECT " + DeliveryColumns + " FROM " + selected + " ORDER BY d.number" + suffix,
		Args: args,
		Scan: func(row database.Row) error {
			d, err := ScanDelivery(row)
			*found = append(*found, d)
			return err
		},
	}
}

// Deliveries reads deliveries in the order of their numbers. selected begins with the table.
func Deliveries(tx *database.Tx, selected, suffix string, args ...any) ([]Delivery, error) {
	found, statement := prepareDeliveries(selected, suffix, args...)
	err := tx.Pipeline(statement)
	return *found, err
}

// DeliveriesNumbered reads deliveries of a subscription by their numbers.
func DeliveriesNumbered(tx *database.Tx, no int64, numbers []int64) (*[]Delivery, database.Statement) {
	in, argument := tx.In("d.number", numbers)
	return prepareDeliveries("subscription_deliveries d WHERE d.subscription_no = ? AND "+in, "", no, argument)
}

// DeliveriesAfter reads the deliveries of an agent's own log that come after a number, up to another one.
func DeliveriesAfter(tx *database.Tx, no, number, through int64, limit int) ([]Delivery, error) {
	return Deliveries(tx, "subscription_deliveries d WHERE d.subscription_no = ? AND d.number > ? AND d.number <= ?", " LIMIT ?", no, number, through, limit)
}

// InsertDeliveries stores deliveries that were gathered at a time, each for the subscription with the number in nos.
func InsertDeliveries(tx *database.Tx, nos []int64, rows []Delivery, at time.Time) []database.Statement {
	n := len(rows)
	numbers, intentNos, positions := make([]int64, n), make([]int64, n), make([]int64, n)
	channelNos, times, attempts, dues := make([]*int64, n), make([]int64, n), make([]int64, n), make([]*int64, n)
	givenUp := make([]*int64, n)
	var standFor []string
	for i, d := range rows {
		if d.Sources != nil {
			if standFor == nil {
				standFor = make([]string, n)
			}
			standFor[i] = d.Sources.stored()
		}
		numbers[i], intentNos[i], positions[i] = d.Number, d.IntentNo, d.Position
		channelNos[i], times[i], attempts[i] = database.NullInt(d.ChannelNo), database.Micros(at), d.Attempts
		dues[i], givenUp[i] = database.NullMicros(d.DueAt), database.NullMicros(d.givenUpAt)
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
func updateDeliveries(tx *database.Tx, nos []int64, rows []Delivery) []database.Statement {
	n := len(rows)
	numbers, attempts := make([]int64, n), make([]int64, n)
	dues, givenUp, dead, reasons := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*string, n)
	for i, d := range rows {
		numbers[i], attempts[i] = d.Number, d.Attempts
		dues[i], givenUp[i] = database.NullMicros(d.DueAt), database.NullMicros(d.givenUpAt)
		dead[i], reasons[i] = database.NullMicros(d.DeadAt), database.NullText(d.Reason)
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

// MakeDue makes every delivery due that was made and is not acknowledged. A delivery that had its last attempt keeps waiting.
func MakeDue(no int64, now time.Time) database.Statement {
	return database.Statement{
		SQL: `UPDATE subscription_deliveries SET due_at = ? WHERE subscription_no = ? AND attempts > 0 AND due_at > ?
			AND given_up_at IS NULL AND dead_at IS NULL`,
		Args: []any{database.Micros(AtOnce(now)), no, database.Micros(AtOnce(now))},
	}
}

// deleteDeliveries removes finished deliveries.
func deleteDeliveries(tx *database.Tx, finished Pairs) []database.Statement {
	if len(finished.Nos) == 0 {
		return nil
	}
	in, args := tx.InRows(finished.keys("subscription_no", "number")...)
	return []database.Statement{{SQL: "DELETE FROM subscription_deliveries WHERE " + in, Args: args}}
}

// NumbersOf returns the numbers of deliveries.
func NumbersOf(rows []Delivery) []int64 {
	numbers := make([]int64, len(rows))
	for i, d := range rows {
		numbers[i] = d.Number
	}
	return numbers
}
