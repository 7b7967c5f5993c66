package messaging

import (
	"time"

	"github.com/cenkalti/backoff/v5"
)

// How long drafts stay aside until their senders hear that it cannot be done now, in general and once the server stops.
// The first is longer than a frozen replica keeps a lock (database.Lane).
const (
	asidePatience = 15 * time.Second
	stopPatience  = 3 * time.Second
)

// Pauses before an intent is tried again. They grow slowly: where another replica writes to the intent all the time, each
// try is a chance, and tries are small.
const (
	firstPause  = 2 * time.Millisecond
	longerBy    = 1.2
	longestRest = 250 * time.Millisecond
)

// aside keeps the drafts of intents that cannot be written to at the moment, because another replica holds the intent's lock
// or may still hold it. Each intent has a timer of its own, and all others go on. Drafts of an intent that come later stay
// behind those that are here.
type aside struct {
	intents map[int64]*held
	// trying are the intents of the batch under way.
	trying []*held
}

// held is an intent that cannot be written to.
type held struct {
	drafts []*submission
	pauses *backoff.ExponentialBackOff
	due    time.Time
	// alone is true when it is tried without others, because it may hold them up.
	alone bool
	// again is true when the batch under way has come back without it.
	again bool
}

func newAside() aside { return aside{intents: make(map[int64]*held)} }

// put keeps drafts of the batch that was under way, in front of those of their intents that are here. The other intents of
// the batch can be written to.
func (a *aside) put(again []*submission, now time.Time) {
	byIntent := make(map[int64][]*submission)
	for _, s := range again {
		if s.asideAt.IsZero() {
			s.asideAt = now
		}
		byIntent[s.draft.intentNo] = append(byIntent[s.draft.intentNo], s)
	}
	for intentNo, drafts := range byIntent {
		h := a.intents[intentNo]
		if h == nil {
			h = &held{pauses: newPauses()}
			a.intents[intentNo] = h
		}
		h.drafts = append(drafts, h.drafts...)
		h.due, h.alone, h.again = now.Add(h.pauses.NextBackOff()), drafts[0].alone, true
	}
	for _, h := range a.trying {
		if !h.again { // it could be written to; the rest of its drafts are next
			h.due, h.pauses = now, newPauses()
		}
	}
	a.trying = nil
	for intentNo, h := range a.intents {
		if h.again = false; len(h.drafts) == 0 {
			delete(a.intents, intentNo)
		}
	}
}

func newPauses() *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, longerBy, longestRest
	return pauses
}

// follow keeps a draft behind others of its intent; false means that there are none.
func (a *aside) follow(s *submission, now time.Time) bool {
	if len(a.intents) == 0 {
		return false
	}
	h := a.intents[s.draft.intentNo]
	if h == nil {
		return false
	}
	s.asideAt = now
	h.drafts = append(h.drafts, s)
	return true
}

// take removes a batch of drafts that are due, and those that have been here for too long.
func (a *aside) take(now time.Time, stopping bool) (batch, overdue []*submission) {
	patience := asidePatience
	if stopping {
		patience = stopPatience
	}
	bytes := 0
	for _, h := range a.intents {
		if h.due.After(now) || h.alone && len(batch) > 0 {
			continue
		}
		for len(h.drafts) > 0 && now.Sub(h.drafts[0].asideAt) > patience {
			overdue, h.drafts = append(overdue, h.drafts[0]), h.drafts[1:]
		}
		a.trying = append(a.trying, h)
		for len(h.drafts) > 0 && len(batch) < maxBatchDrafts && (len(batch) == 0 || bytes < maxBatchBytes) {
			bytes += h.drafts[0].draft.size()
			batch, h.drafts = append(batch, h.drafts[0]), h.drafts[1:]
		}
		if h.alone && len(batch) > 0 {
			break
		}
	}
	return batch, overdue
}

// due is when the next intent is worth trying; zero when nothing is aside.
func (a *aside) due() (next time.Time) {
	for _, h := range a.intents {
		if next.IsZero() || h.due.Before(next) {
			next = h.due
		}
	}
	return next
}
