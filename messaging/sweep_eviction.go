package messaging

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"openintent/channels"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
	"openintent/messaging/writing"
)

// Eviction is decided when a message is stored or max_messages is lowered: the commit moves the channel's floor
// (writing/eviction.go), and from then on lists and streams show nothing below it. This file removes the rows below the floor
// later. Most of them are simply deleted. But a request that its asker may still ask for is noted in evicted_requests, and it is
// kept, with the responses to it, until it is due:
//
//   - A request with a deadline, answered or not, is kept until the deadline. A deadline that lies further ahead than an evicted
//     request may wait is brought forward.
//   - A request without a deadline that nobody has answered gets one: the retention, counted from now. It then expires like any
//     other request.
//   - A request without a deadline that was answered goes immediately.
//   - A request whose obligation is open is kept until somebody discharges it, and keeps the deadline that it has.
//   - The present content of a document stays. When another message takes its place, it is noted as due (writing/documents.go).
//   - A request that had a deadline is also kept as long as its idempotency key holds, because a repeated Ask looks for its answer.
const (
	// askersPatience is how long a request outlives its deadline, so that an asker whose wait has just ended still finds
	// it. It is less if the retention is shorter.
	askersPatience = time.Minute
	// evictedPatience is the least time that an evicted request may have to wait for its deadline. A longer retention gives
	// it more.
	evictedPatience = 24 * time.Hour
)

// evictedMessage is what decides the fate of a message below the floor.
type evictedMessage struct {
	position, ordinal int64
	request           bool
	// answers is the position of the request that a response answers. kept tells whether that request is kept.
	answers            int64
	kept               bool
	createdAt          time.Time
	expiresAt, endedAt time.Time
	open, keyed        bool
	// owed is true while the request's obligation is open.
	owed bool
}

// evictionFates says what becomes of a page of evicted messages.
type evictionFates struct {
	doomed []int64
	// kept are requests that stay until they are due.
	kept, due []int64
	// hastened are requests that had no deadline, or one too far ahead; deadlines are their new ones.
	hastened, deadlines []int64
}

// judge decides what becomes of evicted messages. They come in the channel's order, so that a request comes before the
// responses to it.
func (s *Service) judge(page []evictedMessage, now time.Time) (fates evictionFates) {
	kept := make(map[int64]bool)
	for _, m := range page {
		if !m.request {
			if !m.kept && !kept[m.answers] {
				fates.doomed = append(fates.doomed, m.position)
			}
			continue
		}
		if m.owed {
			kept[m.position] = true
			fates.kept, fates.due = append(fates.kept, m.position), append(fates.due, obligation.Kept)
			continue
		}
		deadline := s.deadlineOf(m, now)
		due := m.due(deadline, min(askersPatience, s.retention))
		if !due.After(now) {
			fates.doomed = append(fates.doomed, m.position)
			continue
		}
		kept[m.position] = true
		fates.kept, fates.due = append(fates.kept, m.position), append(fates.due, database.Micros(due))
		if !deadline.Equal(m.expiresAt) {
			fates.hastened = append(fates.hastened, m.position)
			fates.deadlines = append(fates.deadlines, database.Micros(deadline))
		}
	}
	return fates
}

// deadlineOf returns the deadline of an evicted request. It is zero when the request has none and needs none.
func (s *Service) deadlineOf(m evictedMessage, now time.Time) time.Time {
	switch latest := now.Add(max(s.retention, evictedPatience)); {
	case !m.endedAt.IsZero():
		return m.expiresAt
	case m.expiresAt.After(latest):
		return latest
	case m.expiresAt.IsZero() && m.open:
		return now.Add(s.retention)
	}
	return m.expiresAt
}

// due tells until when a request is kept that has a deadline or has ended. It is zero for any other request.
func (m evictedMessage) due(deadline time.Time, patience time.Duration) (due time.Time) {
	if at := message.Earliest(m.endedAt, deadline); !at.IsZero() {
		due = at.Add(patience)
	}
	if remembered := m.createdAt.Add(writing.KeyLifetime); m.keyed && !m.expiresAt.IsZero() && remembered.After(due) {
		due = remembered
	}
	return due
}

