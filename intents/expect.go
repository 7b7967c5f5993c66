package intents

import (
	"time"

	"openintent/database"
)

// mark is by what a head is known: whoever changes anything under an intent's lock that others decide by, changes one of
// these as well. The tag is drawn anew by each change. Without it a head of another history of the database could have the
// same mark: as many messages may follow on what both have in common, and while the intent's time is ahead of the clock, they
// get the same times.
type mark struct {
	position, epoch, tag int64
	at                   time.Time
}

func (h *Head) mark() mark { return mark{h.LastPosition, h.Epoch, h.tag, h.LastAt} }

// Same tells whether a head is as another one was.
func (h *Head) Same(other Head) bool { return h.mark() == other.mark() }

// Expect hands out heads as an earlier transaction left them, for a Lane.WriteAtOnce of the database. They are neither read nor locked
// before the commit: what they hand out is stored if all of them are still the same under their locks, and otherwise
// nothing of the transaction is, which then fails with an error that database.IsData, or with a conflict if one of the locks
// is not to be had at once. What else was known of the intents holds as far as it cannot change without their heads.
func Expect(tx *database.Tx, left ...Head) Heads {
	held := ledgerOf(tx)
	if held.begun || len(held.heads) > 0 {
		panic("intents: all heads of a transaction are locked at once")
	}
	held.begun = true
	intentNos := make([]int64, len(left))
	for i := range left {
		head, as := left[i], left[i].mark()
		head.expected = &as
		held.hold(&head)
		intentNos[i] = head.IntentNo
	}
	if tx.ForUpdateNoWait() != "" {
		// The update would lock the heads by itself, but wait for each that another transaction holds.
		condition, argument := tx.In("intent_no", intentNos)
		tx.SendWithCommit(database.Statement{
			SQL:  "SELECT intent_no FROM intent_heads WHERE " + condition + " ORDER BY intent_no" + tx.ForUpdateNoWait(),
			Args: []any{argument},
		})
	}
	return held.heads
}
