package subscriptions

import (
	"context"
	"time"

	"openintent/database"
)

// posted is the condition for subscriptions whose deliveries are posted. An index uses the same condition.
const posted = "(webhook_url IS NOT NULL OR use_endpoint) AND ended_at IS NULL AND deleted_at IS NULL"

// postedSubscriptions reads the subscriptions whose deliveries are posted, and which of them have something to post now.
func (s *Service) postedSubscriptions(ctx context.Context) (found []postedSubscription, due []int64, err error) {
	now := database.Micros(s.db.Now())
	err = s.db.Read(ctx, func(tx *database.Tx) error {
		found, due = nil, nil
		return tx.Pipeline(database.Statement{
			SQL: "SELECT subscription_no, subscriber_id, intent_no IS NULL FROM subscriptions WHERE " + posted +
				" AND (expires_at IS NULL OR expires_at > ?)",
			Args: []any{now},
			Scan: func(row database.Row) error {
				var one postedSubscription
				err := row.Scan(&one.no, &one.subscriber, &one.wide)
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

// setPostAt returns a statement that stores when there is something to post next. The zero time means that nothing waits.
func setPostAt(no int64, at time.Time) database.Statement {
	return database.Statement{
		SQL:  "UPDATE subscriptions SET post_at = ? WHERE subscription_no = ?",
		Args: []any{database.NullMicros(at), no},
	}
}

// setLastError returns a statement that stores why the last post failed. An empty problem means that it did not fail.
func setLastError(no int64, problem string) database.Statement {
	return database.Statement{
		SQL:  "UPDATE subscriptions SET last_error = ? WHERE subscription_no = ?",
		Args: []any{database.NullText(problem), no},
	}
}

// noteProblem stores why nothing can be posted now.
func (s *Service) noteProblem(ctx context.Context, sub *subscription, problem string) error {
	if sub.lastError == problem {
		return nil
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return tx.Pipeline(setLastError(sub.no, problem)) })
}

// queues contains a subscription's unfinished deliveries, by number. There is a queue for each channel, and one for the logged
// events of each intent. The poster keeps the order within a queue.
type queues map[queueKey][]delivery

type queueKey struct{ intentNo, channelNo int64 }

// prepareQueues returns the statement that reads a subscription's queues, and a function that returns them after the statement
// has run.
func prepareQueues(no int64) (database.Statement, func() queues) {
	rows, statement := prepareDeliveries(live, "", no)
	return statement, func() queues {
		found := make(queues)
		for _, d := range *rows {
			key := queueKey{d.intentNo, d.channelNo}
			found[key] = append(found[key], d)
		}
		return found
	}
}

// readQueues reads a subscription's queues.
func (s *Service) readQueues(ctx context.Context, no int64) (found queues, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		statement, queues := prepareQueues(no)
		if err := tx.Pipeline(statement); err != nil {
			return err
		}
		found = queues()
		return nil
	})
	return found, err
}

// next returns when the first delivery of any queue becomes due, or the zero time when there are no deliveries.
func (q queues) next() (next time.Time) {
	for _, queue := range q {
		if at := queue[0].dueAt; next.IsZero() || at.Before(next) {
			next = at
		}
	}
	return next
}
