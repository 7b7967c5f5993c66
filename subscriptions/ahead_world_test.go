package subscriptions

import (
	"fmt"
	"slices"
)

// aheadWorld is the model of numbering ahead: a database, replicas whose steps interleave at every point, and the client of one
// subscription, which handles what it receives and acknowledges it at any replica.
type aheadWorld struct {
	// draw chooses one of so many possibilities.
	draw func(n int) int
	// without is the rule that is switched off, or empty.
	without string
	// handing is true if replicas hand what they write to their streams.
	handing bool
	// now is the processes' clock. The database's clock is ahead of it by a time that changes and stays below the skew.
	now, ahead int
	// calm is true at the end, when nothing fails any more.
	calm bool
	// lossy is true once the database has lost commits. Numbers are then given again, and what was acknowledged comes again.
	lossy    bool
	db, past *modelStore
	replicas []*modelReplica
	names    int
	messages int

	// failure says which promise was broken.
	failure string
	// meaning contains the message of each number. highest is the highest number that was ever given.
	meaning map[int]int
	highest int
	// inbox contains what the client has received and what is not acknowledged.
	inbox []modelAsk
	// begunOnce contains the messages that somebody began to send, or whose attempt is stored. wanted contains those that the
	// client acknowledged, and finished those whose acknowledgement was answered OK.
	begunOnce, wanted, finished map[int]bool
	// settled contains the numbers that were stored as given.
	settled           map[int]bool
	crashes, redriven int
	// reached counts what happened, so that a test notices when its histories no longer reach it.
	reached map[string]int
}

func newAheadWorld(draw func(n int) int, without string) *aheadWorld {
	w := &aheadWorld{
		draw: draw, without: without, db: newModelStore(), meaning: make(map[int]int), begunOnce: make(map[int]bool),
		wanted: make(map[int]bool), finished: make(map[int]bool), settled: make(map[int]bool), reached: make(map[string]int),
	}
	for range 2 + draw(2) {
		w.replicas = append(w.replicas, new(modelReplica))
	}
	w.past = w.db.copy()
	return w
}

// off reports whether a rule is switched off.
func (w *aheadWorld) off(rule string) bool { return w.without == rule }

// clock is the database's clock.
func (w *aheadWorld) clock() int { return w.now + w.ahead }

// pass lets some time pass in the middle of a step.
func (w *aheadWorld) pass(limit int) {
	if !w.calm {
		w.now += w.draw(limit)
	}
}

// fails notes the first promise that was broken.
func (w *aheadWorld) fails(format string, args ...any) {
	if w.failure == "" {
		w.failure = fmt.Sprintf(format, args...)
	}
}

// commit runs a transaction. It may not be stored, or its answer may be lost.
func (w *aheadWorld) commit(do func(db *modelStore) error) error {
	outcome := 9
	if !w.calm {
		outcome = w.draw(10)
	}
	if outcome == 0 {
		return errModelLost
	}
	if err := do(w.db); err != nil {
		return err
	}
	w.check()
	if outcome == 1 {
		w.reached["an answer was lost"]++
		return errModelUnknown
	}
	return nil
}

// check compares what is stored with the promises.
func (w *aheadWorld) check() {
	stored := make(map[[2]int]bool)
	for number, row := range w.db.rows {
		stored[[2]int{row.intent, row.position}] = true
		if row.attempts > 0 {
			w.begunOnce[row.id] = true
		}
		if !w.lossy && w.finished[row.id] && w.settled[number] {
			w.fails("message %d was acknowledged and is stored as number %d", row.id, number)
		}
	}
	for number := range w.db.rows {
		w.settled[number] = true
	}
	for intent, position := range w.db.positions {
		if position > len(w.db.logs[intent]) {
			w.fails("the position %d in log %d is beyond its end", position, intent)
			continue
		}
		for i, entry := range w.db.logs[intent][:position] {
			if entry.visible && !w.wanted[entry.id] && !stored[[2]int{intent, i + 1}] {
				w.fails("the position in log %d passed message %d, which is neither stored nor acknowledged", intent, entry.id)
			}
		}
	}
}

