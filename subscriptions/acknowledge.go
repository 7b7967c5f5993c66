package subscriptions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"openintent/internal/database"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// errDeadAmong says that some of the acknowledged deliveries are dead letters. It never leaves the room.
var errDeadAmong = errors.New("some of the deliveries are dead letters")

// acknowledge finishes deliveries: those with the given numbers, and all deliveries up to through that were made (0 means
// none). A number that was not delivered yet is refused, and then nothing is acknowledged. A number that was acknowledged
// before does no harm. A dead letter is removed only if its number is given; the same is true for a dead letter that was
// redriven and not delivered since.
func (s *Service) acknowledge(ctx context.Context, sub *record.Subscription, numbers []int64, through int64) error {
	numbers = sorted(numbers)
	if l := s.settler.Of(sub.No); l != nil {
		if _, done, err := l.Acknowledge(ctx, numbers, through); done || err != nil {
			return err
		}
	}
	for {
		err := s.changes.Change(ctx, sub.No, record.Wanted{Numbers: numbers}, func(c *record.Change) error {
			if len(deadAmong(c.Rows)) > 0 {
				return errDeadAmong
			}
			return s.acknowledgeLocked(c, numbers, through)
		})
		if errors.Is(err, errDeadAmong) {
			var letters []record.Delivery
			if letters, err = s.deadLettersAmong(ctx, sub.No, numbers); err == nil {
				err = s.acknowledgeDead(ctx, sub.No, numbers, through, letters)
			}
		}
		var ahead *unsettledError
		if !errors.As(err, &ahead) {
			return err
		}
		if err := s.awaitSettled(ctx, ahead); err != nil {
			return err
		}
	}
}

// acknowledgeDead acknowledges deliveries of which some were dead letters before. It locks the intents of those before the subscription.
func (s *Service) acknowledgeDead(ctx context.Context, no int64, numbers []int64, through int64, letters []record.Delivery) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := delivering.LockHeads(tx, letters); err != nil {
			return err
		}
		return record.ChangeIn(tx, no, record.Wanted{Numbers: numbers}, func(c *record.Change) error {
			if err := s.acknowledgeLocked(c, numbers, through); err != nil {
				return err
			}
			return s.forgetDead(tx, c.Locked, lockedAmong(c.Rows, letters))
		})
	})
}

// acknowledgeLocked finishes deliveries of a locked subscription.
func (s *Service) acknowledgeLocked(c *record.Change, numbers []int64, through int64) error {
	no := c.Locked.No
	through, err := settledOf(c.Locked, numbers, through, c.Now)
	if err != nil {
		return err
	}
	if waiting := firstUnposted(c.Locked, c.Rows); waiting != 0 {
		return notDelivered(waiting)
	}
	c.Delete(record.NumbersOf(c.Rows)...)
	if through > 0 {
		c.Also(database.Statement{
			SQL:  "DELETE FROM " + record.UnfinishedOf(c.Tx) + " AND d.number <= ? AND d.attempts > 0",
			Args: []any{no, through},
		})
	}
	c.Tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
	return nil
}

// firstUnposted returns the number of the first delivery that was never posted, or 0. Posts of several channels overtake each
// other, so a delivery may still be waiting although one with a higher number was made.
func firstUnposted(s *record.Subscription, rows []record.Delivery) int64 {
	for _, d := range rows {
		if s.Posted() && d.Attempts == 0 && d.DeadAt.IsZero() {
			return d.Number
		}
	}
	return 0
}

// deadLettersAmong reads which of the deliveries are dead letters, so that their intents can be locked first. If a delivery
// becomes a dead letter after that, the record of its message stays as it is.
func (s *Service) deadLettersAmong(ctx context.Context, no int64, numbers []int64) (letters []record.Delivery, err error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		rows, read := record.DeliveriesNumbered(tx, no, numbers)
		err := tx.Pipeline(read)
		letters = deadAmong(*rows)
		return err
	})
	return letters, err
}

// lockedAmong returns those dead letters among rows whose intents' heads are locked, which are those that were dead letters
// before.
func lockedAmong(rows, letters []record.Delivery) []record.Delivery {
	before := record.NumbersOf(letters)
	return slices.DeleteFunc(deadAmong(rows), func(d record.Delivery) bool { return !slices.Contains(before, d.Number) })
}

func deadAmong(rows []record.Delivery) (dead []record.Delivery) {
	for _, d := range rows {
		if !d.DeadAt.IsZero() {
			dead = append(dead, d)
		}
	}
	return dead
}

// forgetDead removes the records that messages were given up. The caller has locked the heads of the intents and the
// subscription. A record stays while a dead letter of another subscription of the agent stands for the message.
func (s *Service) forgetDead(tx *database.Tx, sub *record.Subscription, dead []record.Delivery) error {
	forgotten, err := deadNowhereElse(tx, sub, dead)
	if err != nil {
		return err
	}
	for _, intentNo := range slices.Sorted(maps.Keys(forgotten)) {
		if err := s.messaging.ForgetDeadLetters(tx, sub.Subscriber, intentNo, forgotten[intentNo]...); err != nil {
			return err
		}
	}
	return nil
}

