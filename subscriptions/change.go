package subscriptions

import (
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/waiting"
)

// wanted says what a decision has to know besides the subscription itself.
type wanted struct {
	// intentNo asks how far this intent was gathered; 0 asks nothing.
	intentNo int64
	// numbers are those of the deliveries that it has to know.
	numbers []int64
	// unfinished is true if it has to know all unfinished deliveries, which are at most a window.
	unfinished bool
	// waiting is true if it has to know what waits in the windows.
	waiting bool
}

// decision decides what becomes of a locked subscription. After an error nothing of it is stored. It runs again when its transaction does,
// so it keeps nothing of an earlier run. Another goroutine may run it while the caller waits. It runs no statements, unless its caller
// has a transaction of its own (changeIn).
type decision func(c *change) error

// change is a locked subscription and what is decided about it. A transaction makes one or many changes: it locks the subscriptions and
// reads what their decisions have to know (change_read.go), lets each decide, and stores everything together (change_store.go).
type change struct {
	tx  *database.Tx
	now time.Time
	// locked is the subscription. What the decision changes of its progress (storedProgress) is stored.
	locked *subscription

	// position is how far the wanted intent was gathered.
	position int64
	// rows are the wanted deliveries that there are, unfinished are all unfinished ones, and waits is what waits. The deliveries are in
	// the order of their numbers.
	rows, unfinished []delivery
	waits            []waiting.Message

	before               storedProgress
	inserted, updated    []delivery
	deleted              []int64
	intentNo, gatheredTo int64
	further              []database.Statement
}

// insert stores deliveries that were gathered now.
func (c *change) insert(rows ...delivery) { c.inserted = append(c.inserted, rows...) }

// update stores the attempts, times and outcomes of deliveries.
func (c *change) update(rows ...delivery) { c.updated = append(c.updated, rows...) }

// delete removes finished deliveries.
func (c *change) delete(numbers ...int64) { c.deleted = append(c.deleted, numbers...) }

// gathered stores how far the wanted intent is gathered from now on.
func (c *change) gathered(intentNo, through int64) { c.intentNo, c.gatheredTo = intentNo, through }

// also runs further statements with the commit.
func (c *change) also(statements ...database.Statement) { c.further = append(c.further, statements...) }

// changeIn makes one change within a transaction of the caller, who has locked the heads of intents that it needs. If somebody else has
// locked the subscription, it waits. For a deleted subscription it returns errNotFound.
func changeIn(tx *database.Tx, no int64, want wanted, decide decision) error {
	found, err := lockChanges(tx, tx.ForUpdate(), []int64{no}, []wanted{want})
	if err != nil {
		return err
	}
	c := found[no]
	if c == nil {
		return errNotFound
	}
	if err := decide(c); err != nil {
		return err
	}
	storeChanges(tx, []*change{c})
	return nil
}