// begin begins to send a delivery. Nobody else has been the consumer since the stream looked.
func (w *aheadWorld) begin(st *modelStream, one *given, first bool) {
	st.sending = one
	w.begun(one)
	if !first || w.lossy {
		return
	}
	if w.db.consumer != st.name {
		w.fails("number %d was sent by a stream that had been replaced", one.number)
	}
	if one.number <= w.highest {
		w.fails("number %d came after number %d", one.number, w.highest)
	}
	w.highest = one.number
	if w.redriven == 0 && len(st.ledger)+w.db.live() > modelWindow+len(w.flying(st)) {
		w.fails("%d deliveries are not settled, and %d are not finished", len(st.ledger), w.db.live())
	}
}

// flying are the deliveries of a flush that is stored and not known to be: they count in the ledger and in the database.
func (w *aheadWorld) flying(st *modelStream) []*given {
	if st.flight == nil {
		return nil
	}
	return st.flight.rows
}

// begun checks a delivery that is about to be sent.
func (w *aheadWorld) begun(one *given) {
	if w.lossy {
		return
	}
	if before, known := w.meaning[one.number]; known && before != one.id {
		w.fails("number %d means messages %d and %d", one.number, before, one.id)
	}
	if w.finished[one.id] {
		w.fails("message %d comes again as number %d, and its acknowledgement was answered OK", one.id, one.number)
	}
	for _, entry := range w.db.logs[one.intent][:one.position-1] {
		if entry.visible && !w.begunOnce[entry.id] && !w.begunOnce[one.id] {
			w.fails("message %d comes before message %d", one.id, entry.id)
		}
	}
	w.meaning[one.number], w.begunOnce[one.id] = one.id, true
}

// deliver hands the delivery to the client. A poisonous one crashes the server before that.
func (w *aheadWorld) deliver(r *modelReplica) {
	st := r.stream
	if st == nil || st.sending == nil {
		return
	}
	one := st.sending
	st.sending = nil
	if log := w.db.logs[one.intent]; one.position <= len(log) && log[one.position-1].poison {
		w.crashes++
		w.reached["a delivery crashed a server"]++
		w.crash(r)
		return
	}
	if w.db.consumer != st.name {
		w.reached["a replaced stream sent what it had begun"]++
	}
	w.received(one)
}

func (w *aheadWorld) received(one *given) {
	if ask := (modelAsk{one.number, one.id}); !slices.Contains(w.inbox, ask) {
		w.inbox = append(w.inbox, ask)
	}
}

// crash ends a replica's process and starts another one.
func (w *aheadWorld) crash(r *modelReplica) { *r = modelReplica{} }

// lose puts the database back to what it was some time ago.
func (w *aheadWorld) lose() {
	w.db, w.lossy = w.past.copy(), true
	w.reached["commits were lost"]++
}

// write appends an entry to a log, at a replica.
func (w *aheadWorld) write(r *modelReplica) {
	intent := w.draw(modelIntents)
	w.messages++
	kind := w.draw(12)
	entry := modelMessage{id: w.messages, visible: kind > 2, poison: kind == 3}
	handed := modelHandover{intent: intent, after: len(w.db.logs[intent]), before: w.db.end(intent), entry: entry}
	w.db.logs[intent] = append(w.db.logs[intent], entry)
	if w.handing {
		w.hand(r, handed)
	}
}

