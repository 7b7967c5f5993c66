package record

import (
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/waiting"
)

// Wanted says what a decision has to know besides the subscription itself.
type Wanted struct {
	// IntentNo asks how far this intent was gathered; 0 asks nothing.
	IntentNo int64
	// Numbers are those of the deliveries that it has to know.
	Numbers []int64
	// Unfinished is true if it has to know all unfinished deliveries, which are at most a window.
	Unfinished bool
	// Waiting is true if it has to know what waits in the windows.
	Waiting bool
}

// Decision decides what becomes of a locked subscription. After an error nothing of it is stored. It runs again when its transaction does,
// so it keeps nothing of an earlier run. Another goroutine may run it while the caller waits. It runs no statements, unless its caller
// has a transaction of its own (ChangeIn).
type Decision func(c *Change) error

// Change is a locked subscription and what is decided about it. A transaction makes one or many changes: it locks the subscriptions and
// reads what their decisions have to know (change_read.go), lets each decide, and stores everything together (change_store.go).
type Change struct {
	Tx  *database.Tx
	Now time.Time
	// Locked is the subscription. What the decision changes of its progress (storedProgress) is stored.
	Locked *Subscription

	// Position is how far the wanted intent was gathered.
	Position int64
	// Rows are the wanted deliveries that there are, Unfinished are all unfinished ones, and Waits is what waits. The deliveries are in
	// the order of their numbers.
	Rows, Unfinished []Delivery
	Waits            []waiting.Message

	before               storedProgress
	inserted, updated    []Delivery
	deleted              []int64
	intentNo, gatheredTo int64
	further              []database.Statement
}

// Insert stores deliveries that were gathered now.
func (c *Change) Insert(rows ...Delivery) { c.inserted = append(c.inserted, rows...) }

// Update stores the attempts, times and outcomes of deliveries.
func (c *Change) Update(rows ...Delivery) { c.updated = append(c.updated, rows...) }

// Delete removes finished deliveries.
func (c *Change) Delete(numbers ...int64) { c.deleted = append(c.deleted, numbers...) }

// Gathered stores how far the wanted intent is gathered from now on.
func (c *Change) Gathered(intentNo, through int64) { c.intentNo, c.gatheredTo = intentNo, through }

// Also runs further statements with the commit.
func (c *Change) Also(statements ...database.Statement) { c.further = append(c.further, statements...) }

// ChangeIn makes one change within a transaction of the caller, who has locked the heads of intents that it needs. If somebody else has
// locked the subscription, it waits. For a deleted subscription it returns ErrNotFound.
func ChangeIn(tx *database.Tx, no int64, want Wanted, decide Decision) error {
	found, err := lockChanges(tx, tx.ForUpdate(), []int64{no}, []Wanted{want})
	if err != nil {
		return err
	}
	c := found[no]
	if c == nil {
		return ErrNotFound
	}
	if err := decide(c); err != nil {
		return err
	}
	storeChanges(tx, []*Change{c})
	return nil
}
