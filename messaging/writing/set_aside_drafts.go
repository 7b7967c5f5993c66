package writing

import (
	"slices"
	"time"

	"github.com/cenkalti/backoff/v5"
)

// These say how long drafts stay aside until their senders hear that they cannot be stored now: in general, and once the
// server stops. The first is longer than a frozen replica keeps a lock (database.Lane).
const (
	asidePatience = 15 * time.Second
	stopPatience  = 3 * time.Second
)

// These are the pauses before an intent is tried again. They grow slowly: when another replica writes to the intent all the
// time, each try is a chance, and a try costs little.
const (
	firstPause  = 2 * time.Millisecond
	longerBy    = 1.2
	longestRest = 250 * time.Millisecond
)

// aside keeps the drafts of intents that cannot be written to at the moment, because another replica holds the intent's
// lock or may still hold it. Each intent has a timer of its own, and the other intents go on. Later drafts of an intent
// line up behind those that are here.
type aside struct {
	intents map[int64]*asideIntent
	// trying are the intents of the batch that the writer is working on.
	trying []*asideIntent
}

// asideIntent is an intent that cannot be written to. Each key has a line for its drafts, as in the queue.
type asideIntent struct {
	lines  []*asideLine // in the order in which their turns come
	pauses *backoff.ExponentialBackOff
	due    time.Time
	// alone is true when the intent is tried without others, because it may hold them up.
	alone bool
	// again is true when the writer could not write to the intent in the batch that it has just worked on.
	again bool
}

// asideLine is the line of one key's drafts. It is never empty.
type asideLine struct {
	key    string
	drafts []*submission
}

func newAside() aside { return aside{intents: make(map[int64]*asideIntent)} }

// put takes drafts of the last batch back, and puts them in front of the drafts of their intents that are here. The other
// intents of that batch can be written to.
func (a *aside) put(again []*submission, now time.Time) {
	for _, s := range slices.Backward(again) {
		if s.asideAt.IsZero() {
			s.asideAt = now
		}
		h := a.intents[s.draft.IntentNo]
		if h == nil {
			h = &asideIntent{pauses: newPauses()}
			a.intents[s.draft.IntentNo] = h
		}
		if !h.again {
			h.due, h.again = now.Add(h.pauses.NextBackOff()), true
		}
		line := h.line(s)
		line.drafts, h.alone = slices.Insert(line.drafts, 0, s), s.alone
	}
	for _, h := range a.trying {
		if !h.again { // it could be written to; the rest of its drafts come next
			h.due, h.pauses = now, newPauses()
		}
	}
	a.trying = nil
	for intentNo, h := range a.intents {
		if h.again = false; len(h.lines) == 0 {
			delete(a.intents, intentNo)
		}
	}
}

func newPauses() *backoff.ExponentialBackOff {
	pauses := backoff.NewExponentialBackOff()
	pauses.InitialInterval, pauses.Multiplier, pauses.MaxInterval = firstPause, longerBy, longestRest
	return pauses
}

// follow puts a draft behind others of its intent. It returns false when there are none.
func (a *aside) follow(s *submission, now time.Time) bool {
	if len(a.intents) == 0 {
		return false
	}
	h := a.intents[s.draft.IntentNo]
	if h == nil {
		return false
	}
	s.asideAt = now
	line := h.line(s)
	line.drafts = append(line.drafts, s)
	return true
}

// line finds the line for a draft, and begins one where there is none.
func (h *asideIntent) line(s *submission) *asideLine {
	for _, line := range h.lines {
		if line.key == s.draft.By.KeyID {
			return line
		}
	}
	line := &asideLine{key: s.draft.By.KeyID}
	h.lines = append(h.lines, line)
	return line
}

// next takes a draft from the first line, and moves that line to the end. It returns nil when nothing is left.
func (h *asideIntent) next() *submission {
	if len(h.lines) == 0 {
		return nil
	}
	line := h.lines[0]
	s := line.drafts[0]
	h.lines = h.lines[1:]
	if line.drafts = line.drafts[1:]; len(line.drafts) > 0 {
		h.lines = append(h.lines, line)
	}
	return s
}

// expire takes the drafts that have been here for longer than the patience allows.
func (h *asideIntent) expire(now time.Time, patience time.Duration) (overdue []*submission) {
	for _, line := range h.lines {
		for len(line.drafts) > 0 && now.Sub(line.drafts[0].asideAt) > patience {
			overdue, line.drafts = append(overdue, line.drafts[0]), line.drafts[1:]
		}
	}
	h.lines = slices.DeleteFunc(h.lines, func(line *asideLine) bool { return len(line.drafts) == 0 })
	return overdue
}

// take removes a batch of drafts that are due, and the drafts that have been here for too long. While several keys send, no
// key has more than its share of the batch, as in the queue, because whoever comes next waits for the whole batch.
func (a *aside) take(now time.Time, stopping, shared bool) (batch, overdue []*submission) {
	patience := asidePatience
	if stopping {
		patience = stopPatience
	}
	drafts, bytes := maxBatchDrafts, maxBatchBytes // how much there is room for
	if shared {
		drafts, bytes = maxShareDrafts, maxShareBytes
	}
	for _, h := range a.intents {
		if h.due.After(now) || h.alone && len(batch) > 0 {
			continue
		}
		overdue = append(overdue, h.expire(now, patience)...)
		a.trying = append(a.trying, h)
		if shared && len(h.lines) > 1 && len(batch) == 0 { // a share for each key
			drafts, bytes = maxShareDrafts*len(h.lines), maxShareBytes*len(h.lines)
		}
		for len(h.lines) > 0 && len(batch) < drafts && (len(batch) == 0 || bytes > 0) {
			s := h.next()
			bytes -= s.draft.Size()
			batch = append(batch, s)
		}
		if len(batch) >= drafts || bytes <= 0 || h.alone && len(batch) > 0 {
			break
		}
	}
	return batch, overdue
}

// due is when the next intent is worth trying. It is zero when nothing is aside.
func (a *aside) due() (next time.Time) {
	for _, h := range a.intents {
		if next.IsZero() || h.due.Before(next) {
			next = h.due
		}
	}
	return next
}
