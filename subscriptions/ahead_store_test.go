package subscriptions

import (
	"errors"
	"maps"
	"slices"
)

// The times of the model of numbering ahead, in steps of its clock.
const (
	modelLease    = 12
	modelSkew     = 4
	modelAckTime  = 8
	modelAttempts = 2
	modelWindow   = 4
	modelBlock    = 5
	modelIntents  = 2
)

var (
	errModelLost    = errors.New("the transaction was not stored")
	errModelUnknown = errors.New("the transaction was stored, and its answer was lost")
	errModelFenced  = errors.New("somebody else is the consumer")
)

// modelMessage is an entry of an intent's log.
type modelMessage struct {
	id      int
	visible bool
	// poison crashes the server that sends it.
	poison bool
}

// modelRow is a stored delivery.
type modelRow struct {
	intent, position, id, attempts, dueAt int
	dead                                  bool
}

// modelStore is what the database stores of one subscription and of the intents that it follows.
type modelStore struct {
	logs      [modelIntents][]modelMessage
	positions [modelIntents]int
	rows      map[int]modelRow
	// settled is the highest number that is stored as given. reserved is the highest number that the consumer may give.
	settled, reserved int
	// abandoned contains the numbers that were reserved and not settled when their consumer was replaced.
	abandoned map[int]bool
	// consumer has the lease until a time. It stays set until a consumer ends that has stored everything, or another one takes
	// over.
	consumer, until int
}

func newModelStore() *modelStore {
	return &modelStore{rows: make(map[int]modelRow), abandoned: make(map[int]bool)}
}

func (s *modelStore) copy() *modelStore {
	other := *s
	other.rows, other.abandoned = maps.Clone(s.rows), maps.Clone(s.abandoned)
	for i := range s.logs {
		other.logs[i] = slices.Clone(s.logs[i])
	}
	return &other
}

// abandon fences the consumer: no number of its block is given again.
func (s *modelStore) abandon() {
	for number := s.settled + 1; number <= s.reserved; number++ {
		s.abandoned[number] = true
	}
	s.settled = s.reserved
}

// last returns the messages at the positions.
func (s *modelStore) last() (ids [modelIntents]int) {
	for i, position := range s.positions {
		if position > 0 {
			ids[i] = s.logs[i][position-1].id
		}
	}
	return ids
}

// end returns the message at the end of a log, or 0.
func (s *modelStore) end(intent int) int {
	if log := s.logs[intent]; len(log) > 0 {
		return log[len(log)-1].id
	}
	return 0
}

// live counts the unfinished rows.
func (s *modelStore) live() (count int) {
	for _, row := range s.rows {
		if !row.dead {
			count++
		}
	}
	return count
}

// due returns the lowest number that is due, or 0.
func (s *modelStore) due(now int) int {
	for _, number := range slices.Sorted(maps.Keys(s.rows)) {
		if row := s.rows[number]; !row.dead && row.attempts < modelAttempts && row.dueAt <= now {
			return number
		}
	}
	return 0
}

// waiting reports whether a stored delivery comes before everything new. A delivery that was never made does, whatever the clock
// says: the clock may have been set back since the delivery was stored.
func (s *modelStore) waiting(now int) bool {
	for _, row := range s.rows {
		if !row.dead && row.attempts == 0 {
			return true
		}
	}
	return s.due(now) != 0
}

// giveUp turns the deliveries whose last attempt was not acknowledged in time into dead letters.
func (s *modelStore) giveUp(now int) {
	for number, row := range s.rows {
		if row.attempts >= modelAttempts && row.dueAt <= now {
			row.dead = true
			s.rows[number] = row
		}
	}
}

func (s *modelStore) redrive(now int) {
	for number, row := range s.rows {
		if row.dead {
			row.dead, row.attempts, row.dueAt = false, 0, now
			s.rows[number] = row
		}
	}
}

// makeDue makes everything due that was delivered and is not acknowledged.
func (s *modelStore) makeDue(now int) {
	for number, row := range s.rows {
		if row.attempts > 0 && row.attempts < modelAttempts && row.dueAt > now {
			row.dueAt = now
			s.rows[number] = row
		}
	}
}
