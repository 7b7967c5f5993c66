package subscriptions

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"openintent/messaging"
)

// settleMany is how many deliveries that nobody has acknowledged may wait to be stored, and how many acknowledgements, before the ledger is
// stored without delay.
const settleMany = maxUnfinished / 4

// errSpent says that a stream gave a number without having reserved one (makeReady).
var errSpent = errors.New("the reserved numbers are spent")

// ledger is what the active stream of a subscription has sent and not stored yet. The stream numbers deliveries from a block
// that it has reserved, sends them, and notes them here. The settler stores them a little later, many streams' together
// (ledger_settling.go). A delivery that was acknowledged by then is never stored; only the position passes it.
//
// The ledger counts for nothing once another stream has taken over. It is fenced as soon as that is known, and the database
// refuses what it still holds. Those deliveries come again under new numbers.
type ledger struct {
	timer // in the settler's schedule
	no    int64
	// id and subscriber are the subscription's, which never change.
	id, subscriber string
	// name is the consumer's.
	name    string
	settler *settler
	// wake makes the stream look again.
	wake func()

	mutex sync.Mutex
	// next is the number of the next delivery, and end the last reserved number.
	next, end int64
	// given is the last number that was given; settled is the last one that is stored or was acknowledged before. Both are
	// offered_through at the beginning.
	given, settled int64
	// last is the newest number that the database knows.
	last int64
	// positions are how far the stream has come in the intents that its looks have found (learnPositions), and stored is how far that is stored; an
	// intent without a stored position is missing there. moved are those of which the stored position is not the stream's.
	positions, stored map[int64]int64
	moved             map[int64]struct{}
	// ends are how the logs ended that the stream has read beyond what was stored when it found them.
	ends map[int64]messaging.LogEnd
	// unfinished contains the deliveries that the stream has sent and that nobody has acknowledged, by number.
	unfinished map[int64]unfinishedDelivery
	// unsettled contains the deliveries that are not stored, and acknowledged the numbers whose acknowledgement is not stored.
	unsettled    []sentDelivery
	acknowledged map[int64]struct{}
	// noted is when the oldest acknowledgement came that is not stored and that nobody waits for (ledger_acknowledge.go); it is zero if there
	// is none. deaths is how often some of what was acknowledged turned out to be dead letters.
	noted  time.Time
	deaths int
	// lag is how long the agent needs to acknowledge a delivery, smoothed (ledger_acknowledge.go); learned is true if that is known. longest
	// is how long a delivery may wait to be stored at most.
	lag, longest time.Duration
	learned      bool
	// whole is true if the next time everything that was sent is stored, however young it is.
	whole bool
	// awaited is true when the stream waits for room (await).
	awaited bool
	waiters []chan settlement
	// described is true if somebody waits for the subscription's state, too.
	described bool
	// lost says why the ledger was fenced.
	lost error
	// changes is how often the ledger was stored or deliveries were noted as acknowledged.
	changes int
}

// sentDelivery is the number of a delivery and when it was sent, by the process's clock.
type sentDelivery struct {
	number int64
	at     time.Time
}

// unfinishedDelivery is a delivery that nobody has acknowledged, and when it was sent, by the process's clock.
type unfinishedDelivery struct {
	delivery
	at time.Time
}

// settlement is what comes of waiting until a ledger is stored. state is how the subscription is then, if it is known.
type settlement struct {
	state *summary
	err   error
}

// ledgerState is what a ledger had at one moment. What the database has later is never behind it, unless commits were lost.
type ledgerState struct {
	positions    map[int64]int64
	ends         map[int64]messaging.LogEnd
	settled, end int64
	// unsettled is how many deliveries are neither stored nor acknowledged. due is when the first of them is due again; it is zero
	// without one. changes is how often something could have become different.
	unsettled, changes int
	due                time.Time
}

// maxPositions is for how many intents a ledger keeps positions that are stored.
const maxPositions = 4 * maxBehind

// state returns a copy of what decides what to read, or the reason why the ledger was fenced. Of the positions it has those in the given
// intents, as far as the ledger knows them.
func (l *ledger) state(intentNos []int64) (ledgerState, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.forgetPositions()
	state := ledgerState{
		positions: make(map[int64]int64), ends: make(map[int64]messaging.LogEnd), settled: l.settled, end: l.end, changes: l.changes,
	}
	for _, intentNo := range intentNos {
		if position, known := l.positions[intentNo]; known {
			state.positions[intentNo] = position
		}
		if end, known := l.ends[intentNo]; known {
			state.ends[intentNo] = end
		}
	}
	for _, sent := range l.unsettled {
		if d, waits := l.unfinished[sent.number]; waits {
			state.unsettled++
			state.due = earliest(state.due, d.dueAt)
		}
	}
	return state, l.lost
}

// forgetPositions bounds the positions. What it forgets is stored, so the next look at such an intent reads nothing older.
func (l *ledger) forgetPositions() {
	if len(l.positions) <= maxPositions {
		return
	}
	maps.DeleteFunc(l.positions, func(intentNo, _ int64) bool {
		if _, moved := l.moved[intentNo]; moved {
			return false
		}
		delete(l.stored, intentNo)
		delete(l.ends, intentNo)
		return true
	})
}

