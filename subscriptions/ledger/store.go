package ledger

import (
	"maps"
	"slices"
	"time"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging"
	"openintent/subscriptions/record"
)

// settleIn stores portions. It locks the subscriptions in order, and stores the portion of each only if its stream still has the
// lease, nobody else has numbered anything, and the database has everything that was stored before.
func settleIn(tx *database.Tx, portions []*portion) error {
	before, read := prepareStanding(tx, portions)
	locked, now, err := lockPortions(tx, portions, read...)
	if err != nil {
		return err
	}
	for _, p := range portions {
		if p.skipped || p.refused != nil {
			continue
		}
		s := locked[p.ledger.no]
		switch {
		case s.Consumer != p.ledger.Consumer, s.OfferedThrough < p.settled, s.LastNumber != p.last, s.ReservedThrough != p.end, p.beyond:
			p.refused = record.ErrConsumerLost
		case !s.Active(now):
			p.refused = record.ErrEnded
		}
	}
	storePortions(tx, portions, locked, now)
	for _, p := range portions {
		p.describe(locked[p.ledger.no], before[p.ledger.no])
	}
	return nil
}

// finishedRows returns the acknowledged deliveries that may be stored. Those above were sent ahead.
func (p *portion) finishedRows() []int64 {
	i, _ := slices.BinarySearch(p.acknowledged, p.settled+1)
	return p.acknowledged[:i]
}

// lockPortions locks the subscriptions of portions, unless somebody else has locked them, and finds out which of the acknowledged
// deliveries are dead letters. It also runs the further statements.
func lockPortions(
	tx *database.Tx, portions []*portion, further ...database.Statement,
) (locked map[int64]*record.Subscription, now time.Time, err error) {
	nos := make([]int64, len(portions))
	var ofNos, numbers, intentNos []int64
	var ends []messaging.LogEnd
	for i, p := range portions {
		nos[i] = p.ledger.no
		p.skipped, p.refused, p.dead, p.beyond = false, nil, false, false
		for _, number := range p.finishedRows() {
			ofNos, numbers = append(ofNos, p.ledger.no), append(numbers, number)
		}
		intentNos, ends = slices.AppendSeq(intentNos, maps.Keys(p.positions)), append(ends, p.ends...)
	}
	locked, there, dead := make(map[int64]*record.Subscription), make(map[int64]struct{}), make(map[int64]struct{})
	in, argument := tx.In("s.subscription_no", nos)
	statements := []database.Statement{{
		SQL: "SELECT " + record.Columns + " FROM subscriptions s WHERE s.deleted_at IS NULL AND " + in +
			" ORDER BY s.subscription_no" + tx.ForUpdateSkipLocked(),
		Args: []any{argument},
		Scan: func(row database.Row) error {
			s, err := record.Scan(row)
			if err == nil {
				locked[s.No] = s
			}
			return err
		},
	}, tx.Clock(&now), {
		SQL:  "SELECT s.subscription_no FROM subscriptions s WHERE s.deleted_at IS NULL AND " + in,
		Args: []any{argument},
		Scan: scanSet(there),
	}}
	if len(numbers) > 0 {
		rows, args := tx.InRows(database.Column{Name: "subscription_no", Values: ofNos}, database.Column{Name: "number", Values: numbers})
		statements = append(statements, database.Statement{
			SQL:  "SELECT subscription_no FROM subscription_deliveries WHERE dead_at IS NOT NULL AND " + rows,
			Args: args,
			Scan: scanSet(dead),
		})
	}
	heads, read := intents.PrepareStates(tx, database.Distinct(intentNos))
	times, compare := messaging.PrepareEntryTimes(tx, ends)
	if err := tx.Pipeline(slices.Concat(statements, []database.Statement{read}, compare, further)...); err != nil {
		return nil, now, err
	}
	states := make(map[int64]intents.State, len(*heads))
	for _, head := range *heads {
		states[head.IntentNo] = head
	}
	for _, p := range portions {
		_, p.dead = dead[p.ledger.no]
		for intentNo, position := range p.positions {
			p.beyond = p.beyond || position > states[intentNo].LastPosition
		}
		for _, end := range p.ends {
			p.beyond = p.beyond || end.Lost(states[end.IntentNo], times)
		}
		if _, exists := there[p.ledger.no]; !exists {
			p.refused = record.ErrNotFound
		} else if locked[p.ledger.no] == nil {
			p.skipped = true
		}
	}
	return locked, now, nil
}

func scanSet(into map[int64]struct{}) func(database.Row) error {
	return func(row database.Row) error {
		var no int64
		err := row.Scan(&no)
		into[no] = struct{}{}
		return err
	}
}

// storePortions sends what the portions store with the commit, a few statements for all of them.
func storePortions(tx *database.Tx, portions []*portion, locked map[int64]*record.Subscription, now time.Time) {
	var rows []record.Delivery
	var nos []int64 // whose rows these are
	var finished record.Pairs
	var entered, moved record.Places
	var offered, lastNumbers, reserved, settled []int64
	for _, p := range portions {
		if p.skipped || p.refused != nil {
			continue
		}
		s := locked[p.ledger.no]
		for _, d := range p.rows {
			if d.Number > s.OfferedThrough {
				rows, nos = append(rows, d), append(nos, p.ledger.no)
			}
		}
		for _, number := range p.acknowledged {
			if number <= s.OfferedThrough {
				finished.Add(p.ledger.no, number)
			}
		}
		for intentNo, position := range p.positions {
			if _, first := p.entered[intentNo]; first {
				entered.Add(p.ledger.no, intentNo, position)
			} else {
				moved.Add(p.ledger.no, intentNo, position)
			}
		}
		p.stored = reached{offered: max(p.given, s.OfferedThrough), last: max(p.given, p.last), reserved: p.end + p.further}
		settled, offered = append(settled, p.ledger.no), append(offered, p.stored.offered)
		lastNumbers, reserved = append(lastNumbers, p.stored.last), append(reserved, p.stored.reserved)
	}
	if len(settled) == 0 {
		return
	}
	tx.SendWithCommit(record.InsertDeliveries(tx, nos, rows, now)...)
	tx.SendWithCommit(deleteFinished(tx, finished)...)
	tx.SendWithCommit(entered.Insert(tx)...)
	tx.SendWithCommit(moved.Update(tx)...)
	tx.SendWithCommit(tx.Update("subscriptions", []database.Column{{Name: "subscription_no", Values: settled}}, []database.Column{
		{Name: "offered_through", Values: offered},
		{Name: "last_number", Values: lastNumbers},
		{Name: "reserved_through", Values: reserved},
	})...)
}

// deleteFinished removes acknowledged deliveries that are no dead letters.
func deleteFinished(tx *database.Tx, finished record.Pairs) []database.Statement {
	if len(finished.Nos) == 0 {
		return nil
	}
	in, args := tx.InRows(database.Column{Name: "subscription_no", Values: finished.Nos},
		database.Column{Name: "number", Values: finished.Numbers})
	return []database.Statement{{SQL: "DELETE FROM subscription_deliveries WHERE dead_at IS NULL AND " + in, Args: args}}
}
