package posting

import (
	"context"
	"errors"
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/subscriptions/record"
)

// postedSubscriptions reads the subscriptions whose deliveries are posted, and which of them have something to post now.
func (p *Poster) postedSubscriptions(ctx context.Context) (found []posted, due []int64, err error) {
	now := database.Micros(p.db.Now())
	err = p.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		found, due = nil, nil
		return tx.Pipeline(database.Statement{
			SQL: "SELECT subscription_no, subscriber_id, COALESCE(intent_no, 0) FROM subscriptions WHERE " + record.Posted +
				" AND (expires_at IS NULL OR expires_at > ?)",
			Args: []any{now},
			Scan: func(row database.Row) error {
				var one posted
				err := row.Scan(&one.no, &one.subscriber, &one.intentNo)
				found = append(found, one)
				return err
			},
		}, database.Statement{
			SQL:  dueQuery,
			Args: []any{now},
			Scan: func(row database.Row) error {
				var no int64
				err := row.Scan(&no)
				due = append(due, no)
				return err
			},
		})
	})
	return found, due, err
}

// dueQuery finds the subscriptions that have something to post by a time.
const dueQuery = "SELECT subscription_no FROM subscriptions WHERE post_at <= ? ORDER BY post_at"

// storeProblem stores why nothing can be posted now.
func (p *Poster) storeProblem(ctx context.Context, sub *record.Subscription, problem string) error {
	if sub.LastError == problem {
		return nil
	}
	err := p.changes.Change(ctx, sub.No, record.Wanted{}, func(c *record.Change) error {
		c.Locked.LastError = problem
		return nil
	})
	if errors.Is(err, record.ErrNotFound) {
		return nil // it was deleted meanwhile
	}
	return err
}

// queues contains a subscription's unfinished deliveries, by number. There is a queue for each channel, and one for the logged
// events of each intent. The poster keeps the order within a queue.
type queues map[queueKey][]record.Delivery

type queueKey struct{ intentNo, channelNo int64 }

// queuesOf puts unfinished deliveries into their queues.
func queuesOf(unfinished []record.Delivery) queues {
	found := make(queues)
	for _, d := range unfinished {
		key := queueKey{d.IntentNo, d.ChannelNo}
		found[key] = append(found[key], d)
	}
	return found
}

// readQueues reads a subscription's queues.
func (p *Poster) readQueues(ctx context.Context, no int64) (found queues, err error) {
	err = p.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		rows, err := record.Deliveries(tx, record.UnfinishedOf(tx), "", no)
		found = queuesOf(rows)
		return err
	})
	return found, err
}

// due returns the queues whose first delivery is due, ordered by the number of that delivery.
func (q queues) due(now time.Time) [][]record.Delivery {
	due := make([][]record.Delivery, 0, len(q))
	for _, queue := range q {
		if queue[0].Due(now) {
			due = append(due, queue)
		}
	}
	slices.SortFunc(due, func(a, b []record.Delivery) int { return int(a[0].Number - b[0].Number) })
	return due
}

// next returns when the first delivery of any queue becomes due. It is now if one is due, and zero when there are no deliveries.
func (q queues) next(now time.Time) (next time.Time) {
	for _, queue := range q {
		if queue[0].Due(now) {
			return now
		}
		next = record.Earliest(next, queue[0].DueAt)
	}
	return next
}