// learnPositions notes the stored positions of the intents that a look has read and the ledger does not know, and sets the look's positions to
// those of the ledger. What was scanned before the stream was ahead counts as passed.
func (l *ledger) learnPositions(seen *progress, scanned map[int64]scan) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for intentNo := range seen.states {
		if _, known := l.positions[intentNo]; !known {
			stored, there := seen.positions[intentNo]
			if there {
				l.stored[intentNo] = stored
			}
			l.positions[intentNo] = stored
			if read, there := scanned[intentNo]; there && read.through > stored {
				l.positions[intentNo], l.ends[intentNo] = read.through, read.end
			}
			delete(scanned, intentNo)
		}
		seen.positions[intentNo] = l.positions[intentNo]
	}
}

// reads notes how the log of an intent ended when the stream read what it is about to send.
func (l *ledger) reads(intentNo int64, end messaging.LogEnd) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ends[intentNo] = end
}

// position returns how far the stream has come in an intent.
func (l *ledger) position(intentNo int64) int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.positions[intentNo]
}

// spent reports whether the stream has to reserve numbers before it gives another one.
func (l *ledger) spent() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && l.next > l.end
}

// give notes a delivery that is about to be sent, and gives it a number.
func (l *ledger) give(d delivery) (delivery, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.lost != nil:
		return d, l.lost
	case l.next > l.end:
		return d, errSpent
	}
	d.number = l.next
	l.given = l.next
	l.next++
	l.move(d.intentNo, d.position)
	now := processTime()
	l.unsettled = append(l.unsettled, sentDelivery{d.number, now})
	l.unfinished[d.number] = unfinishedDelivery{d, now}
	l.forgetFinished()
	within := l.patience()
	l.whole = l.whole || len(l.unsettled)-len(l.acknowledged) >= settleMany
	if l.whole || l.low() {
		within = 0
	}
	l.settler.add(l, within)
	return d, nil
}

// forgetFinished bounds what the ledger keeps of stored deliveries. They may have been acknowledged elsewhere.
func (l *ledger) forgetFinished() {
	if len(l.unfinished) > 2*maxUnfinished {
		maps.DeleteFunc(l.unfinished, func(number int64, _ unfinishedDelivery) bool { return number <= l.settled })
	}
}

// reserved returns the last reserved number.
func (l *ledger) reserved() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.end
}

// low reports whether further numbers must be reserved.
func (l *ledger) low() bool { return l.end-l.next < blockSize/2 }

// noteStored notes deliveries that were stored before they were sent.
func (l *ledger) noteStored(parcels []parcel) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	now := processTime()
	for _, p := range parcels {
		l.unfinished[p.number] = unfinishedDelivery{p.delivery, now}
	}
}

// pass notes that an intent is gathered up to a position. That is stored with the next deliveries, or when it is far ahead.
func (l *ledger) pass(intentNo, through int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if through <= l.positions[intentNo] {
		return
	}
	l.move(intentNo, through)
	if through-l.stored[intentNo] >= unwritten || len(l.moved) >= maxBehind {
		l.settler.add(l, l.patience())
	}
}

func (l *ledger) move(intentNo, position int64) {
	l.positions[intentNo] = position
	l.moved[intentNo] = struct{}{}
}

// await makes the ledger wake the stream when there may be more room: when something is stored, or when a delivery is acknowledged that is
// not stored. It returns false if that may have happened since a look.
func (l *ledger) await(looked ledgerState) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.awaited = l.changes == looked.changes; l.awaited && l.blocks() {
		l.settler.add(l, 0)
	}
	return l.awaited
}

// neverGave reports whether this stream knows that a number was never given.
func (l *ledger) neverGave(number int64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && number >= l.next
}

// settle stores everything that the stream has sent, and reserves further numbers if there are few.
func (l *ledger) settle(ctx context.Context) error {
	l.mutex.Lock()
	settled := l.flush(true, 0)
	l.mutex.Unlock()
	return await(ctx, settled).err
}

// flush asks the settler to store the ledger within some time: everything that was sent, or only what is acknowledged or was sent long
// enough ago. The channel gets the outcome.
func (l *ledger) flush(whole bool, within time.Duration) <-chan settlement {
	l.whole = l.whole || whole
	settled := make(chan settlement, 1)
	if l.lost != nil || !l.settler.add(l, within) {
		settled <- settlement{err: errConsumerLost}
		return settled
	}
	l.waiters = append(l.waiters, settled)
	return settled
}

func await(ctx context.Context, settled <-chan settlement) settlement {
	select {
	case outcome := <-settled:
		return outcome
	case <-ctx.Done():
		return settlement{err: context.Cause(ctx)}
	}
}

// idle reports whether nothing has to be stored: neither deliveries nor acknowledgements.
func (l *ledger) idle() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && len(l.unsettled) == 0 && len(l.acknowledged) == 0
}

// fence ends the ledger. Whoever waits for it has to look in the database.
func (l *ledger) fence(why error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lost == nil {
		l.lost = why
	}
	answer(l.waiters, settlement{err: errConsumerLost})
	l.waiters = nil
	l.settler.remove(l)
	l.wake()
}

func answer(waiters []chan settlement, outcome settlement) {
	for _, waiter := range waiters {
		waiter <- outcome
	}
}
