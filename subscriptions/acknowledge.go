package subscriptions

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"openintent/internal/database"
)

// acknowledge finishes deliveries: those with the given numbers, and all deliveries up to through that were made (0 means
// none). A number that was not delivered yet is refused, and then nothing is acknowledged. A number that was acknowledged
// before does no harm. A dead letter is removed only if its number is given; the same is true for a dead letter that was
// redriven and not delivered since.
func (s *Service) acknowledge(ctx context.Context, sub *subscription, numbers []int64, through int64) error {
	numbers = sorted(numbers)
	if l := s.settler.of(sub.no); l != nil {
		if _, done, err := l.acknowledge(ctx, numbers, through); done || err != nil {
			return err
		}
	}
	for {
		err := s.changes.change(ctx, sub.no, wanted{numbers: numbers}, func(c *change) error {
			if len(deadAmong(c.rows)) > 0 {
				return errDeadAmong
			}
			return s.acknowledgeLocked(c, numbers, through)
		})
		if errors.Is(err, errDeadAmong) {
			var letters []delivery
			if letters, err = s.deadLettersAmong(ctx, sub.no, numbers); err == nil {
				err = s.acknowledgeDead(ctx, sub.no, numbers, through, letters)
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
func (s *Service) acknowledgeDead(ctx context.Context, no int64, numbers []int64, through int64, letters []delivery) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := lockHeads(tx, letters); err != nil {
			return err
		}
		return changeIn(tx, no, wanted{numbers: numbers}, func(c *change) error {
			if err := s.acknowledgeLocked(c, numbers, through); err != nil {
				return err
			}
			return s.forgetDead(tx, c.locked, lockedAmong(c.rows, letters))
		})
	})
}

// acknowledgeLocked finishes deliveries of a locked subscription.
func (s *Service) acknowledgeLocked(c *change, numbers []int64, through int64) error {
	no := c.locked.no
	through, err := c.locked.settledOf(numbers, through, c.now)
	if err != nil {
		return err
	}
	if waiting := firstUnposted(c.locked, c.rows); waiting != 0 {
		return notDelivered(waiting)
	}
	c.delete(numbersOf(c.rows)...)
	if through > 0 {
		c.also(database.Statement{
			SQL:  "DELETE FROM " + unfinishedOf(c.tx) + " AND d.number <= ? AND d.attempts > 0",
			Args: []any{no, through},
		})
	}
	c.tx.AfterCommit(func() { s.messaging.WakeSubscription(no) })
	return nil
}

// firstUnposted returns the number of the first delivery that was never posted, or 0. Posts of several channels overtake each
// other, so a delivery may still be waiting although one with a higher number was made.
func firstUnposted(s *subscription, rows []delivery) int64 {
	for _, d := range rows {
		if s.posted() && d.attempts == 0 && d.deadAt.IsZero() {
			return d.number
		}
	}
	return 0
}

// deadLettersAmong reads which of the deliveries are dead letters, so that their intents can be locked first. If a delivery
// becomes a dead letter after that, the record of its message stays as it is.
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

// lockedAmong returns those dead letters among rows whose intents' heads are locked, which are those that were dead letters
// before.
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

// forgetDead removes the records that messages were given up. The caller has locked the heads of the intents and the
// subscription. A record stays while a dead letter of another subscription of the agent stands for the message.
func (s *Service) forgetDead(tx *database.Tx, sub *subscription, dead []delivery) error {
	forgotten, err := deadNowhereElse(tx, sub, dead)
	if err != nil {
		return err
	}
	for _, intentNo := range slices.Sorted(maps.Keys(forgotten)) {
		if err := s.messaging.ForgetDeadLetters(tx, sub.subscriber, intentNo, forgotten[intentNo]...); err != nil {
			return err
		}
	}
	return nil
}

// deadNowhereElse returns the places of the messages in dead letters, by intent, without those for which a dead letter of another
// subscription of the agent stands.
func deadNowhereElse(tx *database.Tx, sub *subscription, dead []delivery) (positions map[int64][]int64, err error) {
	left := make(map[[2]int64]struct{})
	for _, d := range dead {
		for _, place := range d.messages() {
			left[place] = struct{}{}
		}
	}
	if len(left) == 0 {
		return nil, nil
	}
	err = tx.Pipeline(prepareDeadElsewhere(tx, sub, slices.Collect(maps.Keys(left)), func(d delivery) {
		for _, place := range d.messages() {
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
func prepareDeadElsewhere(tx *database.Tx, sub *subscription, places [][2]int64, found func(delivery)) []database.Statement {
	intentNos, positions := make([]int64, len(places)), make([]int64, len(places))
	for i, place := range places {
		intentNos[i], positions[i] = place[0], place[1]
	}
	in, args := tx.InRows(database.Column{Name: "d.intent_no", Values: intentNos}, database.Column{Name: "d.position", Values: positions})
	read := func(tables, condition string, args ...any) database.Statement {
		return database.Statement{
			SQL: "SELECT " + deliveryColumns + " FROM " + tables + " WHERE s.subscription_no = d.subscription_no AND s.subscriber_id = ?" +
				" AND s.deleted_at IS NULL AND s.subscription_no <> ? AND d.dead_at IS NOT NULL AND " + condition,
			Args: append([]any{sub.subscriber, sub.no}, args...),
			Scan: func(row database.Row) error {
				d, err := scanDelivery(row)
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
// dead letter, it refuses and redrives none. Without numbers, it redrives all that were given up before it began, in pieces. If it fails
// then, some of them may be redriven.
func (s *Service) redrive(ctx context.Context, sub *subscription, numbers []int64) error {
	if len(numbers) == 0 {
		return s.redriveAll(ctx, sub)
	}
	numbers = sorted(numbers)
	letters, err := s.deadLettersAmong(ctx, sub.no, numbers)
	if err != nil {
		return err
	}
	return s.redriveLetters(ctx, sub, letters, numbers)
}

// redriveAll goes on until it has read the last piece, whether or not somebody else has redriven or acknowledged some of the letters in
// the pieces meanwhile.
func (s *Service) redriveAll(ctx context.Context, sub *subscription) error {
	for begun := s.db.Now(); ; {
		letters, err := s.deadLettersBy(ctx, sub.no, begun)
		if err != nil || len(letters) == 0 {
			return err
		}
		if err := s.redriveLetters(ctx, sub, letters, nil); err != nil || len(letters) < sweepBatch {
			return err
		}
	}
}

// redriveLetters redrives dead letters in one transaction. It leaves out those that no longer are dead letters, but if one of the required
// numbers is not among the others, it refuses.
func (s *Service) redriveLetters(ctx context.Context, sub *subscription, letters []delivery, required []int64) error {
	return s.db.Write(ctx, func(tx *database.Tx) error {
		if err := lockHeads(tx, letters); err != nil {
			return err
		}
		return changeIn(tx, sub.no, wanted{numbers: numbersOf(letters)}, func(c *change) error {
			if !c.locked.active(c.now) {
				return errEnded
			}
			dead := lockedAmong(c.rows, letters)
			if missing := firstMissing(required, dead); missing != 0 {
				return notADeadLetter(missing)
			}
			for _, d := range dead {
				c.update(delivery{number: d.number, dueAt: c.now})
			}
			if c.locked.posted() {
				c.locked.postAt = c.now
			}
			tx.AfterCommit(func() { s.messaging.WakeSubscription(sub.no) })
			return s.forgetDead(tx, c.locked, dead)
		})
	})
}

// deadLettersBy reads a piece of the dead letters that were given up by a time.
func (s *Service) deadLettersBy(ctx context.Context, no int64, by time.Time) (letters []delivery, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) (err error) {
		letters, err = deliveries(tx, deadOf(tx)+" AND d.dead_at <= ?", " LIMIT ?", no, database.Micros(by), sweepBatch)
		return err
	})
	return letters, err
}

// firstMissing returns the first number that belongs to no dead letter, or 0.
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
