package intents

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/loop"
	"openintent/internal/pages"
)

// Events that are older than the retention are removed from the beginning of their logs, a piece in each transaction. What is kept of
// them is a checkpoint. The newest event of a log always stays, so that the log has an end. Each piece is verified before it goes, and
// the checkpoint remembers whether it did.
const (
	// removalPiece bounds the events that one transaction removes, and removalRun the transactions of one run. After each, the
	// sweeper rests for as long as it took.
	removalPiece = 500
	removalRun   = 20
	// removalPause is how long the sweeper rests after it has looked at all intents.
	removalPause = time.Minute
)

// eventRemoval is how far the sweeper has come in the order of the intents' numbers.
type eventRemoval struct {
	retention time.Duration // 0: events are kept for ever
	piece     int
	atOnce    int // intents at which one run looks
	after     int64
	restUntil time.Time
}

// resting reports whether the sweeper has looked at all intents lately. A rest that is longer than it should be comes from a clock that
// was set back, and does not count.
func (r *eventRemoval) resting(now time.Time) bool {
	left := r.restUntil.Sub(now)
	return left > 0 && left <= removalPause
}

// SweepEvents removes events that are older than the retention. A run looks at some intents, and the next one goes on after them. One
// loop calls it; several replicas may remove simultaneously, and each event is removed once, because they decide under the lock.
func (s *Service) SweepEvents(ctx context.Context) error {
	now := s.db.Now()
	if s.removal.retention <= 0 || s.removal.resting(now) {
		return nil
	}
	oldest := now.Add(-s.removal.retention)
	looked, due, err := s.findIntentsWithOldEvents(ctx, oldest)
	if err != nil {
		return err
	}
	pieces := 0
	for _, no := range due {
		for removed := true; removed; pieces++ {
			if pieces == removalRun {
				return err // the next run goes on with this intent
			}
			began := s.db.Now()
			var failed error
			if removed, failed = s.removeEvents(ctx, no, oldest); failed != nil {
				err = errors.Join(err, fmt.Errorf("removing old events of intent %d: %w", no, failed))
			}
			if rested := loop.Rest(ctx, s.db.Now().Sub(began)); rested != nil {
				return rested
			}
		}
		s.removal.after = no
	}
	if len(looked) == s.removal.atOnce {
		s.removal.after = looked[len(looked)-1]
		return err
	}
	s.removal.after, s.removal.restUntil = 0, now.Add(removalPause)
	return err
}

// findIntentsWithOldEvents looks at the next intents in the order of their numbers, and returns those of them with events that are due.
func (s *Service) findIntentsWithOldEvents(ctx context.Context, oldest time.Time) (looked, due []int64, err error) {
	err = s.db.ReadStatement(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT h.intent_no, (SELECT e.created_at FROM events AS e WHERE e.intent_no = h.intent_no" +
				" AND e.sequence < h.last_sequence ORDER BY e.sequence LIMIT 1)" +
				" FROM (SELECT intent_no, last_sequence FROM intent_heads WHERE intent_no > ? ORDER BY intent_no LIMIT ?) AS h" +
				" ORDER BY h.intent_no",
			Args: []any{s.removal.after, s.removal.atOnce},
			Scan: func(row database.Row) error {
				var no int64
				var createdAt *int64
				err := row.Scan(&no, &createdAt)
				looked = append(looked, no)
				if createdAt != nil && database.Time(*createdAt).Before(oldest) {
					due = append(due, no)
				}
				return err
			},
		})
	})
	return looked, due, err
}

// removeEvents removes the next piece of a log, and reports whether it did.
func (s *Service) removeEvents(ctx context.Context, intentNo int64, oldest time.Time) (removed bool, err error) {
	before, next, err := s.judgeEvents(ctx, intentNo, oldest)
	if err != nil || next.sequence == before.sequence {
		return false, err
	}
	return s.settleEvents(ctx, intentNo, before, next)
}

// judgeEvents reads and verifies the next piece of a log. It returns the checkpoint that the log has, and the one after the removal of
// what is old in the piece. It takes no lock, because events never change.
func (s *Service) judgeEvents(ctx context.Context, intentNo int64, oldest time.Time) (before, next checkpoint, err error) {
	err = s.db.ReadHeavy(ctx, caller.ReaderOf(ctx, ""), func(tx *database.Tx) error {
		head, err := ReadHead(tx, intentNo)
		if err != nil {
			return err
		}
		if before, err = checkpointOf(tx, &head); err != nil {
			return err
		}
		log := eventList{after: before.sequence, before: head.LastSequence}
		events, err := log.read(tx, pages.Of("removal", s.removal.piece), intentNo)
		next = before.over(events, oldest)
		return err
	})
	return before, next, err
}

// settleEvents removes a piece under the intent's lock, and reports whether it did: not if another replica has removed it.
func (s *Service) settleEvents(ctx context.Context, intentNo int64, before, next checkpoint) (removed bool, err error) {
	err = s.db.Write(ctx, func(tx *database.Tx) error {
		removed = false
		heads, err := Lock(tx, intentNo)
		if err != nil {
			return err
		}
		present, read := prepareCheckpoint(intentNo)
		if err := tx.Pipeline(read); err != nil || present.sequence != before.sequence {
			return err
		}
		next.removedAt, removed = heads[0].Now(), true
		tx.SendWithCommit(next.store(intentNo)...)
		return nil
	})
	if err == nil && removed && before.firstBreak == 0 && next.firstBreak != 0 {
		s.logger.Warn("events were removed that did not verify", "intent_no", intentNo, "first_break", next.firstBreak)
	}
	return removed && err == nil, err
}

// over returns the checkpoint after the removal of those events that are older than a time. The events are the next ones after the
// checkpoint.
func (c checkpoint) over(events []*Event, oldest time.Time) checkpoint {
	check := newChainCheck()
	check.from(c)
	for _, event := range events {
		if !event.CreatedAt.Before(oldest) {
			break
		}
		check.next(event)
		c.sequence, c.position, c.hash, c.createdAt = event.Sequence, event.Position, event.Hash, event.CreatedAt
		runtime.Gosched()
	}
	if c.firstBreak == 0 && check.breakCount > 0 {
		c.firstBreak = check.breaks[0].sequence
	}
	return c
}