// removeEvicted removes a channel's messages below its floor, a bounded number in each transaction, and ends the piece of
// work with the last. It judges each message before it locks the intent, because doomed messages stay doomed.
func (s *Service) removeEvicted(ctx context.Context, w writing.Work, key channels.Key) error {
	cleared, floor, err := s.evictionProgress(ctx, key)
	for err == nil && cleared < floor {
		err = s.piecemeal(ctx, func() error {
			cleared, err = s.removeEvictedPage(ctx, key, cleared, floor)
			return err
		})
	}
	if err != nil {
		return err
	}
	return s.db.Write(ctx, w.Done)
}

// removeEvictedPage removes the next page of evicted messages, and returns up to which ordinal they are settled then.
func (s *Service) removeEvictedPage(ctx context.Context, key channels.Key, after, floor int64) (cleared int64, err error) {
	page, err := s.evictedMessages(ctx, key, after, floor)
	if err != nil {
		return after, err
	}
	cleared = floor
	if len(page) == sweepBatch {
		cleared = page[len(page)-1].ordinal
	}
	fates := s.judge(page, s.db.Now())
	if err := s.clearMarks(ctx, key.IntentNo, fates.doomed); err != nil {
		return after, err
	}
	return cleared, s.settleEvicted(ctx, key, fates, cleared)
}

// evictionProgress tells up to which ordinal a channel's messages are evicted (floor), and up to which the evicted ones are
// settled (cleared).
func (s *Service) evictionProgress(ctx context.Context, key channels.Key) (cleared, floor int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT cleared, floor FROM channel_heads WHERE intent_no = ? AND channel_no = ?",
			Args: []any{key.IntentNo, key.ChannelNo},
			Scan: func(row database.Row) error { return row.Scan(&cleared, &floor) },
		})
	})
	return cleared, floor, err
}

// evictedMessages reads the next page of evicted messages.
func (s *Service) evictedMessages(ctx context.Context, key channels.Key, after, floor int64) (page []evictedMessage, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: `SELECT m.position, m.ordinal, m.message_type = 'request', COALESCE(m.correlation_position, 0),
				m.created_at, m.expires_at, m.ended_at,
				m.correlation_position IS NOT NULL AND EXISTS (SELECT 1 FROM evicted_requests e
					WHERE e.intent_no = m.intent_no AND e.position = m.correlation_position` + message.OneByOne + `),
				m.message_type = 'request' AND EXISTS (SELECT 1 FROM open_requests o
					WHERE o.intent_no = m.intent_no AND o.position = m.position` + message.OneByOne + `),
				m.message_type = 'request' AND EXISTS (SELECT 1 FROM idempotency_keys k
					WHERE k.created_at = m.created_at AND k.intent_no = m.intent_no AND k.position = m.position` + message.OneByOne + `),
				m.message_type = 'request' AND m.conversation IS NOT NULL AND EXISTS (SELECT 1 FROM obligations o
					WHERE o.intent_no = m.intent_no AND o.position = m.position AND o.discharged_at IS NULL` + message.OneByOne + `)
				FROM messages m WHERE m.intent_no = ? AND m.channel_no = ? AND m.ordinal > ? AND m.ordinal <= ?
				AND NOT (m.conversation IS NOT NULL AND EXISTS (SELECT 1 FROM documents d
					WHERE d.intent_no = m.intent_no AND d.position = m.position` + message.OneByOne + `))
				ORDER BY m.ordinal LIMIT ?`,
			Args: []any{key.IntentNo, key.ChannelNo, after, floor, sweepBatch},
			Scan: func(row database.Row) error {
				m, err := scanEvicted(row)
				page = append(page, m)
				return err
			},
		})
	})
	return page, err
}

func scanEvicted(row database.Row) (m evictedMessage, err error) {
	var createdAt int64
	var expiresAt, endedAt sql.NullInt64
	err = row.Scan(&m.position, &m.ordinal, &m.request, &m.answers, &createdAt, &expiresAt, &endedAt, &m.kept, &m.open, &m.keyed,
		&m.owed)
	m.createdAt = database.Time(createdAt)
	if expiresAt.Valid {
		m.expiresAt = database.Time(expiresAt.Int64)
	}
	if endedAt.Valid {
		m.endedAt = database.Time(endedAt.Int64)
	}
	return m, err
}