// step does one thing at one replica.
func (w *aheadWorld) step(lossy bool) {
	r := w.replicas[w.draw(len(w.replicas))]
	if r.frozen {
		r.frozen = w.draw(4) != 0
		return
	}
	steps := []func(){
		func() { w.write(r) }, func() { w.write(r) }, func() { w.write(r) },
		func() { w.acquire(r) }, func() { w.acquire(r) }, func() { w.renew(r) }, func() { w.renew(r) },
		func() { w.reserve(r) }, func() { w.reserve(r) },
		func() { w.readPage(r) }, func() { w.readPage(r) }, func() { w.readPage(r) },
		func() { w.send(r) }, func() { w.send(r) }, func() { w.send(r) }, func() { w.send(r) },
		func() { w.deliver(r) }, func() { w.deliver(r) }, func() { w.deliver(r) }, func() { w.deliver(r) },
		func() { w.offer(r) }, func() { w.offer(r) },
		func() { w.flush(r) }, func() { w.flush(r) },
		func() { w.store(r) }, func() { w.store(r) }, func() { w.store(r) },
		func() { w.learn(r) }, func() { w.learn(r) },
		func() { w.ask(r) }, func() { w.ask(r) }, func() { w.ask(r) }, func() { w.askThrough(r) },
		func() { w.answer(r) }, func() { w.answer(r) }, func() { w.answer(r) },
		func() { w.note(r) }, func() { w.note(r) }, func() { w.note(r) }, func() { w.confirm(r) }, func() { w.confirm(r) },
		func() { w.release(r) }, w.fetch, func() { w.crash(r) }, func() { r.frozen = true },
		func() { w.now += 1 + w.draw(3) }, func() { w.now += 1 + w.draw(modelLease+2*modelSkew) },
		func() { w.ahead = w.draw(modelSkew) },
		func() { w.db.giveUp(w.clock()) },
		func() { w.redriven++; w.db.redrive(w.clock()) },
	}
	if w.handing {
		for range 4 {
			steps = append(steps, func() { w.take(r) })
		}
	}
	if lossy {
		steps = append(steps, func() { w.past = w.db.copy() }, w.lose)
	}
	steps[w.draw(len(steps))]()
}

// run makes a history and then lets everything come to rest.
func (w *aheadWorld) run(steps int, lossy bool) {
	for range steps {
		if w.failure != "" {
			return
		}
		w.step(lossy)
	}
	w.calm = true
	for range 200 {
		if w.failure != "" || w.atRest() {
			return
		}
		for _, r := range w.replicas {
			r.frozen = false
			w.work(r)
		}
		w.now += 3
		w.db.giveUp(w.clock())
	}
	w.fails("not everything was delivered and acknowledged")
}

// work does everything that a replica has to do.
func (w *aheadWorld) work(r *modelReplica) {
	for range 3 {
		w.acquire(r)
		w.renew(r)
		w.reserve(r)
		w.offer(r)
		w.deliver(r)
		w.readPage(r)
		for range 3 {
			w.send(r)
			w.deliver(r)
			w.note(r)
		}
		w.flush(r)
		w.store(r)
		w.learn(r)
		w.confirm(r)
		for range w.inbox {
			w.ask(r)
		}
		for range r.asked {
			w.answer(r)
		}
	}
}

// atRest reports whether every message was acknowledged, and redrives dead letters until that is so. A poisonous one stays a
// dead letter, after as many attempts as it may have and the first one, which was not stored.
func (w *aheadWorld) atRest() bool {
	resting, poison := true, 0
	for _, log := range w.db.logs {
		for _, entry := range log {
			if entry.visible && entry.poison {
				poison++
			}
			number, dead := w.dead(entry.id)
			switch {
			case dead && !entry.poison:
				row := w.db.rows[number]
				row.dead, row.attempts = false, 0
				w.db.rows[number], resting = row, false
			case entry.visible && !w.finished[entry.id] && !dead:
				resting = false
			}
		}
	}
	if !w.lossy && w.crashes > (modelAttempts+1)*poison+modelAttempts*poison*w.redriven {
		w.fails("%d poisonous messages crashed %d servers", poison, w.crashes)
	}
	return resting
}

// dead returns the number under which a message is a dead letter.
func (w *aheadWorld) dead(id int) (number int, dead bool) {
	for number, row := range w.db.rows {
		if row.id == id && row.dead {
			return number, true
		}
	}
	return 0, false
}
