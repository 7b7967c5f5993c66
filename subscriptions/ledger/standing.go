package ledger

import (
	"slices"

	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// standing is what the database holds of a subscription's deliveries before a transaction settles them. The transaction reads it, so that
// no further read is needed to answer an acknowledgement.
type standing struct {
	// unfinished is the lowest number that stays unfinished after the transaction; 0 if none does. outstanding is how many of the
	// unfinished ones were made. dead is how many are dead letters.
	unfinished, outstanding, dead int64
	// acknowledged are those that are acknowledged now and have a row: by number, whether they were made and are no dead letters.
	acknowledged map[int64]bool
}

// prepareStanding returns the statements that read what is stored of the subscriptions that somebody wants to know, and where they put
// it. The caller runs them after it has locked the subscriptions.
func prepareStanding(tx *database.Tx, portions []*portion) (map[int64]*standing, []database.Statement) {
	stands := make(map[int64]*standing)
	var nos []int64
	var asked record.Pairs
	for _, p := range portions {
		p.state = nil
		if !p.described {
			continue
		}
		nos = append(nos, p.ledger.no)
		stands[p.ledger.no] = &standing{acknowledged: make(map[int64]bool)}
		for _, number := range p.finishedRows() {
			asked.Add(p.ledger.no, number)
		}
	}
	if len(nos) == 0 {
		return nil, nil
	}
	finished, rows, args := "FALSE", "", []any(nil)
	if len(asked.Nos) > 0 {
		rows, args = tx.InRows(database.Column{Name: "subscription_no", Values: asked.Nos},
			database.Column{Name: "number", Values: asked.Numbers})
		finished += " OR " + rows // not the opposite with NOT IN, for which SQLite reads all rows each time
	}
	in, argument := tx.In("d.subscription_no", nos)
	statements := []database.Statement{{
		SQL: "SELECT d.subscription_no, COALESCE(MIN(CASE WHEN " + finished + " THEN NULL ELSE d.number END), 0)," +
			" COALESCE(SUM(CASE WHEN d.attempts > 0 THEN 1 ELSE 0 END), 0)" +
			" FROM " + record.LiveTable(tx) + " WHERE " + in + " AND " + record.UnfinishedOnly + " GROUP BY d.subscription_no",
		Args: append(slices.Clone(args), argument),
		Scan: func(row database.Row) error {
			var no, unfinished, outstanding int64
			err := row.Scan(&no, &unfinished, &outstanding)
			stands[no].unfinished, stands[no].outstanding = unfinished, outstanding
			return err
		},
	}, {
		SQL:  "SELECT d.subscription_no, COUNT(*) FROM " + record.DeadTable(tx) + " WHERE " + in + " AND " + record.DeadOnly + " GROUP BY d.subscription_no",
		Args: []any{argument},
		Scan: func(row database.Row) error {
			var no, dead int64
			err := row.Scan(&no, &dead)
			stands[no].dead = dead
			return err
		},
	}}
	if len(asked.Nos) == 0 {
		return stands, statements
	}
	return stands, append(statements, database.Statement{
		SQL:  "SELECT subscription_no, number, attempts, dead_at IS NOT NULL FROM subscription_deliveries WHERE " + rows,
		Args: args,
		Scan: func(row database.Row) error {
			var no, number, attempts int64
			var dead bool
			err := row.Scan(&no, &number, &attempts, &dead)
			stands[no].acknowledged[number] = attempts > 0 && !dead
			return err
		},
	})
}

// describe says how the subscription is once the portion is stored.
func (p *portion) describe(locked *record.Subscription, before *standing) {
	if before == nil || p.skipped || p.refused != nil {
		return
	}
	after := *locked
	after.LastNumber, after.OfferedThrough, after.ReservedThrough = p.stored.last, p.stored.offered, p.stored.reserved
	state := &record.Summary{Subscription: &after, Outstanding: before.outstanding, Dead: before.dead}
	for _, made := range before.acknowledged {
		if made {
			state.Outstanding--
		}
	}
	first := before.unfinished
	for _, d := range p.rows {
		if d.Number <= locked.OfferedThrough {
			continue // it is stored already
		}
		state.Outstanding++
		if first == 0 || d.Number < first {
			first = d.Number
		}
	}
	for _, number := range p.left {
		state.Outstanding++
		after.LastNumber = max(after.LastNumber, number)
		if first == 0 {
			first = number
		}
	}
	if state.AcknowledgedThrough = after.LastNumber; first > 0 {
		state.AcknowledgedThrough = first - 1
	}
	p.state = state
}
