package ledger

import (
	"context"
	"errors"
	"maps"
	"sync"
	"time"

	"openintent/intents"
	"openintent/messaging"
	"openintent/subscriptions/record"
	"openintent/subscriptions/schedule"
)

// settleMany is how many deliveries that nobody has acknowledged may wait to be stored, and how many acknowledgements, before the ledger is
// stored without delay.
const settleMany = record.MaxUnfinished / 4

// errSpent says that a stream gave a number without having reserved one (makeReady).
var errSpent = errors.New("the reserved numbers are spent")

// Ledger is what the active stream of a subscription has sent and not stored yet. The stream numbers deliveries from a block
// that it has reserved, sends them, and notes them here. The settler stores them a little later, many streams' together
// (ledger_settling.go). A delivery that was acknowledged by then is never stored; only the position passes it.
//
// The ledger counts for nothing once another stream has taken over. It is fenced as soon as that is known, and the database
// refuses what it still holds. Those deliveries come again under new numbers.
type Ledger struct {
	schedule.Timer // in the settler's schedule
	no             int64
	// id and subscriber are the subscription's, which never change.
	id, Subscriber string
	// Consumer is the consumer's name.
	Consumer string
	settler  *Settler
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
	// positions are how far the stream has come in the intents that its looks have found (LearnPositions), and stored is how far that is stored; an
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
	record.Delivery
	at time.Time
}

// settlement is what comes of waiting until a ledger is stored. state is how the subscription is then, if it is known.
type settlement struct {
	state *record.Summary
	err   error
}

// State is what a ledger had at one moment. What the database has later is never behind it, unless commits were lost.
type State struct {
	Positions    map[int64]int64
	Ends         map[int64]messaging.LogEnd
	Settled, End int64
	// Unsettled is how many deliveries are neither stored nor acknowledged. Due is when the first of them is due again; it is zero
	// without one. changes is how often something could have become different.
	Unsettled, changes int
	Due                time.Time
}

// NewLedger makes the ledger of a subscription's active stream, which is the consumer with a name. wake makes the stream look again. The
// ledger counts once the stream has reserved numbers (begin) and the settler knows it (open).
func (s *Settler) NewLedger(sub *record.Subscription, consumer string, wake func()) *Ledger {
	return &Ledger{
		no: sub.No, id: sub.ID, Subscriber: sub.Subscriber, Consumer: consumer, settler: s, wake: wake,
		longest:    min(longestSettleDelay, sub.AcknowledgeTime()/2),
		unfinished: make(map[int64]unfinishedDelivery), acknowledged: make(map[int64]struct{}), moved: make(map[int64]struct{}),
		positions: make(map[int64]int64), stored: make(map[int64]int64), ends: make(map[int64]messaging.LogEnd),
	}
}

// Begin reserves the first numbers, in a change of the subscription. The transaction may run again.
func (l *Ledger) Begin(locked *record.Subscription) {
	locked.Abandon()
	l.next, l.end = locked.LastNumber+1, locked.LastNumber+record.BlockSize
	l.given, l.settled = locked.OfferedThrough, locked.OfferedThrough
	l.last, locked.ReservedThrough = locked.LastNumber, l.end
}

// Scan is how far a log was read, and how the log ended then.
type Scan struct {
	Through int64
	End     messaging.LogEnd
}

// maxPositions is for how many intents a ledger keeps positions that are stored.
const maxPositions = 4 * record.MaxBehind

// State returns a copy of what decides what to read, or the reason why the ledger was fenced. Of the positions it has those in the given
// intents, as far as the ledger knows them.
func (l *Ledger) State(intentNos []int64) (State, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.forgetPositions()
	state := State{
		Positions: make(map[int64]int64), Ends: make(map[int64]messaging.LogEnd), Settled: l.settled, End: l.end, changes: l.changes,
	}
	for _, intentNo := range intentNos {
		if position, known := l.positions[intentNo]; known {
			state.Positions[intentNo] = position
		}
		if end, known := l.ends[intentNo]; known {
			state.Ends[intentNo] = end
		}
	}
	for _, sent := range l.unsettled {
		if d, waits := l.unfinished[sent.number]; waits {
			state.Unsettled++
			state.Due = record.Earliest(state.Due, d.DueAt)
		}
	}
	return state, l.lost
}

// forgetPositions bounds the positions. What it forgets is stored, so the next look at such an intent reads nothing older.
func (l *Ledger) forgetPositions() {
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

// LearnPositions notes the stored positions of the intents that a look has read and the ledger does not know, and sets the look's positions
// to those of the ledger. What was scanned before the stream was ahead counts as passed.
func (l *Ledger) LearnPositions(states map[int64]intents.State, positions map[int64]int64, scanned map[int64]Scan) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	for intentNo := range states {
		if _, known := l.positions[intentNo]; !known {
			stored, there := positions[intentNo]
			if there {
				l.stored[intentNo] = stored
			}
			l.positions[intentNo] = stored
			if read, there := scanned[intentNo]; there && read.Through > stored {
				l.positions[intentNo], l.ends[intentNo] = read.Through, read.End
			}
			delete(scanned, intentNo)
		}
		positions[intentNo] = l.positions[intentNo]
	}
}

