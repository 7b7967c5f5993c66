package messaging

import (
	"strconv"
	"strings"
	"time"

	"openintent/channels"
	"openintent/database"
)

// Kinds of work that a committed cause leaves behind, finished intent by intent.
const (
	workDeparture = "departure" // key: the agent
	workRemoval   = "removal"   // key: the deleted channel's number
	workEviction  = "eviction"  // key: the channel's number, and the span of time that evicted; due at the time of the work
	workPurge     = "purge"     // key: empty; due when the retention has passed

	spanMark = "/" // before the span in a key
)

// work is one piece of pending work.
type work struct {
	kind, key string
	intentNo  int64
}

// scheduleWork leaves a piece of work for each intent. One that is there already stays.
func scheduleWork(tx *database.Tx, kind, key string, at time.Time, intentNos ...int64) error {
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

// done removes the piece of work in the transaction that finished it.
func (w work) done(tx *database.Tx) error {
	return tx.Pipeline(database.Statement{
		SQL:  "DELETE FROM pending_work WHERE kind = ? AND key = ? AND intent_no = ?",
		Args: []any{w.kind, w.key, w.intentNo},
	})
}

// channel gives the channel of a piece of work whose key begins with a channel's number.
func (w work) channel() (channels.Key, error) {
	number, _, _ := strings.Cut(w.key, spanMark)
	channelNo, err := strconv.ParseInt(number, 10, 64)
	return channels.Key{IntentNo: w.intentNo, ChannelNo: channelNo}, err
}
