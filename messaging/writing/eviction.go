package writing

import (
	"strconv"
	"time"

	"openintent/channels"
	"openintent/database"
)

const (
	// evictionStep is how many messages pass below a channel's floor before their removal is due at once.
	evictionStep = 128
	// evictionSpan is how often the removal of fewer is scheduled at most.
	evictionSpan = time.Minute
)

// evict moves the channel's floor, so that at most max_messages are listed, and schedules the removal of what lies below:
// at once when a whole step of messages has passed the floor, and a little later for what comes between the steps.
func (a *appender) evict(channel *channels.Rules, count *channels.Count, before channels.Count) {
	floor := count.Messages - channel.MaxMessages
	if floor <= count.Floor {
		return
	}
	at := count.LastMessageAt
	if floor/evictionStep != count.Floor/evictionStep || channel.MaxMessages < evictionStep && count.Floor == 0 {
		a.evicting.add(channel.Key)
	}
	if span := at.Truncate(evictionSpan); count.Floor == 0 || before.LastMessageAt.Before(span) {
		a.evicting.addLater(channel.Key, span)
	}
	count.Floor = floor
}

// evictionBatch holds channels whose evicted messages are to be removed.
type evictionBatch struct {
	intentNos, times []int64
	kinds, keys      []string
}

// add schedules the removal of what is evicted by now.
func (b *evictionBatch) add(key channels.Key) { b.schedule(key, "", 0) }

// addLater schedules the removal of what a span of time evicts, for when no commit of that span can be under way any more.
func (b *evictionBatch) addLater(key channels.Key, span time.Time) {
	b.schedule(key, spanMark+strconv.FormatInt(span.Unix(), 10), database.Micros(span.Add(2*evictionSpan)))
}

func (b *evictionBatch) schedule(key channels.Key, suffix string, due int64) {
	b.kinds = append(b.kinds, WorkEviction)
	b.keys = append(b.keys, strconv.FormatInt(key.ChannelNo, 10)+suffix)
	b.intentNos, b.times = append(b.intentNos, key.IntentNo), append(b.times, due)
}

// statements leave the removal to the sweep.
func (b *evictionBatch) statements(tx *database.Tx) []database.Statement {
	return tx.InsertIgnore("pending_work",
		database.Column{Name: "kind", Values: b.kinds},
		database.Column{Name: "key", Values: b.keys},
		database.Column{Name: "intent_no", Values: b.intentNos},
		database.Column{Name: "created_at", Values: b.times},
	)
}

// ScheduleEviction leaves the messages below a channel's raised floor to be removed.
func ScheduleEviction(tx *database.Tx, key channels.Key) error {
	var raised evictionBatch
	raised.add(key)
	return tx.Pipeline(raised.statements(tx)...)
}
