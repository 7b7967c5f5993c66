package subscriptions

import (
	"context"
	"errors"
	"slices"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
)

// posted is the condition for subscriptions whose deliveries are posted. An index uses the same condition.
const posted = "(webhook_url IS NOT NULL OR use_endpoint) AND ended_at IS NULL AND deleted_at IS NULL"

// postedSubscriptions reads the subscriptions whose deliveries are posted, and which of them have something to post now.
func (s *Service) postedSubscriptions(ctx context.Context) (found []postedSubscription, due []int64, err error) {
	now := database.Micros(s.db.Now())
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		found, due = nil, nil
		return tx.Pipeline(database.Statement{
			SQL: "SELECT subscription_no, subscriber_id, COALESCE(intent_no, 0) FROM subscriptions WHERE " + posted +
				" AND (expires_at IS NULL OR expires_at > ?)",
			Args: []any{now},
			Scan: func(row database.Row) error {
				var one postedSubscription
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
func (s *Service) storeProblem(ctx context.Context, sub *subscription, problem string) error {
	if sub.lastError == problem {
		return nil
	}
	err := s.changes.change(ctx, sub.no, wanted{}, func(c *change) error {
		c.locked.lastError = problem
		return nil
	})
	if errors.Is(err, errNotFound) {
		return nil // it was deleted meanwhile
	}
	return err
}

// queues contains a subscription's unfinished deliveries, by number. There is a queue for each channel, and one for the logged
// events of each intent. The poster keeps the order within a queue.
type queues map[queueKey][]delivery

type queueKey struct{ intentNo, channelNo int64 }

// queuesOf puts unfinished deliveries into their queues.
func queuesOf(unfinished []delivery) queues {
	found := make(queues)
	for _, d := range unfinished {
		key := queueKey{d.intentNo, d.channelNo}
		found[key] = append(found[key], d)
	}
	return found
}

// readQueues reads a subscription's queues.
func (s *Service) readQueues(ctx context.Context, no int64) (found queues, err error) {
	err = s.db.ReadFor(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		rows, err := deliveries(tx, unfinishedOf(tx), "", no)
		found = queuesOf(rows)
		return err
	})
	return found, err
}

// due returns the queues whose first delivery is due, ordered by the number of that delivery.
func (q queues) due(now time.Time) [][]delivery {
	due := make([][]delivery, 0, len(q))
	for _, queue := range q {
		if queue[0].due(now) {
			due = append(due, queue)
		}
	}
	slices.SortFunc(due, func(a, b []delivery) int { return int(a[0].number - b[0].number) })
	return due
}

// next returns when the first delivery of any queue becomes due. It is now if one is due, and zero when there are no deliveries.
func (q queues) next(now time.Time) (next time.Time) {
	for _, queue := range q {
		if queue[0].due(now) {
			return now
		}
		next = earliest(next, queue[0].dueAt)
	}
	return next
}