// settleEvicted does what was decided about a page, under the intent's lock. A new deadline moves the head, so that a
// writer that has cached the request notices the change.
func (s *Service) settleEvicted(ctx context.Context, key channels.Key, fates evictionFates, cleared int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		heads, err := intents.Lock(tx, key.IntentNo)
		if err != nil {
			return err
		}
		statements := s.deleteAt(tx, key.IntentNo, fates.doomed)
		statements = append(statements, tx.InsertIgnore("evicted_requests",
			database.Column{Name: "intent_no", Values: repeated(key.IntentNo, len(fates.kept))},
			database.Column{Name: "position", Values: fates.kept},
			database.Column{Name: "due_at", Values: fates.due},
		)...)
		if slices.Contains(fates.due, obligation.Kept) { // somebody may have discharged one since it was judged
			statements = append(statements, obligation.Release(tx, heads.Get(key.IntentNo), fates.kept))
		}
		if len(fates.hastened) > 0 {
			heads.Get(key.IntentNo).Touch()
			places := []database.Column{
				{Name: "intent_no", Values: repeated(key.IntentNo, len(fates.hastened))},
				{Name: "position", Values: fates.hastened},
			}
			deadlines := []database.Column{{Name: "expires_at", Values: fates.deadlines}}
			statements = append(statements, tx.Update("messages", places, deadlines)...)
			statements = append(statements, tx.Update("open_requests", places, deadlines)...)
		}
		return tx.Pipeline(append(statements, database.Statement{
			SQL:  "UPDATE channel_heads SET cleared = ? WHERE intent_no = ? AND channel_no = ?",
			Args: []any{cleared, key.IntentNo, key.ChannelNo},
		})...)
	})
}

func repeated(value int64, times int) []int64 {
	values := make([]int64, times)
	for i := range values {
		values[i] = value
	}
	return values
}

// sweepEvictedRequests removes evicted requests that nobody can ask for any more, and the evicted responses to them.
func (s *Service) sweepEvictedRequests(ctx context.Context) error {
	for range sweepBatches {
		due, found, err := s.requestsIn(ctx, "evicted_requests", "due_at")
		if err != nil || found == 0 {
			return err
		}
		for intentNo, positions := range due {
			err = errors.Join(err, s.piecemeal(ctx, func() error { return s.removeRequests(ctx, intentNo, positions) }))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// removeRequests removes requests, with the responses to them that are evicted too. If there are more of those than one
// transaction should touch, the requests wait for another run.
func (s *Service) removeRequests(ctx context.Context, intentNo int64, positions []int64) error {
	var doomed []int64
	err := s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		doomed, err = withEvictedResponses(tx, intentNo, positions)
		return err
	})
	if err != nil {
		return err
	}
	if err := s.clearMarks(ctx, intentNo, doomed); err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if _, err := intents.Lock(tx, intentNo); err != nil {
			return err
		}
		doomed, err := withEvictedResponses(tx, intentNo, positions)
		if err != nil {
			return err
		}
		return tx.Pipeline(s.deleteAt(tx, intentNo, doomed)...)
	})
}

// withEvictedResponses returns the evicted responses to requests and, unless there are too many of them, the requests.
func withEvictedResponses(tx *database.Tx, intentNo int64, requests []int64) (doomed []int64, err error) {
	in, argument := tx.In("m.correlation_position", requests)
	err = tx.Pipeline(database.Statement{
		SQL: "SELECT m.position FROM messages m WHERE m.intent_no = ? AND " + in + " AND m.ordinal <= (SELECT h.floor" +
			" FROM channel_heads h WHERE h.intent_no = m.intent_no AND h.channel_no = m.channel_no" + message.OneByOne + ") LIMIT ?",
		Args: []any{intentNo, argument, sweepBatch},
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			doomed = append(doomed, position)
			return err
		},
	})
	if len(doomed) < sweepBatch {
		doomed = append(doomed, requests...)
	}
	return doomed, err
}
