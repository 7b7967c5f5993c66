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
	if locked, ok := tx.Local(lockedHeadsKey{}).(*lockedHeads); ok {
		return locked
	}
	locked := &lockedHeads{tx: tx}
	tx.SetLocal(lockedHeadsKey{}, locked)
	tx.BeforeCommit(func() error {
		tx.SendWithCommit(locked.heads.Statements()...)
		return nil
	})
	return locked
}

// clock reads the transaction's clock once, at the first decision, which comes after locking.
func (locked *lockedHeads) clock() time.Time {
	if locked.now.IsZero() {
		locked.now = locked.tx.Now()
	}
	return locked.now
}

func (locked *lockedHeads) add(h *Head) {
	h.lockedWith, h.locked = locked, true
	at, _ := slices.BinarySearchFunc(locked.heads, h, func(a, b *Head) int { return cmp.Compare(a.IntentNo, b.IntentNo) })
	locked.heads = slices.Insert(locked.heads, at, h)
}

// Lock locks the heads of the given intents, in the order of their numbers and before any other row, until the transaction
// ends. Read everything that a decision about the intents needs after calling Lock. If the transaction holds the heads
// already, Lock returns them again. Locking another head after the first ones is a programming error and panics, because it
// could wait for a transaction that waits for this one. If an intent does not exist, Lock returns ErrIntentNotFound.
func Lock(tx *database.Tx, intentNos ...int64) (Heads, error) {
	wanted := distinct(intentNos)
	if locked := lockedHeadsOf(tx).pick(wanted); len(locked) == len(wanted) {
		return locked, nil
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
	locked := lockedHeadsOf(tx)
	if locked.begun || len(locked.heads) > 0 {
		panic("intents: a transaction locks all its heads in one statement")
	}
	locked.begun = true
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
				locked.add(head)
			}
			return err
		},
	}
	return statement, func() (Heads, error) {
		picked := locked.pick(wanted)
		if len(picked) < len(wanted) && !skipLocked {
			return nil, ErrIntentNotFound
		}
		return picked, nil
	}
}

// pick returns those of the wanted heads that are locked.
func (locked *lockedHeads) pick(wanted []int64) Heads {
	picked := make(Heads, 0, len(wanted))
	for _, no := range wanted {
		if head := locked.heads.Get(no); head != nil {
			picked = append(picked, head)
		}
	}
	return picked
}

// lockedBy returns the heads that a transaction holds.
func lockedBy(tx *database.Tx) Heads {
	if locked, ok := tx.Local(lockedHeadsKey{}).(*lockedHeads); ok {
		return locked.heads
	}
	return nil
}

func distinct(intentNos []int64) []int64 {
	sorted := slices.Clone(intentNos)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}
