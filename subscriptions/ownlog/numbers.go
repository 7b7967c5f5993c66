package ownlog

import (
	"context"
	"errors"
	"sync"

	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// ownLogNumbers numbers what is new for an agent's own log, and tells the agent's streams on this replica.
//
//	wake-ups ──> look ──> number ──┬──> stream, a cursor over the numbers
//	                               └──> stream
//
// It has a goroutine only while it looks.
type ownLogNumbers struct {
	logs     *Logs
	agent    string
	no       int64
	gatherer *delivering.Gatherer
	watch    *messaging.Watch
	visible  visibility
	// ctx ends when nobody streams any more.
	ctx context.Context
	end context.CancelFunc

	mutex   sync.Mutex
	streams map[*ownLogStream]struct{}
	// looking is true while a goroutine looks, and again when it has to look once more. failed is true if the latest look failed, and must
	// if the next one is worth it without a wake-up.
	looking, again, failed, must bool
	// asked is how many looks streams have asked for, and looked is up to which of them the log was looked at.
	asked, looked int
	// number is the newest number that is known, and recent are the latest deliveries that were numbered here, for a moment.
	number int64
	recent recentNumbers
	// news is closed when there is something new for the streams.
	news chan struct{}
	// over says why the streams end.
	over error
}

// ownLogState is what a stream knows of its log.
type ownLogState struct {
	number  int64
	recent  recentNumbers
	missing []openRequests
	looked  int
	news    <-chan struct{}
}

// wait waits until there is something new.
func (s ownLogState) wait(ctx context.Context) error {
	select {
	case <-s.news:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake lets a goroutine look, or look once more. It is called by wake-ups, so it does not block.
func (l *ownLogNumbers) wake() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.over != nil || l.ctx.Err() != nil:
	case l.looking:
		l.again = true
	default:
		l.looking = true
		l.logs.running.Go(l.lookOn)
	}
}

// lookOn looks until nothing asks for a further look.
func (l *ownLogNumbers) lookOn() {
	for {
		err := l.look()
		l.mutex.Lock()
		again := l.again && err == nil
		l.again, l.failed, l.looking = false, err != nil, again
		l.mutex.Unlock()
		switch {
		case again:
			continue
		case l.ctx.Err() != nil:
		case delivering.IsTransient(err), errors.Is(err, database.ErrCrowded):
			l.logs.logger.Debug("could not look at an agent's log; will try again", "error", err)
		case err != nil:
			l.logs.remove(l)
			l.tell(func() { l.over = err })
		}
		return
	}
}

// look numbers what is new, page by page, and tells the streams of each page.
func (l *ownLogNumbers) look() (err error) {
	defer fault.Recover(&err) // nobody else recovers on this goroutine
	l.mutex.Lock()
	asked, number := l.asked, l.number
	must := l.must || l.failed || asked > l.looked
	l.must = false
	ctx := l.ctx
	for st := range l.streams { // it reads on behalf of one of them
		ctx = caller.NewContext(ctx, st.by)
		break
	}
	l.mutex.Unlock()
	if !must {
		if worth, err := l.watch.Worth(ctx); !worth || err != nil {
			return err
		}
	}
	for more := true; more; {
		if more, err = l.lookOnce(ctx, asked, number); err != nil {
			l.gatherer.BeginPass()
			return err
		}
		number = 0 // it has been compared
	}
	if asked > l.looked { // nobody else changes it
		l.tell(func() { l.looked = asked })
	}
	return nil
}

// lookOnce takes one look, up to the look asked that streams have asked for. known is a number that the log has had. more is true if there
// is more to look at without a wake-up.
func (l *ownLogNumbers) lookOnce(ctx context.Context, asked int, known int64) (more bool, err error) {
	seen, err := l.gatherer.Look(ctx, l.watch)
	switch {
	case errors.Is(err, record.ErrNotFound):
		return false, message.ErrCursorBeyondLog
	case err != nil:
		return false, err
	}
	if stay, err := l.compare(ctx, seen, known); err != nil || !stay {
		l.gatherer.BeginPass()
		return false, err // nobody is left to number for
	}
	if err := l.backfill(ctx, seen); err != nil {
		return false, err
	}
	l.found(recentPage{}, seen.Sub.LastNumber)
	for i := range seen.Backlogs {
		b := &seen.Backlogs[i]
		for done := false; !done; {
			var found []delivering.Numbered
			if found, done, _, err = l.gatherer.Step(ctx, seen.Sub, b, delivering.GatherPage); err != nil {
				return false, err
			}
			l.gatherer.Anchor.Given(found)
			l.found(recentPage{asked, found}, seen.Sub.LastNumber)
		}
		delete(l.gatherer.Behind, b.IntentNo)
	}
	return seen.More, l.gatherer.StoreScanned(ctx, seen.Sub)
}

// found tells the streams of what was numbered here, and of the newest number.
func (l *ownLogNumbers) found(page recentPage, last int64) {
	l.mutex.Lock()
	news := last > l.number
	l.mutex.Unlock()
	if !news {
		return
	}
	l.tell(func() { l.number, l.recent = last, l.recent.with(page) })
}

// lose ends the streams that have sent the first lost number. last is the newest number now. It reports whether others stay.
func (l *ownLogNumbers) lose(first, last int64) (others bool) {
	l.tell(func() {
		l.number, l.recent = last, nil
		for st := range l.streams {
			st.lost = st.lost || st.number >= first
			others = others || !st.lost
		}
	})
	return others
}

// tell changes what the streams know, and wakes them.
func (l *ownLogNumbers) tell(change func()) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	change()
	close(l.news)
	l.news = make(chan struct{})
}

// state returns what is new for a stream, or why it ends.
func (l *ownLogNumbers) state(st *ownLogStream) (ownLogState, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case l.over != nil:
		return ownLogState{}, l.over
	case st.lost:
		return ownLogState{}, beyondLog(l.number)
	}
	return ownLogState{number: l.number, recent: l.recent, missing: st.missing, looked: l.looked, news: l.news}, nil
}

// moveTo moves the cursor of a stream.
func (l *ownLogNumbers) moveTo(st *ownLogStream, number int64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	st.number = number
}

// mustLook reports whether the log must be looked at although nothing woke it. last is its newest stored number. mustLook also forgets what
// was numbered a while ago.
func (l *ownLogNumbers) mustLook(last int64) bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if n := len(l.recent); n > 0 && l.logs.db.Now().Sub(l.recent[n-1].rows[0].Entry.ReadAt) > delivering.FreshFor {
		l.recent = nil
	}
	l.must = l.failed || last != l.number
	return l.must
}
