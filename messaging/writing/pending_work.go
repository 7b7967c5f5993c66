package writing

import (
	"strconv"
	"strings"
	"time"

	"openintent/channels"
	"openintent/internal/database"
)

// These are the kinds of work that a commit leaves to do afterwards. The work is done intent by intent.
const (
	WorkDeparture = "departure" // key: the agent
	WorkRemoval   = "removal"   // key: the number of the deleted channel
	WorkEviction  = "eviction"  // key: the channel's number, maybe with the span of time of the eviction; due at created_at
	WorkPurge     = "purge"     // key: empty; due when the retention has passed

	spanMark = "/" // stands before the span in a key
)

// Work is one piece of pending work.
type Work struct {
	Kind, Key string
	IntentNo  int64
}

// ScheduleWork leaves a piece of work for each intent. A piece that is there already stays.
func ScheduleWork(tx *database.Tx, kind, key string, at time.Time, intentNos ...int64) error {
	n := len(intentNos)
	kinds, keys, times := make([]string, n), make([]string, n), make([]int64, n)
	for i := range intentNos {
		kinds[i], keys[i], times[i] = kind, key, database.Micros(at)
	}
	return tx.Pipeline(tx.InsertIgnore("pending_work",
		database.Column{Name: "kind", Values: kinds},
		database.Column{Name: "key", Values: keys},
		database.Column{Name: "intent_no", Values: intentNos},
		database.Column{Name: "created_at", Values: times},
	)...)
}

// Done removes the piece of work, in the transaction that finishes it.
func (w Work) Done(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{
		SQL:  "DELETE FROM pending_work WHERE kind = ? AND key = ? AND intent_no = ?",
		Args: []any{w.Kind, w.Key, w.IntentNo},
	})
}

// Channel returns the channel of a piece of work whose key begins with a channel's number.
func (w Work) Channel() (channels.Key, error) {
	number, _, _ := strings.Cut(w.Key, spanMark)
	channelNo, err := strconv.ParseInt(number, 10, 64)
	return channels.Key{IntentNo: w.IntentNo, ChannelNo: channelNo}, err
}
