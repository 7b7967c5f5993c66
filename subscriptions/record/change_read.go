package record

import (
	"slices"
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/waiting"
)

// lockChanges locks subscriptions until the transaction ends, and then reads the clock and what is wanted of each. Every transaction that
// numbers, offers, acknowledges or gives up deliveries takes this lock. It locks heads of intents before it. clause is the locking
// clause. The result lacks subscriptions that are deleted, and those that somebody else has locked if the clause skips them.
func lockChanges(tx *database.Tx, clause string, nos []int64, wants []Wanted) (map[int64]*Change, error) {
	found := make(map[int64]*Change, len(nos))
	var now time.Time
	in, argument := tx.In("s.subscription_no", nos)
	statements := []database.Statement{{
		SQL: "SELECT " + Columns + " FROM subscriptions s WHERE s.deleted_at IS NULL AND " + in +
			" ORDER BY s.subscription_no" + clause,
		Args: []any{argument},
		Scan: func(row database.Row) error {
			s, err := Scan(row)
			if err == nil {
				found[s.No] = &Change{Tx: tx, Locked: s, before: s.storedProgress()}
			}
			return err
		},
	}, tx.Clock(&now)}
	if err := tx.Pipeline(append(statements, prepareWanted(tx, nos, wants, found)...)...); err != nil {
		return nil, err
	}
	for _, c := range found {
		c.Now = now
	}
	return found, nil
}

// prepareWanted returns the statements that read what is wanted, one for each kind of it. They put it into those changes that were found.
func prepareWanted(tx *database.Tx, nos []int64, wants []Wanted, found map[int64]*Change) (statements []database.Statement) {
	var numbered, gathered Pairs
	var unfinished, waits []int64
	for i, want := range wants {
		for _, number := range want.Numbers {
			numbered.Add(nos[i], number)
		}
		if want.IntentNo != 0 {
			gathered.Add(nos[i], want.IntentNo)
		}
		if want.Unfinished {
			unfinished = append(unfinished, nos[i])
		}
		if want.Waiting {
			waits = append(waits, nos[i])
		}
	}
	if len(gathered.Nos) > 0 {
		statements = append(statements, preparePositionsOf(tx, gathered, found))
	}
	if len(numbered.Nos) > 0 {
		rows, args := tx.InRows(numbered.keys("d.subscription_no", "d.number")...)
		statements = append(statements, prepareRows("subscription_deliveries d WHERE "+rows, args, found, func(c *Change) *[]Delivery { return &c.Rows }))
	}
	if len(unfinished) > 0 {
		in, argument := tx.In("d.subscription_no", unfinished)
		statements = append(statements, prepareRows(LiveTable(tx)+" WHERE "+in+" AND "+UnfinishedOnly, []any{argument}, found,
			func(c *Change) *[]Delivery { return &c.Unfinished }))
	}
	if len(waits) > 0 {
		statements = append(statements, PrepareWaiting(tx, waits, func(no int64, w waiting.Message) {
			if c := found[no]; c != nil {
				c.Waits = append(c.Waits, w)
			}
		}))
	}
	return statements
}

// prepareRows returns the statement that reads some deliveries. selected begins with the table.
func prepareRows(selected string, args []any, found map[int64]*Change, place func(*Change) *[]Delivery) database.Statement {
	return database.Statement{
		SQL: "SELECT " + DeliveryColumns + ", d.subscription_no FROM " + selected +
			" ORDER BY d.subscription_no, d.number",
		Args: args,
		Scan: func(row database.Row) error {
			var no int64
			d, err := ScanDelivery(row, &no)
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
func preparePositionsOf(tx *database.Tx, gathered Pairs, found map[int64]*Change) database.Statement {
	rows, args := tx.InRows(gathered.keys("subscription_no", "intent_no")...)
	in, argument := tx.In("intent_no", database.Distinct(slices.Clone(gathered.Numbers)))
	stored := make(map[int64]struct{}, len(gathered.Nos))
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
					found[no].Position = position
				}
				return nil
			}
			for i, no := range gathered.Nos { // these come last
				if _, known := stored[no]; !known && gathered.Numbers[i] == intentNo && found[no] != nil {
					found[no].Position = position
				}
			}
			return nil
		},
	}
}
