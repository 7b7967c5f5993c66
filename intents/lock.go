package intents

import (
	"cmp"
	"slices"
	"time"

	"openintent/internal/database"
)

// lockedHeads are the heads that a transaction has locked, one per intent, and the one reading of the clock by which it decides.
type lockedHeads struct {
	tx    *database.Tx
	heads Heads
	now   time.Time
	begun bool // a locking statement was made; a second one could lock in another order and cause a deadlock
}

type lockedHeadsKey struct{}

// lockedHeadsOf returns the heads that the transaction holds; none at first. Their changes are stored just before the commit, unless the
// transaction has stored them itself (see Statements).
func lockedHeadsOf(tx *database.Tx) *lockedHeads {
	if held, ok := tx.Local(lockedHeadsKey{}).(*lockedHeads); ok {
		return held
	}
	held := &lockedHeads{tx: tx}
	tx.SetLocal(lockedHeadsKey{}, held)
	tx.BeforeCommit(func() error {
		tx.SendWithCommit(held.heads.Statements()...)
		return nil
	})
	return held
}

// clock reads the transaction's clock once, at the first decision, which comes after locking.
func (held *lockedHeads) clock() time.Time {
	if held.now.IsZero() {
		held.now = held.tx.Now()
	}
	return held.now
}

func (held *lockedHeads) hold(h *Head) {
	h.held, h.locked = held, true
	at, _ := slices.BinarySearchFunc(held.heads, h, func(a, b *Head) int { return cmp.Compare(a.IntentNo, b.IntentNo) })
	held.heads = slices.Insert(held.heads, at, h)
}

// Lock locks the heads of the given intents, in the order of their numbers and before any other row, until the transaction
// ends. Read everything that a decision about the intents needs after calling Lock. If the transaction holds the heads
// already, Lock returns them again. Locking another head after the first ones is a programming error and panics, because it
// could wait for a transaction that waits for this one. If an intent does not exist, Lock returns ErrIntentNotFound.
func Lock(tx *database.Tx, intentNos ...int64) (Heads, error) {
	wanted := distinct(intentNos)
	if held := lockedHeadsOf(tx).pick(wanted); len(held) == len(wanted) {
		return held, nil
	}
	statement, heads := PrepareLock(tx, wanted, false)
	if err := tx.Pipeline(statement, PrepareClock(tx)); err != nil {
		return nil, err
	}
	return heads()
}

// PrepareClock returns a statement that reads the transaction's clock. When sent right after the lock, it saves the round trip
// in which the first Now or Next would read the clock.
func PrepareClock(tx *database.Tx) database.Statement { return tx.Clock(&lockedHeadsOf(tx).now) }

// PrepareLock returns the statement of a transaction's first lock, to be sent together with others that follow it, and a
// function that returns the heads once the statement has run. That function returns ErrIntentNotFound if one of the intents
// does not exist; with skipLocked it returns only the heads that no other transaction holds. PrepareLock panics if the
// transaction holds heads already (see Lock).
func PrepareLock(
	tx *database.Tx, intentNos []int64, skipLocked bool,
) (statement database.Statement, heads func() (Heads, error)) {
	held := lockedHeadsOf(tx)
	if held.begun || len(held.heads) > 0 {
		panic("intents: a transaction locks all its heads in one statement")
	}
	held.begun = true
	wanted := distinct(intentNos)
	lockRows := tx.ForUpdateInTurn
	if skipLocked {
		lockRows = tx.ForUpdateSkipLocked
	}
	condition, argument := tx.In("intent_no", wanted)
	// The inner query locks the rows in order. The outer query only adds ids, which never change.
	statement = database.Statement{
		SQL: "SELECT " + headColumns + " FROM (SELECT * FROM intent_heads WHERE " + condition +
			" ORDER BY intent_no" + lockRows() + ") AS h JOIN intents AS i ON i.intent_no = h.intent_no",
		Args: []any{argument},
		Scan: func(row database.Row) error {
			head, err := scanHead(row)
			if err == nil {
				held.hold(head)
			}
			return err
		},
	}
	return statement, func() (Heads, error) {
		picked := held.pick(wanted)
		if len(picked) < len(wanted) && !skipLocked {
			return nil, ErrIntentNotFound
		}
		return picked, nil
	}
}

// pick returns those of the wanted heads that are held.
func (held *lockedHeads) pick(wanted []int64) Heads {
	picked := make(Heads, 0, len(wanted))
	for _, no := range wanted {
		if head := held.heads.Get(no); head != nil {
			picked = append(picked, head)
		}
	}
	return picked
}

// lockedBy returns the heads that a transaction holds.
func lockedBy(tx *database.Tx) Heads {
	if held, ok := tx.Local(lockedHeadsKey{}).(*lockedHeads); ok {
		return held.heads
	}
	return nil
}

func distinct(intentNos []int64) []int64 {
	sorted := slices.Clone(intentNos)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
