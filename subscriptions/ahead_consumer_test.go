package subscriptions

import (
	"errors"
	"slices"
)

// modelReplica is a server with at most one stream of the subscription.
type modelReplica struct {
	frozen bool
	stream *modelStream
	// asked are acknowledgements that this replica has not answered yet.
	asked []*modelAsk
	// noted are acknowledgements that came on a stream of them, while the deliveries' stream had the name notedBy.
	noted   []modelAsk
	notedBy int
}

// given is a delivery that a consumer has given a number, and that it has not stored.
type given struct {
	number, intent, position, id int
	// before is the entry before it in its intent's log.
	before       int
	acknowledged bool
}

// modelStream is a stream: a consumer, or one that wants to be.
type modelStream struct {
	name   int
	active bool
	// trusted is until when the stream trusts its lease, by the process's own clock.
	trusted int
	// positions are those in the logs up to which everything was given a number or is nothing for the subscriber.
	positions [modelIntents]int
	// last contains the messages at the positions.
	last [modelIntents]int
	// next and end are what is left of the reserved numbers: from next to end.
	next, end int
	// settled is the highest settled number that the stream knows.
	settled int
	ledger  []*given
	// cautious is the end of each log when the stream took over from one that had not stored everything.
	cautious [modelIntents]int
	live     int
	page     *modelPage
	hands    modelHands
	sending  *given
	flight   *modelFlight
}

// modelPage is what a stream has read of an intent's log.
type modelPage struct {
	intent, after int
	entries       []modelMessage
	// settledFirst is true if no stored delivery had to come before these.
	settledFirst bool
}

func (w *aheadWorld) acquire(r *modelReplica) {
	if r.stream == nil {
		w.names++
		r.stream = &modelStream{name: w.names}
	}
	st := r.stream
	if st.active {
		return
	}
	begun := w.now
	w.pass(4)
	var positions, last, cautious [modelIntents]int
	var next, settled int
	err := w.commit(func(db *modelStore) error {
		now := w.clock()
		if db.consumer != 0 && db.consumer != st.name && now < db.until {
			return errModelFenced
		}
		clean := db.consumer == 0
		if w.off("a takeover knows what was left only by the block") {
			clean = db.settled == db.reserved
		}
		if !w.off("a takeover reserves a new block") {
			db.abandon()
		}
		if w.off("abandoned numbers are remembered") {
			clear(db.abandoned)
		}
		if !clean && !w.off("what lies in the log at a takeover is stored first") {
			for i := range db.logs {
				cautious[i] = len(db.logs[i])
			}
		}
		db.consumer, db.until = st.name, now+modelLease
		db.makeDue(now)
		positions, last, settled, next = db.positions, db.last(), db.settled, db.settled+1
		return nil
	})
	if err != nil {
		return
	}
	w.pass(4)
	st.active, st.positions, st.last, st.settled, st.cautious = true, positions, last, settled, cautious
	st.next, st.end = next, next-1
	st.trust(w, begun)
}

// trust notes that the lease was renewed by a transaction that began at a time.
func (st *modelStream) trust(w *aheadWorld, begun int) {
	st.trusted = begun + modelLease - modelSkew
	if w.off("the lease has a margin") {
		st.trusted = begun + modelLease
	}
	if w.off("the lease counts from before the transaction") {
		st.trusted = w.now + modelLease - modelSkew
	}
	if w.off("a stream trusts its lease no longer than it lasts") {
		st.trusted = 1 << 30
	}
}

func (w *aheadWorld) renew(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active {
		return
	}
	begun := w.now
	w.pass(4)
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name {
			return errModelFenced
		}
		db.until = w.clock() + modelLease
		return nil
	})
	w.pass(4)
	w.outcome(r, err)
	if err == nil {
		st.trust(w, begun)
	}
}

// outcome ends the turn of a stream that was replaced.
func (w *aheadWorld) outcome(r *modelReplica, err error) {
	if errors.Is(err, errModelFenced) {
		w.names++
		r.stream = &modelStream{name: w.names}
	}
}

func (w *aheadWorld) reserve(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active || st.next <= st.end {
		return
	}
	var first, end int
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name {
			return errModelFenced
		}
		first = max(db.reserved, db.settled) + 1
		end = first + modelBlock - 1
		if !w.off("a block is reserved before its numbers are given") {
			db.reserved = end
		}
		return nil
	})
	w.outcome(r, err)
	if err == nil {
		st.next, st.end = first, end
	}
}

func (w *aheadWorld) readPage(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active {
		return
	}
	intent := w.draw(modelIntents)
	after := st.positions[intent]
	if after > len(w.db.logs[intent]) || after > 0 && w.db.logs[intent][after-1].id != st.last[intent] {
		if !w.off("a flush looks whether the logs went back") {
			w.outcome(r, errModelFenced)
		}
		return
	}
	st.live = w.db.live()
	st.hands = modelHands{looked: true}
	st.page = &modelPage{
		intent: intent, after: after, entries: slices.Clone(w.db.logs[intent][after:]),
		settledFirst: !w.db.waiting(w.clock()),
	}
}

