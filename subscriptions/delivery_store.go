package subscriptions

import (
	"time"

	"openintent/database"
	"openintent/intents"
)

const deliveryColumns = `d.number, d.intent_no, d.position, d.channel_no, d.attempts, d.due_at, d.given_up_at, d.dead_at,
	d.reason, d.sources`

// live is the condition for unfinished deliveries. Acknowledged ones are deleted, and dead letters have a dead_at.
const live = "d.subscription_no = ? AND d.due_at IS NOT NULL AND d.dead_at IS NULL"

func scanDelivery(row database.Row) (delivery, error) {
	var d delivery
	var channelNo, dueAt, givenUpAt, deadAt *int64
	var reason *string
	var stored string
	err := row.Scan(&d.number, &d.intentNo, &d.position, &channelNo, &d.attempts, &dueAt, &givenUpAt, &deadAt, &reason, &stored)
	if err != nil {
		return d, err
	}
	d.sources, err = sourcesFrom(stored)
	d.channelNo, d.reason = orZero(channelNo), orZero(reason)
	d.dueAt, d.givenUpAt, d.deadAt = timeOf(dueAt), timeOf(givenUpAt), timeOf(deadAt)
	return d, err
}

// prepareDeliveries returns the statement that reads deliveries in the order of their numbers, and where it puts them.
func prepareDeliveries(condition, suffix string, args ...any) (*[]delivery, database.Statement) {
	found := new([]delivery)
	return found, database.Statement{
		SQL: "SELECT " + deliveryColumns + " FROM subscription_deliveries d WHERE " + condition +
			" ORDER BY d.number" + suffix,
		Args: args,
		Scan: func(row database.Row) error {
			d, err := scanDelivery(row)
			*found = append(*found, d)
			return err
		},
	}
}

func deliveries(tx *database.Tx, condition, suffix string, args ...any) ([]delivery, error) {
	found, statement := prepareDeliveries(condition, suffix, args...)
	err := tx.Pipeline(statement)
	return *found, err
}

// deliveriesNumbered reads deliveries of a subscription by their numbers.
func deliveriesNumbered(tx *database.Tx, no int64, numbers []int64) (*[]delivery, database.Statement) {
	in, argument := tx.In("d.number", numbers)
	return prepareDeliveries("d.subscription_no = ? AND "+in, "", no, argument)
}

// deliveriesAfter reads the deliveries of an agent's own log that come after a number.
func deliveriesAfter(tx *database.Tx, no, number int64, limit int) ([]delivery, error) {
	return deliveries(tx, "d.subscription_no = ? AND d.number > ?", " LIMIT ?", no, number, limit)
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

// updateDeliveries stores the attempts, times and outcomes of deliveries.
func updateDeliveries(tx *database.Tx, no int64, rows []delivery) []database.Statement {
	n := len(rows)
	nos, numbers, attempts := make([]int64, n), make([]int64, n), make([]int64, n)
	dues, givenUp, dead, reasons := make([]*int64, n), make([]*int64, n), make([]*int64, n), make([]*string, n)
	for i, d := range rows {
		nos[i], numbers[i], attempts[i] = no, d.number, d.attempts
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
func deleteDeliveries(tx *database.Tx, no int64, numbers []int64) []database.Statement {
	if len(numbers) == 0 {
		return nil
	}
	in, argument := tx.In("number", numbers)
	return []database.Statement{{
		SQL:  "DELETE FROM subscription_deliveries WHERE subscription_no = ? AND " + in,
		Args: []any{no, argument},
	}}
}

func numbersOf(rows []delivery) []int64 {
	numbers := make([]int64, len(rows))
	for i, d := range rows {
		numbers[i] = d.number
	}
	return numbers
}

// preparePositions returns the statement that reads how far each intent was gathered, and where it puts the positions.
func preparePositions(no int64) (map[int64]int64, database.Statement) {
	positions := make(map[int64]int64)
	return positions, database.Statement{
		SQL:  "SELECT intent_no, position FROM subscription_positions WHERE subscription_no = ?",
		Args: []any{no},
		Scan: func(row database.Row) error {
			var intentNo, position int64
			err := row.Scan(&intentNo, &position)
			positions[intentNo] = position
			return err
		},
	}
}

// preparePosition returns the statement that reads how far one intent was gathered, and where it puts the position. A purged
// intent whose position was dropped counts as gathered to its end. So no entry of a page that was read earlier is numbered
// again.
func preparePosition(no, intentNo int64) (*int64, database.Statement) {
	position := new(int64)
	return position, database.Statement{
		SQL: "SELECT COALESCE(p.position, CASE WHEN h.purged_at IS NULL THEN 0 ELSE h.last_position END) FROM intent_heads h" +
			" LEFT JOIN subscription_positions p ON p.subscription_no = ? AND p.intent_no = h.intent_no WHERE h.intent_no = ?",
		Args: []any{no, intentNo},
		Scan: func(row database.Row) error { return row.Scan(position) },
	}
}

// prepareFollowed returns the statement that reads the head of the one intent that a subscription follows, and where it puts
// the head. For a wide subscription it finds nothing.
func prepareFollowed(no int64) (map[int64]intents.State, database.Statement) {
	found := make(map[int64]intents.State)
	return found, database.Statement{
		SQL: "SELECT h.intent_no, h.last_position, h.epoch FROM subscriptions s JOIN intent_heads h ON h.intent_no = s.intent_no" +
			" WHERE s.subscription_no = ?",
		Args: []any{no},
		Scan: func(row database.Row) error {
			var state intents.State
			err := row.Scan(&state.IntentNo, &state.LastPosition, &state.Epoch)
			found[state.IntentNo] = state
			return err
		},
	}
}

// setPosition returns a statement that stores how far an intent was gathered.
func setPosition(no, intentNo, position int64) database.Statement {
	return database.Statement{
		SQL: "INSERT INTO subscription_positions (subscription_no, intent_no, position) VALUES (?, ?, ?)" +
			" ON CONFLICT (subscription_no, intent_no) DO UPDATE SET position = excluded.position",
		Args: []any{no, intentNo, position},
	}
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
