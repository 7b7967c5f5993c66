package subscriptions

import (
	"context"
	"slices"
	"time"

	"openintent/database"
)

// acknowledge finishes deliveries: those with the given numbers, and all up to a number (0: none) that were made. A number that
// was not delivered yet is refused, and nothing is acknowledged. A number that was acknowledged before does no harm. A dead letter is
// removed only when it is named, and so is one that was redriven and not delivered since.
func (s *Service) acknowledge(ctx context.Context, sub *subscription, numbers []int64, through int64) error {
	numbers = sorted(numbers)
	letters, err := s.deadLettersAmong(ctx, sub.no, numbers)
	if err != nil {
		return err
	}
	return s.db.Write(ctx, func(tx *database.Tx) error { return s.acknowledgeIn(tx, sub, numbers, through, letters) })
}

// acknowledgeIn acknowledges within a transaction. letters are the deliveries among the numbers that were dead letters before it.
func (s *Service) acknowledgeIn(tx *database.Tx, sub *subscription, numbers []int64, through int64, letters []delivery) error {
	if err := lockHeads(tx, letters); err != nil {
		return err
	}
	named, read := deliveriesNumbered(tx, sub.no, numbers)
	locked, _, err := lock(tx, sub.no, read)
	if err != nil {
		return err
	}
	if highest := max(through, last(numbers)); highest > locked.offeredThrough {
		return notDelivered(highest)
	}
	if waiting := firstUnposted(locked, *named); waiting != 0 {
		return notDelivered(waiting)
	}
	if err := s.forgetDead(tx, locked, lockedAmong(*named, letters)); err != nil {
		return err
	}
	tx.SendWithCommit(deleteDeliveries(tx, sub.no, numbers)...)
	if through > 0 {
		tx.SendWithCommit(database.Statement{
			SQL: "DELETE FROM subscription_deliveries WHERE subscription_no = ? AND number <= ? AND due_at IS NOT NULL" +
				" AND dead_at IS NULL AND attempts > 0",
			Args: []any{sub.no, through},
		})
	}
	tx.AfterCommit(func() { s.messaging.WakeSubscription(sub.no) })
	return nil
}

// firstUnposted returns the first of the deliveries that was never posted, or 0. Posts of several channels overtake each other, so
// a number below one that was delivered may still be waiting.
func firstUnposted(s *subscription, rows []delivery) int64 {
	for _, d := range rows {
		if s.posted() && d.attempts == 0 && d.deadAt.IsZero() {
			return d.number
		}
	}
	return 0
}

// deadLettersAmong reads which of the deliveries are dead letters, so that their intents can be locked first. The record of a message
// whose delivery becomes a dead letter after that stays as it is.
func (s *Service) deadLettersAmong(ctx context.Context, no int64, numbers []int64) (letters []delivery, err error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		rows, read := deliveriesNumbered(tx, no, numbers)
		err := tx.Pipeline(read)
		letters = deadAmong(*rows)
		return err
	})
	return letters, err
}

// lockedAmong returns the dead letters among rows whose intents' heads are locked: those that were dead letters before.
func lockedAmong(rows, letters []delivery) []delivery {
	before := numbersOf(letters)
	return slices.DeleteFunc(deadAmong(rows), func(d delivery) bool { return !slices.Contains(before, d.number) })
}

func deadAmong(rows []delivery) (dead []delivery) {
	for _, d := range rows {
		if !d.deadAt.IsZero() {
			dead = append(dead, d)
		}
	}
	return dead
}

// forgetDead removes the record that messages were given up, under the locks of the intents' heads and the subscription. The record
// stays for what another subscription of the agent has given up, too.
func (s *Service) forgetDead(tx *database.Tx, sub *subscription, dead []delivery) error {
	_, order := byPlace(dead)
	for _, intentNo := range order {
		var positions []int64
		for _, d := range dead {
			if d.intentNo == intentNo && d.channelNo != 0 {
				positions = append(positions, d.position)
			}
		}
		others, err := deadElsewhere(tx, sub, intentNo, positions)
		if err != nil {
			return err
		}
		positions = slices.DeleteFunc(positions, func(position int64) bool { return slices.Contains(others, position) })
		if err := s.messaging.ForgetDeadLetters(tx, sub.subscriber, intentNo, positions...); err != nil {
			return err
		}
	}
	return nil
}