// deadNowhereElse returns the places of the messages in dead letters, by intent, without those for which a dead letter of another
// subscription of the agent stands.
func deadNowhereElse(tx *database.Tx, sub *record.Subscription, dead []record.Delivery) (positions map[int64][]int64, err error) {
	left := make(map[[2]int64]struct{})
	for _, d := range dead {
		for _, place := range d.Messages() {
			left[place] = struct{}{}
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	err = tx.Pipeline(prepareDeadElsewhere(tx, sub, slices.Collect(maps.Keys(left)), func(d record.Delivery) {
		for _, place := range d.Messages() {
			delete(left, place)
		}
	})...)
	positions = make(map[int64][]int64, len(left))
	for place := range left {
		positions[place[0]] = append(positions[place[0]], place[1])
	}
	return positions, err
}

// prepareDeadElsewhere returns the statements that read the dead letters of the agent's other subscriptions that may stand for one of the
// places, and call a function with each. The first one finds deliveries by the place that they are stored with. A delivery that stands for
// several places is stored with the newest alone, and no index has the others. So the second one reads all dead letters that stand for
// several, which only subscriptions with windows have. CROSS JOIN makes SQLite read the tables in this order.
func prepareDeadElsewhere(tx *database.Tx, sub *record.Subscription, places [][2]int64, found func(record.Delivery)) []database.Statement {
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, place := range places {
		intentNos[i], positions[i] = place[0], place[1]
	}
	in, args := tx.InRows(database.Column{Name: "d.intent_no", Values: intentNos}, database.Column{Name: "d.position", Values: positions})
	read := func(tables, condition string, args ...any) database.Statement {
		return database.Statement{
			SQL: "SELECT " + record.DeliveryColumns + " FROM " + tables + " WHERE s.subscription_no = d.subscription_no AND s.subscriber_id = ?" +
				" AND s.deleted_at IS NULL AND s.subscription_no <> ? AND d.dead_at IS NOT NULL AND " + condition,
			Args: append([]any{sub.Subscriber, sub.No}, args...),
			Scan: func(row database.Row) error {
				d, err := record.ScanDelivery(row)
				found(d)
				return err
			},
		}
	}
	return []database.Statement{
		read("subscription_deliveries d CROSS JOIN subscriptions s", in, args...),
		read("subscriptions s CROSS JOIN subscription_deliveries d", "(s.compose OR s.digest_seconds > 0) AND d.sources <> ''"),
	}
}

// redrive makes dead letters due again and resets their attempts to zero. It redrives those with the given numbers. If one of these is not a
// dead letter, it refuses and redrives none. Without numbers, it redrives all that were given up before it began, in pieces, and what a
// webhook did not take is posted at once. If it fails then, some of them may be redriven.
func (s *Service) redrive(ctx context.Context, sub *record.Subscription, numbers []int64) error {
	if len(numbers) == 0 {
		if err := s.redriveAll(ctx, sub); err != nil || !sub.Posted() {
			return err
		}
		return s.postAtOnce(ctx, sub.No)
	}
	numbers = sorted(numbers)
	letters, err := s.deadLettersAmong(ctx, sub.No, numbers)
	if err != nil {
		return err
	}
	return s.redriveLetters(ctx, sub, letters, numbers)
}

// redriveAll goes on until it has read the last piece, whether or not somebody else has redriven or acknowledged some of the letters in
// the pieces meanwhile.
func (s *Service) redriveAll(ctx context.Context, sub *record.Subscription) error {
	for begun := s.db.Now(); ; {
		letters, err := s.deadLettersBy(ctx, sub.No, begun)
		if err != nil || len(letters) == 0 {
			return err
		}
		if err := s.redriveLetters(ctx, sub, letters, nil); err != nil || len(letters) < sweepBatch {
			return err
		}
	}
}

// postAtOnce makes due what failed to be posted and waits for its next attempt.
func (s *Service) postAtOnce(ctx context.Context, no int64) error {
	return s.changes.Change(ctx, no, record.Wanted{}, func(c *record.Change) error {
		if !c.Locked.Active(c.Now) {
			return record.ErrEnded
		}
		now := database.Micros(record.AtOnce(c.Now))
		c.Also(database.Statement{
			SQL: "UPDATE subscription_deliveries SET due_at = ? WHERE subscription_no = ? AND due_at > ? AND dead_at IS NULL" +
				" AND attempts > 0",
			Args: []any{now, no, now},
		})
		c.Locked.PostAt = c.Now
		c.Tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
		return nil
	})
}

// redriveLetters redrives dead letters in one transaction. It leaves out those that no longer are dead letters, but if one of the required
// numbers is not among the others, it refuses.
func (s *Service) redriveLetters(ctx context.Context, sub *record.Subscription, letters []record.Delivery, required []int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := delivering.LockHeads(tx, letters); err != nil {
			return err
		}
		return record.ChangeIn(tx, sub.No, record.Wanted{Numbers: record.NumbersOf(letters)}, func(c *record.Change) error {
			if !c.Locked.Active(c.Now) {
				return record.ErrEnded
			}
			dead := lockedAmong(c.Rows, letters)
			if missing := firstMissing(required, dead); missing != 0 {
				return notADeadLetter(missing)
			}
			for _, d := range dead {
				c.Update(record.Delivery{Number: d.Number, DueAt: record.AtOnce(c.Now)})
			}
			if c.Locked.Posted() {
				c.Locked.PostAt = c.Now
			}
			tx.AfterCommit(func() { s.messaging.WakeSubscription(sub.No) })
			return s.forgetDead(tx, c.Locked, dead)
		})
	})
}

// deadLettersBy reads a piece of the dead letters that were given up by a time.
func (s *Service) deadLettersBy(ctx context.Context, no int64, by time.Time) (letters []record.Delivery, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		letters, err = record.Deliveries(tx, record.DeadOf(tx)+" AND d.dead_at <= ?", " LIMIT ?", no, database.Micros(by), sweepBatch)
		return err
	})
	return letters, err
}

// firstMissing returns the first number that belongs to no dead letter, or 0.
func firstMissing(numbers []int64, dead []record.Delivery) int64 {
	there := record.NumbersOf(dead)
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
