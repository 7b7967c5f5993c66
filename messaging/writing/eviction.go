package writing

import (
	"strconv"
	"time"

	"openintent/channels"
	"openintent/internal/database"
)

const (
	// evictionStep is how many messages pass below a channel's floor before their removal is due immediately.
	evictionStep = 128
	// evictionSpan is the span of time in which the removal of fewer messages is scheduled once at most.
	evictionSpan = time.Minute
)

// evict decides what is evicted: it moves the channel's floor, so that at most max_messages are listed. From the commit on, lists
// and streams compare with the floor and show nothing below it. What lies below is removed later, and what an asker may still
// ask for is kept for a while (messaging/sweep_eviction.go). evict schedules that removal: immediately when a whole step of
// messages has passed the floor, and a little later for the messages between the steps.
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

// evictionBatch holds the channels with evicted messages to remove.
type evictionBatch struct {
	intentNos, times []int64
	kinds, keys      []string
}

// add schedules the removal of what is evicted by now.
func (b *evictionBatch) add(key channels.Key) { b.schedule(key, "", 0) }

// addLater schedules the removal of what is evicted in a span of time, for when no commit of that span can still be running.
func (b *evictionBatch) addLater(key channels.Key, span time.Time) {
	b.schedule(key, spanMark+strconv.FormatInt(span.Unix(), 10), database.Micros(span.Add(2*evictionSpan)))
}

func (b *evictionBatch) schedule(key channels.Key, suffix string, due int64) {
	b.kinds = append(b.kinds, WorkEviction)
	b.keys = append(b.keys, strconv.FormatInt(key.ChannelNo, 10)+suffix)
	b.intentNos, b.times = append(b.intentNos, key.IntentNo), append(b.times, due)
}

// statements returns the statements that leave the removal to the sweep.
func (b *evictionBatch) statements(tx *database.Tx) []database.Statement {
	return tx.InsertIgnore("pending_work",
		database.Column{Name: "kind", Values: b.kinds},
		database.Column{Name: "key", Values: b.keys},
		database.Column{Name: "intent_no", Values: b.intentNos},
		database.Column{Name: "created_at", Values: b.times},
	)
}

// ScheduleEviction leaves the messages below a channel's raised floor to the sweep. The floor rises without a message when
// somebody lowers max_messages.
func ScheduleEviction(tx *database.Tx, key channels.Key) error {
	var raised evictionBatch
	raised.add(key)
	return tx.Pipeline(raised.statements(tx)...)
}
