package ledger

import (
	"maps"
	"slices"
	"time"

	"openintent/messaging"
	"openintent/subscriptions/record"
)

// portion is a ledger's part in one transaction.
type portion struct {
	ledger *Ledger
	// whole is true if everything that was sent has to be stored. left are the numbers that were sent and not acknowledged beyond given.
	whole bool
	left  []int64
	// rows are the deliveries that were sent and not acknowledged, up to the number given. settled, last and end are what the
	// database has: up to where deliveries are stored, the newest number, and the last reserved one. further is how many more to
	// reserve.
	rows                               []record.Delivery
	given, settled, last, end, further int64
	positions                          map[int64]int64
	// ends are how the logs ended when the stream read what the portion passes.
	ends []messaging.LogEnd
	// entered are those of the positions' intents of which no position is stored.
	entered      map[int64]struct{}
	acknowledged []int64
	waiters      []chan settlement
	// described is true if somebody waits for the subscription's state, too; state is it, if it is known.
	described bool
	state     *record.Summary

	// stored is what the transaction makes of settled, last and end.
	stored reached

	// skipped, refused and dead are the outcome. skipped is true if somebody else had locked the subscription; refused says
	// why the ledger counts for nothing any more. beyond is true if a log has lost what was sent.
	skipped, dead, beyond bool
	refused               error
}

// reached are numbers of a subscription: up to where deliveries are stored, the newest one, and the last reserved one.
type reached struct{ offered, last, reserved int64 }

// portion takes what has to be stored, or everything. It is nil if nothing has to be stored yet.
func (l *Ledger) portion(whole bool) *portion {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lost != nil {
		return nil
	}
	now := record.ProcessTime()
	whole = whole || l.whole
	if !whole && len(l.waiters) == 0 && !l.low() && !l.ripe(now) {
		return nil
	}
	p := &portion{
		ledger: l, given: l.given, whole: whole, settled: l.settled, last: l.last, end: l.end,
		positions: make(map[int64]int64, len(l.moved)), entered: make(map[int64]struct{}),
		acknowledged: slices.Sorted(maps.Keys(l.acknowledged)), waiters: l.waiters, described: l.described,
	}
	if l.low() {
		p.further = record.BlockSize
	}
	if !p.whole {
		p.given = l.due(now)
	}
	for intentNo := range l.moved {
		p.positions[intentNo] = l.positions[intentNo]
		if end, known := l.ends[intentNo]; known {
			p.ends = append(p.ends, end)
		}
		if _, stored := l.stored[intentNo]; !stored {
			p.entered[intentNo] = struct{}{}
		}
	}
	for _, sent := range l.unsettled {
		d, unfinished := l.unfinished[sent.number]
		switch {
		case !unfinished:
		case sent.number <= p.given:
			p.rows = append(p.rows, d.Delivery)
		default:
			p.left = append(p.left, d.Number)
			if p.positions[d.IntentNo] >= d.Position {
				p.positions[d.IntentNo] = d.Position - 1
			}
		}
	}
	l.waiters, l.described, l.whole = nil, false, false
	return p
}

// noteSettled notes that a portion was stored, and whether some of what was acknowledged are dead letters.
func (l *Ledger) noteSettled(p *portion) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.settled, l.last, l.end = p.stored.offered, p.stored.last, p.stored.reserved
	l.changes++
	l.unsettled = slices.DeleteFunc(l.unsettled, func(sent sentDelivery) bool { return sent.number <= p.stored.offered })
	for _, number := range p.acknowledged {
		delete(l.acknowledged, number)
	}
	if l.noted = (time.Time{}); len(l.acknowledged) > 0 {
		l.noted = record.ProcessTime() // these came meanwhile
	}
	l.storeWhenDue()
	for intentNo, position := range p.positions {
		l.stored[intentNo] = position
		if l.positions[intentNo] == position {
			delete(l.moved, intentNo)
		}
	}
	if l.awaited {
		l.awaited = false
		l.wake()
	}
	outcome := settlement{state: p.state}
	if p.dead {
		outcome.err = errDead
		l.deaths++
	}
	answer(p.waiters, outcome)
}

// putBack returns a portion that was not stored. Those who wait for it wait for the next time.
func (l *Ledger) putBack(p *portion) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lost != nil {
		answer(p.waiters, settlement{err: record.ErrConsumerLost})
		return
	}
	l.waiters, l.described, l.whole = append(l.waiters, p.waiters...), l.described || p.described, l.whole || p.whole
}

// due returns the number up to which deliveries have to be stored by now: up to the last one that is acknowledged or that was sent long
// enough ago. What is younger will probably be acknowledged before it has to be stored.
func (l *Ledger) due(now time.Time) int64 {
	through, patience := l.settled, l.patience()
	for _, sent := range l.unsettled {
		if _, acknowledged := l.acknowledged[sent.number]; acknowledged || now.Sub(sent.at) >= patience {
			through = sent.number
		}
	}
	return through
}

// nextDue returns how soon something must be stored although nobody waits for it: a delivery that is not acknowledged, or an
// acknowledgement. waits is false if nothing has to be.
func (l *Ledger) nextDue(now time.Time) (within time.Duration, waits bool) {
	if !l.noted.IsZero() {
		within, waits = l.noteWithin(now), true
	}
	for _, sent := range l.unsettled {
		if _, unfinished := l.unfinished[sent.number]; unfinished {
			if in := l.patience() - now.Sub(sent.at); !waits || in < within {
				within, waits = in, true
			}
			break
		}
	}
	return max(0, within), waits
}

// storeWhenDue asks the settler to store what nobody waits for once it has to be stored.
func (l *Ledger) storeWhenDue() {
	if within, waits := l.nextDue(record.ProcessTime()); waits {
		l.settler.add(l, within)
	}
}

// ripe reports whether something has to be stored now although nobody waits for it. If that comes later, it asks the settler to come back.
func (l *Ledger) ripe(now time.Time) bool {
	if within, waits := l.nextDue(now); waits && within > 0 {
		l.settler.add(l, within)
		return false
	}
	return len(l.unsettled)+len(l.acknowledged)+len(l.moved) > 0
}