// Reads notes how the log of an intent ended when the stream read what it is about to send.
func (l *Ledger) Reads(intentNo int64, end messaging.LogEnd) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.ends[intentNo] = end
}

// Position returns how far the stream has come in an intent.
func (l *Ledger) Position(intentNo int64) int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.positions[intentNo]
}

// Spent reports whether the stream has to reserve numbers before it gives another one.
func (l *Ledger) Spent() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && l.next > l.end
}

// Spend gives up what is left of the reserved numbers.
func (l *Ledger) Spend() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.next = l.end + 1
}

// Give notes a delivery that is about to be sent, and gives it a number.
func (l *Ledger) Give(d record.Delivery) (record.Delivery, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.lost != nil:
		return d, l.lost
	case l.next > l.end:
		return d, errSpent
	}
	d.Number = l.next
	l.given = l.next
	l.next++
	l.move(d.IntentNo, d.Position)
	now := record.ProcessTime()
	l.unsettled = append(l.unsettled, sentDelivery{d.Number, now})
	l.unfinished[d.Number] = unfinishedDelivery{d, now}
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
func (l *Ledger) forgetFinished() {
	if len(l.unfinished) > 2*record.MaxUnfinished {
		maps.DeleteFunc(l.unfinished, func(number int64, _ unfinishedDelivery) bool { return number <= l.settled })
	}
}

// Reserved returns the last reserved number.
func (l *Ledger) Reserved() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.end
}

// low reports whether further numbers must be reserved.
func (l *Ledger) low() bool { return l.end-l.next < record.BlockSize/2 }

// NoteStored notes a delivery that was stored before it was sent.
func (l *Ledger) NoteStored(d record.Delivery) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.unfinished[d.Number] = unfinishedDelivery{d, record.ProcessTime()}
}

// Pass notes that an intent is gathered up to a position. That is stored with the next deliveries, or when it is far ahead.
func (l *Ledger) Pass(intentNo, through int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if through <= l.positions[intentNo] {
		return
	}
	l.move(intentNo, through)
	if through-l.stored[intentNo] >= record.Unwritten || len(l.moved) >= record.MaxBehind {
		l.settler.add(l, l.patience())
	}
}

func (l *Ledger) move(intentNo, position int64) {
	l.positions[intentNo] = position
	l.moved[intentNo] = struct{}{}
}

// Await makes the ledger wake the stream when there may be more room: when something is stored, or when a delivery is acknowledged that is
// not stored. It returns false if that may have happened since a look.
func (l *Ledger) Await(looked State) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.awaited = l.changes == looked.changes; l.awaited && l.blocks() {
		l.settler.add(l, 0)
	}
	return l.awaited
}

// WaitsForRoom reports whether the stream waits for deliveries to be finished.
func (l *Ledger) WaitsForRoom() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.awaited
}

// NeverGave reports whether this stream knows that a number was never given.
func (l *Ledger) NeverGave(number int64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && number >= l.next
}

// Settle stores everything that the stream has sent, and reserves further numbers if there are few.
func (l *Ledger) Settle(ctx context.Context) error {
	l.mutex.Lock()
	settled := l.flush(true, 0)
	l.mutex.Unlock()
	return await(ctx, settled).err
}

// flush asks the settler to store the ledger within some time: everything that was sent, or only what is acknowledged or was sent long
// enough ago. The channel gets the outcome.
func (l *Ledger) flush(whole bool, within time.Duration) <-chan settlement {
	l.whole = l.whole || whole
	settled := make(chan settlement, 1)
	if l.lost != nil || !l.settler.add(l, within) {
		settled <- settlement{err: record.ErrConsumerLost}
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

// Idle reports whether nothing has to be stored: neither deliveries nor acknowledgements.
func (l *Ledger) Idle() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.lost == nil && len(l.unsettled) == 0 && len(l.acknowledged) == 0
}

// Fence ends the ledger. Whoever waits for it has to look in the database.
func (l *Ledger) Fence(why error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.lost == nil {
		l.lost = why
	}
	answer(l.waiters, settlement{err: record.ErrConsumerLost})
	l.waiters = nil
	l.settler.remove(l)
	l.wake()
}

func answer(waiters []chan settlement, outcome settlement) {
	for _, waiter := range waiters {
		waiter <- outcome
	}
}
