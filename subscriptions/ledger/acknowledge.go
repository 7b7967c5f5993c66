package ledger

import (
	"context"
	"errors"
	"time"

	"openintent/subscriptions/record"
)

const (
	// noteDelay is after which time an acknowledgement for which nobody waits has to be stored. If it comes while the ledger is being
	// stored, that time begins at the end of the commit.
	noteDelay = time.Second
	// lagSmoothing is over how many acknowledgements, roughly, the time that an agent needs is smoothed.
	lagSmoothing = 8
)

// Acknowledge acknowledges deliveries that this stream has sent. If it returns false without an error, everything up to the highest number is
// stored, lost, or was never given by this stream, and the caller acknowledges in the database. If it returns true, state is the
// subscription's state after that, if it is known.
func (l *Ledger) Acknowledge(ctx context.Context, numbers []int64, through int64) (state *record.Summary, done bool, err error) {
	l.mutex.Lock()
	highest, known := max(through, record.Last(numbers)), through == 0 && l.knows(numbers)
	if l.lost != nil || highest >= l.next || !known && highest <= l.settled {
		l.mutex.Unlock()
		return nil, false, nil
	}
	if known {
		l.described = true
		l.finish(numbers)
	}
	settled := l.flush(!known, 0)
	l.mutex.Unlock()
	outcome := await(ctx, settled)
	switch {
	case errors.Is(outcome.err, record.ErrConsumerLost), errors.Is(outcome.err, errDead):
		return nil, false, nil
	case outcome.err != nil:
		return nil, false, outcome.err
	}
	return outcome.state, known, nil
}

// knows reports whether the ledger alone can acknowledge all these deliveries.
func (l *Ledger) knows(numbers []int64) bool {
	for _, number := range numbers {
		_, unfinished := l.unfinished[number]
		_, again := l.acknowledged[number]
		if !unfinished && !again {
			return false
		}
	}
	return l.lost == nil
}

// finish notes that deliveries are acknowledged.
func (l *Ledger) finish(numbers []int64) {
	now := record.ProcessTime()
	for _, number := range numbers {
		if d, unfinished := l.unfinished[number]; unfinished {
			l.learn(now.Sub(d.at))
		}
		delete(l.unfinished, number)
		l.acknowledged[number] = struct{}{}
	}
}

// learn notes how long the agent needed to acknowledge a delivery. If that is longer than a delivery may wait to be stored, it counts as no
// time, because no wait would have saved the row.
func (l *Ledger) learn(took time.Duration) {
	if took > l.longest {
		took = 0
	}
	if !l.learned {
		l.lag, l.learned = took, true
	}
	l.lag += (took - l.lag) / lagSmoothing
}

// patience returns how long a delivery may wait to be stored. That is twice the time that the agent needs to acknowledge one, so what the
// agent acknowledges in its usual time is never stored. It is also twice the time that storing takes: acknowledgements wait for that, and
// more of them come before anything else has to be stored. So the slower the database is, the less is stored.
func (l *Ledger) patience() time.Duration {
	took := time.Duration(l.settler.took.Load())
	return max(l.settler.Delay, min(2*max(l.lag, took), l.longest))
}

// Note acknowledges deliveries that this stream has sent, and nobody waits until that is stored. If it returns false, nothing happened,
// and the caller has to acknowledge them and wait.
func (l *Ledger) Note(numbers []int64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if !l.knows(numbers) {
		return false
	}
	l.finish(numbers)
	if l.noted.IsZero() {
		l.noted = record.ProcessTime()
	}
	l.settler.add(l, l.noteWithin(record.ProcessTime()))
	l.changes++
	if l.awaited && !l.blocks() {
		l.awaited = false
		l.wake()
	}
	return true
}

// noteWithin returns how soon the acknowledgements that nobody waits for must be stored. There is at least one.
func (l *Ledger) noteWithin(now time.Time) time.Duration {
	if len(l.acknowledged) >= settleMany || l.blocks() {
		return 0
	}
	return max(0, max(noteDelay, l.settler.Delay)-now.Sub(l.noted))
}

// blocks reports whether the stream waits for room that comes only when what is acknowledged is stored: a stored delivery takes up room
// until its row is gone.
func (l *Ledger) blocks() bool {
	if !l.awaited {
		return false
	}
	for number := range l.acknowledged {
		if number <= l.settled {
			return true
		}
	}
	return false
}

// DeathsFound returns how often some of what was acknowledged turned out to be dead letters.
func (l *Ledger) DeathsFound() int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.deaths
}

// StoreAcknowledged stores what is acknowledged within some time, so that it is neither sent again nor given up.
func (l *Ledger) StoreAcknowledged(ctx context.Context, within time.Duration) error {
	l.mutex.Lock()
	if len(l.acknowledged) == 0 {
		l.mutex.Unlock()
		return nil
	}
	settled := l.flush(false, within)
	l.mutex.Unlock()
	if err := await(ctx, settled).err; !errors.Is(err, errDead) {
		return err
	}
	return nil
}

// SettleNoted waits until everything is stored that was noted, and returns whether it was. deaths is what DeathsFound returned before that
// was noted. If it has grown, something that was acknowledged was a dead letter, and its acknowledgement is not stored. Many streams of
// acknowledgements end in a short time, so that is stored for several of them together.
func (l *Ledger) SettleNoted(ctx context.Context, deaths int) (stored bool, err error) {
	err = l.StoreAcknowledged(ctx, confirmDelay)
	if errors.Is(err, record.ErrConsumerLost) {
		return false, nil
	}
	return err == nil && l.DeathsFound() == deaths, err
}
