package subscriptions

import "slices"

// modelAsk is an acknowledgement that a replica has not answered yet.
type modelAsk struct{ number, id int }

// ask acknowledges a number that the client has received, at some replica, perhaps late, and perhaps again.
func (w *aheadWorld) ask(r *modelReplica) {
	if len(w.inbox) == 0 {
		return
	}
	one := w.inbox[w.draw(len(w.inbox))]
	w.wanted[one.id] = true
	r.asked = append(r.asked, &one)
}

// answeredOK notes that an acknowledgement was answered OK. The client may still repeat it later.
func (w *aheadWorld) answeredOK(number, id int) {
	if w.finished[id] || w.calm {
		w.drop(modelAsk{number, id})
	}
	w.finished[id] = true
}

// drop takes a delivery out of the inbox.
func (w *aheadWorld) drop(asked modelAsk) {
	w.inbox = slices.DeleteFunc(w.inbox, func(one modelAsk) bool { return one == asked })
}

// answer deals with one acknowledgement.
func (w *aheadWorld) answer(r *modelReplica) {
	if len(r.asked) == 0 {
		return
	}
	at := w.draw(len(r.asked))
	a := r.asked[at]
	waits, done := false, false
	err := w.commit(func(db *modelStore) error {
		switch {
		case a.number > max(db.settled, db.reserved):
			if !w.lossy {
				w.fails("number %d was sent, and its acknowledgement is refused", a.number)
			}
			w.drop(*a)
		case db.abandoned[a.number]:
			w.reached["an acknowledgement of a tail was refused"]++
			if w.settled[a.number] && !w.lossy {
				w.fails("number %d was stored, and its acknowledgement was aborted", a.number)
			}
			w.drop(*a)
		case a.number <= db.settled:
			done = true
			if db.rows[a.number].id == a.id { // after a loss, the number may mean another message
				delete(db.rows, a.number)
			}
		default:
			waits = true
		}
		return nil
	})
	switch {
	case waits && w.off("an acknowledgement waits for its flush"):
		w.mark(r, a)
		w.answeredOK(a.number, a.id)
	case waits:
		if !w.mark(r, a) {
			w.reached["an acknowledgement waited at another replica"]++
		}
		return
	case done && err == nil:
		w.answeredOK(a.number, a.id)
	}
	r.asked = slices.Delete(r.asked, at, at+1)
}

// mark notes in the ledger that a delivery was acknowledged.
func (w *aheadWorld) mark(r *modelReplica, a *modelAsk) bool {
	if r.stream == nil {
		return false
	}
	for _, one := range r.stream.ledger {
		if one.number == a.number && one.id == a.id {
			one.acknowledged = true
			return true
		}
	}
	return false
}

// note acknowledges a number that the client has received, on a stream of acknowledgements. The replica that has sent the delivery notes
// that and answers later, when the stream of acknowledgements ends. Others make the client wait, as if it asked.
func (w *aheadWorld) note(r *modelReplica) {
	if len(w.inbox) == 0 {
		return
	}
	if one := w.inbox[w.draw(len(w.inbox))]; w.mark(r, &one) {
		w.wanted[one.id] = true
		if r.notedBy != r.stream.name {
			r.noted, r.notedBy = nil, r.stream.name // the stream of acknowledgements ended with a refusal
		}
		r.noted = append(r.noted, one)
	}
}

// confirm ends a stream of acknowledgements. Its answer waits until all that was noted is flushed, and what had become a row before it was
// noted goes with a flush. If the stream that sent the deliveries was replaced meanwhile, the answer is a refusal.
func (w *aheadWorld) confirm(r *modelReplica) {
	noted, st := r.noted, r.stream
	err := errModelFenced
	if st != nil && st.name == r.notedBy {
		for _, one := range noted {
			if slices.ContainsFunc(st.ledger, func(g *given) bool { return g.number == one.number }) &&
				!w.off("a stream of acknowledgements waits for their flush") {
				return
			}
		}
		err = w.commit(func(db *modelStore) error {
			if db.consumer != st.name {
				return errModelFenced
			}
			for _, one := range noted {
				if db.rows[one.number].id == one.id {
					delete(db.rows, one.number)
				}
			}
			return nil
		})
	}
	for _, one := range noted {
		if err == nil {
			w.reached["a stream of acknowledgements was answered"]++
			w.answeredOK(one.number, one.id)
		}
	}
	r.noted = nil
}

// askThrough acknowledges everything up to a number, if the client has received it all. What is not settled is not covered by
// the answer.
func (w *aheadWorld) askThrough(r *modelReplica) {
	if len(w.inbox) == 0 {
		return
	}
	through := w.inbox[w.draw(len(w.inbox))].number
	for number, row := range w.db.rows {
		if number <= through && row.attempts > 0 && !slices.Contains(w.inbox, modelAsk{number, row.id}) {
			return
		}
	}
	var done []modelAsk
	err := w.commit(func(db *modelStore) error {
		for number, row := range db.rows {
			if number <= through && row.attempts > 0 && !row.dead {
				w.wanted[row.id] = true
				delete(db.rows, number)
				done = append(done, modelAsk{number, row.id})
			}
		}
		return nil
	})
	if err != nil {
		return
	}
	if w.off("acknowledging through stops at what is settled") {
		for _, one := range w.inbox {
			if one.number <= through {
				w.wanted[one.id] = true
				done = append(done, one)
			}
		}
	}
	for _, one := range done {
		w.answeredOK(one.number, one.id)
	}
	if st := r.stream; st != nil {
		for _, one := range st.ledger {
			if one.number <= through && slices.Contains(w.inbox, modelAsk{one.number, one.id}) {
				w.wanted[one.id], one.acknowledged = true, true
			}
		}
	}
}