// deadElsewhere returns which of the positions in an intent are dead letters of the subscriber's other subscriptions.
func deadElsewhere(tx *database.Tx, sub *subscription, intentNo int64, positions []int64) (dead []int64, err error) {
	in, argument := tx.In("d.position", positions)
	err = tx.Pipeline(database.Statement{
		SQL: `SELECT d.position FROM subscription_deliveries d
			JOIN subscriptions s ON s.subscription_no = d.subscription_no
			WHERE d.intent_no = ? AND d.dead_at IS NOT NULL AND d.subscription_no <> ? AND s.subscriber_id = ?
			AND s.deleted_at IS NULL AND ` + in,
		Args: []any{intentNo, sub.no, sub.subscriber, argument},
		Scan: func(row database.Row) error {
			var position int64
			err := row.Scan(&position)
			dead = append(dead, position)
			return err
		},
	})
	return dead, err
}

// redrive makes dead letters due again, with no attempts counted: those with the given numbers, or all of them.
func (s *Service) redrive(ctx context.Context, sub *subscription, numbers []int64) error {
	if len(numbers) > 0 {
		_, err := s.redriveSome(ctx, sub, sorted(numbers), time.Time{})
		return err
	}
	for begun := s.db.Now(); ; {
		count, err := s.redriveSome(ctx, sub, nil, begun)
		if err != nil || count < sweepBatch {
			return err
		}
	}
}

// redriveSome redrives the dead letters with the given numbers or, without numbers, some of those that were given up by a time.
func (s *Service) redriveSome(ctx context.Context, sub *subscription, numbers []int64, by time.Time) (count int, err error) {
	named := len(numbers) > 0
	var letters []delivery
	if named {
		letters, err = s.deadLettersAmong(ctx, sub.no, numbers)
	} else {
		letters, err = s.deadLettersBy(ctx, sub.no, by)
		numbers = numbersOf(letters)
	}
	if err != nil || len(numbers) == 0 {
		return 0, err
	}
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		if err := lockHeads(tx, letters); err != nil {
			return err
		}
		rows, read := deliveriesNumbered(tx, sub.no, numbers)
		locked, now, err := lock(tx, sub.no, read)
		switch {
		case err != nil:
			return err
		case !locked.active(now):
			return errEnded
		}
		dead := lockedAmong(*rows, letters)
		if named && len(dead) < len(numbers) {
			return notADeadLetter(firstMissing(numbers, dead))
		}
		count = len(dead)
		if err := s.forgetDead(tx, locked, dead); err != nil {
			return err
		}
		for i, d := range dead {
			dead[i] = delivery{number: d.number, dueAt: now}
		}
		tx.SendWithCommit(updateDeliveries(tx, sub.no, dead)...)
		if locked.posted() {
			tx.SendWithCommit(setPostAt(sub.no, now))
		}
		tx.AfterCommit(func() { s.messaging.WakeSubscription(sub.no) })
		return nil
	})
	return count, err
}

func (s *Service) deadLettersBy(ctx context.Context, no int64, by time.Time) (letters []delivery, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		letters, err = deliveries(tx, "d.subscription_no = ? AND d.dead_at IS NOT NULL AND d.dead_at <= ?", " LIMIT ?", no, database.Micros(by), sweepBatch)
		return err
	})
	return letters, err
}

// firstMissing returns the first of the numbers that belongs to no dead letter.
func firstMissing(numbers []int64, dead []delivery) int64 {
	there := numbersOf(dead)
	for _, number := range numbers {
		if !slices.Contains(there, number) {
			return number
		}
	}
	return 0
}

func sorted(numbers []int64) []int64 {
	numbers = slices.Clone(numbers)
	slices.Sort(numbers)
	return slices.Compact(numbers)
}

// last returns the last of sorted numbers, or 0 if there are none.
func last(numbers []int64) int64 {
	if len(numbers) == 0 {
		return 0
	}
	return numbers[len(numbers)-1]
}
