package channels

import (
	"time"

	"openintent/intents"
	"openintent/internal/database"
	"openintent/internal/fault"
)

// This file has the rules of a channel's time to live: how long it may be, and when it has run out.

const maxTTL = 100 * 365 * 24 * time.Hour

// ttlOf turns the wire's seconds into a time to live; nil means none.
func ttlOf(seconds *int64) (time.Duration, error) {
	if seconds == nil {
		return 0, nil
	}
	if *seconds < 1 || *seconds > int64(maxTTL/time.Second) {
		return 0, fault.BadField("options.ttl_seconds",
			"must lie between 1 and %d; null is no limit.", int64(maxTTL/time.Second))
	}
	return time.Duration(*seconds) * time.Second, nil
}

func ttlSeconds(ttl time.Duration) *int64 {
	if ttl == 0 {
		return nil
	}
	seconds := int64(ttl / time.Second)
	return &seconds
}

// lapsedBy reports whether the time to live of a channel that nobody has closed ran out by the given time, and when.
func (r *Rules) lapsedBy(count Count, head *intents.Head, now time.Time) (deadline time.Time, lapsed bool) {
	if r.TTL == 0 || head.Status == intents.StatusSuspended {
		return time.Time{}, false
	}
	start := r.CreatedAt
	if count.LastMessageAt.After(start) {
		start = count.LastMessageAt
	}
	if head.ResumedAt.After(start) {
		start = head.ResumedAt
	}
	deadline = start.Add(r.TTL)
	return deadline, !now.Before(deadline)
}

// lapse is a channel with an expired time to live but no stored closing. earliest is when the time to live would have run out
// if nothing had been sent; the index that finds lapsed channels is in this order.
type lapse struct {
	Key
	earliest int64 // in microseconds
}

// lapsedStatement reads into a page, in order, the channels that have lapsed by the given time but have no stored closing. Its
// SQL does what Rules.lapsedBy does in Go. The index channels_open_ttl skips all channels that are younger than their time to
// live. The older channels that it finds but that are still open had a message within that time, or their intent is suspended
// or has resumed since.
func lapsedStatement(now time.Time, after lapse, limit int, page *[]lapse) database.Statement {
	by := database.Micros(now)
	return database.Statement{
		SQL: "SELECT c.intent_no, c.channel_no, c.created_at + c.ttl_seconds * 1000000 AS earliest FROM channels AS c" +
			" JOIN channel_heads AS k ON k.intent_no = c.intent_no AND k.channel_no = c.channel_no" +
			" JOIN intent_heads AS h ON h.intent_no = c.intent_no" +
			" WHERE c.closed_at IS NULL AND c.ttl_seconds IS NOT NULL" +
			" AND c.created_at + c.ttl_seconds * 1000000 BETWEEN ? AND ?" +
			" AND (c.created_at + c.ttl_seconds * 1000000, c.intent_no, c.channel_no) > (?, ?, ?)" +
			" AND COALESCE(k.last_message_at, 0) + c.ttl_seconds * 1000000 <= ?" +
			" AND h.resumed_at + c.ttl_seconds * 1000000 <= ? AND h.status <> ?" +
			" ORDER BY earliest, c.intent_no, c.channel_no LIMIT ?",
		Args: []any{
			after.earliest, by, after.earliest, after.IntentNo, after.ChannelNo, by, by, string(intents.StatusSuspended), limit,
		},
		Scan: func(row database.Row) error {
			var found lapse
			err := row.Scan(&found.IntentNo, &found.ChannelNo, &found.earliest)
			*page = append(*page, found)
			return err
		},
	}
}
