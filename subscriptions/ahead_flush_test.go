package subscriptions

import (
	"errors"
	"slices"
)

// modelFlight is a flush that was begun.
type modelFlight struct {
	rows      []*given
	finished  []*given
	positions [modelIntents]int
	last      [modelIntents]int
	// expected is the highest settled number before the flush, and target the one after it.
	expected, target int
	committed        bool
	uncertain        bool
}

// flush begins to store what the stream has given, perhaps not the newest.
func (w *aheadWorld) flush(r *modelReplica) {
	through := 1 << 30
	if st := r.stream; st != nil && len(st.ledger) > 0 && !w.calm && w.draw(2) == 0 {
		through = st.ledger[w.draw(len(st.ledger))].number
	}
	w.flushThrough(r, through)
}

// flushThrough begins to store what the stream has given, up to a number.
func (w *aheadWorld) flushThrough(r *modelReplica, through int) {
	st := r.stream
	if st == nil || !st.active || st.flight != nil {
		return
	}
	f := &modelFlight{positions: st.positions, last: st.last, expected: st.settled, target: st.settled}
	for _, one := range st.ledger {
		switch {
		case one.number > through:
			if one.position <= f.positions[one.intent] && !w.off("a position does not pass what is not stored yet") {
				f.positions[one.intent], f.last[one.intent] = one.position-1, one.before
			}
			continue
		case one.acknowledged:
			f.finished = append(f.finished, one)
		default:
			f.rows = append(f.rows, one)
		}
		f.target = max(f.target, one.number)
	}
	if st.page != nil && w.off("a position does not pass what was read and not sent") {
		f.positions[st.page.intent] += len(st.page.entries)
	}
	st.flight = f
}

// store commits the flush that was begun. After an unknown outcome it finds out under the lock whether the flush was stored.
func (w *aheadWorld) store(r *modelReplica) {
	st := r.stream
	if st == nil || st.flight == nil || st.flight.committed {
		return
	}
	f := st.flight
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name && !w.off("a flush is refused when somebody else is the consumer") {
			return errModelFenced
		}
		if f.uncertain && db.settled >= f.target && f.target > f.expected && !w.off("a flush whose outcome is unknown is not repeated") {
			return nil
		}
		if !w.off("a flush looks whether the logs went back") && !st.holds(db, f) {
			return errModelFenced
		}
		for _, one := range f.rows {
			db.rows[one.number] = modelRow{
				intent: one.intent, position: one.position, id: one.id, attempts: 1, dueAt: w.clock() + modelAckTime,
			}
		}
		if w.off("a flush stores what was not acknowledged") {
			for _, one := range f.rows {
				delete(db.rows, one.number)
			}
		}
		db.settled = max(db.settled, f.target)
		for i := range f.positions {
			db.positions[i] = max(db.positions[i], f.positions[i])
		}
		return nil
	})
	switch {
	case err == nil:
		f.committed = true
	case errors.Is(err, errModelFenced):
		w.outcome(r, err)
	case errors.Is(err, errModelUnknown):
		f.uncertain = true
	case errors.Is(err, errModelLost):
		if !f.uncertain {
			st.flight = nil
		}
	}
}

// holds reports whether the database has not gone back behind what the stream has seen.
func (st *modelStream) holds(db *modelStore, f *modelFlight) bool {
	if db.settled < f.expected || db.reserved < f.target {
		return false
	}
	for i, position := range f.positions {
		if position > len(db.logs[i]) || position > 0 && db.logs[i][position-1].id != f.last[i] {
			return false
		}
	}
	return true
}

// learn takes the answer to a flush.
func (w *aheadWorld) learn(r *modelReplica) {
	st := r.stream
	if st == nil || st.flight == nil || !st.flight.committed {
		return
	}
	f := st.flight
	st.flight, st.settled = nil, max(st.settled, f.target)
	st.live += len(f.rows)
	st.ledger = slices.DeleteFunc(st.ledger, func(one *given) bool { return one.number <= f.target })
	finished := make(map[int]bool)
	for _, one := range f.finished {
		finished[one.number] = true
	}
	if w.off("what comes during a flush waits for the next") {
		for _, one := range f.rows {
			finished[one.number] = one.acknowledged
		}
	}
	r.asked = slices.DeleteFunc(r.asked, func(a *modelAsk) bool {
		if finished[a.number] {
			w.answeredOK(a.number, a.id)
		}
		return finished[a.number]
	})
}

// release gives the lease back, in one transaction with the last flush.
func (w *aheadWorld) release(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active || st.flight != nil || st.sending != nil {
		return
	}
	w.flushThrough(r, 1<<30)
	f := st.flight
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name || !st.holds(db, f) {
			return errModelFenced
		}
		db.consumer, db.until = 0, 0
		if w.off("a release stores everything first") {
			db.settled = db.reserved
			return nil
		}
		for _, one := range f.rows {
			db.rows[one.number] = modelRow{
				intent: one.intent, position: one.position, id: one.id, attempts: 1, dueAt: w.clock() + modelAckTime,
			}
		}
		db.settled, db.reserved = f.target, f.target
		db.positions = f.positions
		return nil
	})
	if err == nil {
		f.committed = true
		w.learn(r)
	}
	r.stream = nil
}
