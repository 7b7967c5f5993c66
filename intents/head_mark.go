package intents

import (
	"time"

	"openintent/internal/database"
)

// mark identifies one state of a head. If a transaction changes something under an intent's lock that other transactions decide
// by, it also changes one of these values. Each change draws a new tag. Without the tag, a head of another history of the
// database could have the same mark: both histories may continue with the same number of messages, and while the intent's time
// is ahead of the clock, these messages get the same times.
type mark struct {
	position, epoch, tag int64
	at                   time.Time
}

func (h *Head) mark() mark { return mark{h.LastPosition, h.Epoch, h.tag, h.LastAt} }

// Same reports whether two copies of a head show the same state.
func (h *Head) Same(other Head) bool { return h.mark() == other.mark() }

// Expect hands out heads as an earlier transaction left them, for a Lane.WriteAtOnce of the database. The transaction neither
// reads nor locks them before the commit. Its Statements lock those that it has changed; it must change all of them. The commit
// succeeds if all heads are still the same under their locks. Otherwise the transaction stores nothing and fails: with an error
// that database.IsData recognizes, or with a conflict if a lock is not available immediately. Other facts that were known about
// the intents are still true if they cannot change without the heads.
func Expect(tx *database.Tx, left ...Head) Heads {
	locked := lockedHeadsOf(tx)
	if locked.begun || len(locked.heads) > 0 {
		panic("intents: a transaction locks all its heads in one statement")
	}
	locked.begun = true
	for i := range left {
		head, as := left[i], left[i].mark()
		head.expected = &as
		locked.add(&head)
	}
	return locked.heads
}