// first returns the next entry of the page that the stream may deal with now.
func (st *modelStream) first(w *aheadWorld) (entry modelMessage, position int, there bool) {
	p := st.page
	if p == nil || len(p.entries) == 0 || p.after != st.positions[p.intent] || st.sending != nil {
		return entry, 0, false
	}
	if !p.settledFirst && !w.off("what is stored and due goes first") {
		return entry, 0, false
	}
	return p.entries[0], p.after + 1, true
}

// advance takes the first entry from the page.
func (st *modelStream) advance() {
	p := st.page
	st.positions[p.intent], st.last[p.intent] = p.after+1, p.entries[0].id
	p.entries, p.after = p.entries[1:], p.after+1
}

func (w *aheadWorld) trusts(st *modelStream) bool {
	return st != nil && st.active && w.now < st.trusted
}

// send begins to send the next entry.
func (w *aheadWorld) send(r *modelReplica) {
	st := r.stream
	if !w.trusts(st) {
		return
	}
	entry, position, there := st.first(w)
	switch {
	case !there:
		return
	case !entry.visible:
		st.advance()
		return
	case st.live+len(st.ledger) >= modelWindow && !w.off("the window bounds what is not settled"):
		return
	case st.next > st.end:
		return
	case position <= st.cautious[st.page.intent]:
		w.storeFirst(r, entry, position)
		return
	}
	one := &given{number: st.next, intent: st.page.intent, position: position, id: entry.id, before: st.last[st.page.intent]}
	st.next++
	st.advance()
	st.ledger = append(st.ledger, one)
	w.begin(st, one, true)
}

// storeFirst stores a delivery, with its attempt, and then begins to send it.
func (w *aheadWorld) storeFirst(r *modelReplica, entry modelMessage, position int) {
	st := r.stream
	if len(st.ledger) > 0 || st.flight != nil {
		return
	}
	one := &given{number: st.next, intent: st.page.intent, position: position, id: entry.id}
	f := &modelFlight{rows: []*given{one}, positions: st.positions, last: st.last, expected: st.settled, target: one.number}
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name || !w.off("a flush looks whether the logs went back") && !st.holds(db, f) {
			return errModelFenced
		}
		db.rows[one.number] = modelRow{intent: one.intent, position: position, id: entry.id, attempts: 1, dueAt: w.clock() + modelAckTime}
		db.settled, db.positions[one.intent] = one.number, position
		return nil
	})
	w.outcome(r, err)
	switch {
	case err == nil:
		st.next++
		st.settled = one.number
		st.live++
		st.advance()
		w.begin(st, one, false)
	case errors.Is(err, errModelUnknown):
		st.next++
		st.positions, st.last, st.settled, st.page = w.db.positions, w.db.last(), w.db.settled, nil
	}
}

// offer counts an attempt of a stored delivery, and then begins to send it.
func (w *aheadWorld) offer(r *modelReplica) {
	st := r.stream
	if st == nil || !st.active || st.sending != nil {
		return
	}
	var one *given
	err := w.commit(func(db *modelStore) error {
		if db.consumer != st.name {
			return errModelFenced
		}
		if number := db.due(w.clock()); number != 0 {
			one = w.attempt(db, number)
		}
		return nil
	})
	w.outcome(r, err)
	if err == nil && one != nil {
		w.begin(st, one, false)
	}
}

// attempt counts an attempt of a stored delivery.
func (w *aheadWorld) attempt(db *modelStore, number int) *given {
	row := db.rows[number]
	if !w.off("an attempt to repeat is counted first") {
		row.attempts++
	}
	row.dueAt = w.clock() + modelAckTime
	db.rows[number] = row
	return &given{number: number, intent: row.intent, position: row.position, id: row.id}
}

// fetch numbers what is new and offers one delivery, if nobody has the lease.
func (w *aheadWorld) fetch() {
	var one *given
	err := w.commit(func(db *modelStore) error {
		now := w.clock()
		if db.consumer != 0 && now < db.until {
			return errModelFenced
		}
		if db.consumer != 0 {
			db.consumer, db.until = -1, 0
			if w.off("a fetch leaves a takeover cautious") {
				db.consumer = 0
			}
		}
		db.abandon()
		intent := w.draw(modelIntents)
		for position := db.positions[intent] + 1; position <= len(db.logs[intent]) && db.live() < modelWindow; position++ {
			if entry := db.logs[intent][position-1]; entry.visible {
				db.settled++
				db.rows[db.settled] = modelRow{intent: intent, position: position, id: entry.id, dueAt: now}
			}
			db.positions[intent] = position
		}
		db.reserved = db.settled
		if number := db.due(now); number != 0 {
			one = w.attempt(db, number)
		}
		return nil
	})
	if err == nil && one != nil {
		w.begun(one)
		w.received(one)
	}
}
