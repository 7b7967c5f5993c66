package subscriptions

import (
	"slices"
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/waiting"
)

// lockChanges locks subscriptions until the transaction ends, and then reads the clock and what is wanted of each. Every transaction that
// numbers, offers, acknowledges or gives up deliveries takes this lock. It locks heads of intents before it. clause is the locking
// clause. The result lacks subscriptions that are deleted, and those that somebody else has locked if the clause skips them.
func lockChanges(tx *database.Tx, clause string, nos []int64, wants []wanted) (map[int64]*change, error) {
	found := make(map[int64]*change, len(nos))
	var now time.Time
	in, argument := tx.In("s.subscription_no", nos)
	statements := []database.Statement{{
		SQL: "SELECT " + subscriptionColumns + " FROM subscriptions s WHERE s.deleted_at IS NULL AND " + in +
			" ORDER BY s.subscription_no" + clause,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			s, err := scanSubscription(row)
			if err == nil {
				found[s.no] = &change{tx: tx, locked: s, before: s.storedProgress()}
			}
			return err
		},
	}, tx.Clock(&now)}
	if err := tx.Pipeline(append(statements, prepareWanted(tx, nos, wants, found)...)...); err != nil {
		return nil, err
	}
	for _, c := range found {
		c.now = now
	}
	return found, nil
}

// prepareWanted returns the statements that read what is wanted, one for each kind of it. They put it into those changes that were found.
func prepareWanted(tx *database.Tx, nos []int64, wants []wanted, found map[int64]*change) (statements []database.Statement) {
	var numbered, gathered pairs
	var unfinished, waits []int64
	for i, want := range wants {
		for _, number := range want.numbers {
			numbered.add(nos[i], number)
		}
		if want.intentNo != 0 {
			gathered.add(nos[i], want.intentNo)
		}
		if want.unfinished {
			unfinished = append(unfinished, nos[i])
		}
		if want.waiting {
			waits = append(waits, nos[i])
		}
	}
	if len(gathered.nos) > 0 {
		statements = append(statements, preparePositionsOf(tx, gathered, found))
	}
	if len(numbered.nos) > 0 {
		rows, args := tx.InRows(numbered.keys("d.subscription_no", "d.number")...)
		statements = append(statements, prepareRows("subscription_deliveries d WHERE "+rows, args, found, func(c *change) *[]delivery { return &c.rows }))
	}
	if len(unfinished) > 0 {
		in, argument := tx.In("d.subscription_no", unfinished)
		statements = append(statements, prepareRows(liveTable(tx)+" WHERE "+in+" AND "+unfinishedOnly, []any{argument}, found,
			func(c *change) *[]delivery { return &c.unfinished }))
	}
	if len(waits) > 0 {
		statements = append(statements, prepareWaiting(tx, waits, func(no int64, w waiting.Message) {
			if c := found[no]; c != nil {
				c.waits = append(c.waits, w)
			}
		}))
	}
	return statements
}

// prepareRows returns the statement that reads some deliveries. selected begins with the table.
func prepareRows(selected string, args []any, found map[int64]*change, place func(*change) *[]delivery) database.Statement {
	return database.Statement{
		SQL: "SELECT " + deliveryColumns + ", d.subscription_no FROM " + selected +
			" ORDER BY d.subscription_no, d.number",
		Args: args,
		Scan: func(row database.Row) error {
			var no int64
			d, err := scanDelivery(row, &no)
			if c := found[no]; c != nil {
				rows := place(c)
				*rows = append(*rows, d)
			}
			return err
		},
	}
}

// preparePositionsOf returns the statement that reads how far intents were gathered. A purged intent whose position was dropped counts as
// gathered to its end. So no entry of a page that was read earlier is numbered again.
func preparePositionsOf(tx *database.Tx, gathered pairs, found map[int64]*change) database.Statement {
	rows, args := tx.InRows(gathered.keys("subscription_no", "intent_no")...)
	in, argument := tx.In("intent_no", database.Distinct(slices.Clone(gathered.numbers)))
	stored := make(map[int64]struct{}, len(gathered.nos))
	return database.Statement{
		SQL: "SELECT subscription_no, intent_no, position FROM subscription_positions WHERE " + rows +
			" UNION ALL SELECT 0, intent_no, last_position FROM intent_heads WHERE purged_at IS NOT NULL AND " + in +
			" ORDER BY 1 DESC",
		Args: append(args, argument),
		Scan: func(row database.Row) error {
			var no, intentNo, position int64
			if err := row.Scan(&no, &intentNo, &position); err != nil {
				return err
			}
			if no != 0 {
				if stored[no] = struct{}{}; found[no] != nil {
					found[no].position = position
				}
				return nil
			}
			for i, no := range gathered.nos { // these come last
				if _, known := stored[no]; !known && gathered.numbers[i] == intentNo && found[no] != nil {
					found[no].position = position
				}
			}
			return nil
		},
	}
}
