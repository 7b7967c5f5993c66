package subscriptions

import (
	"cmp"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/reading"
)

const (
	// composeSilence is how long a sender must be silent in a channel or thread until what it wrote there is delivered, and
	// composeLongest is how long its first message waits at most.
	composeSilence = 3 * time.Second
	composeLongest = 30 * time.Second
	// maxComposed and maxComposedBytes bound what is delivered together.
	maxComposed      = 10
	maxComposedBytes = 1 << 20
	// maxDigested bounds how many messages one digest sums up.
	maxDigested = 500
)

// waiting is a message that was gathered and waits for a delivery together with others.
type waiting struct {
	intentNo, position, channelNo int64
	// thread is the position of the thread's first message if the message is a reply, and 0 otherwise.
	thread int64
	sender string
	// digest tells whether it waits for a digest.
	digest bool
	size   int64
	// sentAt is when it was sent, or gathered if the log's time lay ahead of the clock then.
	sentAt time.Time
}

// conversation is where a sender may fall silent. Its zero value stands for the subscription's digest.
type conversation struct {
	intentNo, channelNo, thread int64
	sender                      string
}

func (w *waiting) conversation() conversation {
	if w.digest {
		return conversation{}
	}
	return conversation{w.intentNo, w.channelNo, w.thread, w.sender}
}

// waitingFrom returns the message of an entry as it would wait.
func waitingFrom(e reading.Entry, now time.Time) waiting {
	m := e.Message
	w := waiting{intentNo: e.IntentNo, position: e.Position, channelNo: e.ChannelNo, sender: m.Sender, size: int64(m.Size())}
	if root := m.ThreadRoot(); root != m.Position {
		w.thread = root
	}
	w.sentAt = m.CreatedAt
	if now.Before(w.sentAt) {
		w.sentAt = now
	}
	return w
}

// together are the places for which one delivery stands, oldest first, and whether as a digest.
type together struct {
	rows   []waiting
	digest bool
}

// windows are what waits in a subscription, and decide what is delivered when. Everything in them follows from the messages and the
// times at which they were sent, so it does not matter who gathers them.
type windows struct {
	sub *subscription
	// open are the windows in the order in which they began. Each has at least one message.
	open []together
}

// windowsOf sorts what waits into windows. The rows are ordered by when they were sent.
func windowsOf(sub *subscription, rows []waiting) *windows {
	w := &windows{sub: sub}
	for _, row := range rows {
		w.add(row)
	}
	return w
}

func (w *windows) add(row waiting) {
	if i := w.find(row.conversation()); i >= 0 {
		w.open[i].rows = append(w.open[i].rows, row)
		return
	}
	w.open = append(w.open, together{[]waiting{row}, row.digest})
}

func (w *windows) find(c conversation) int {
	return slices.IndexFunc(w.open, func(t together) bool { return t.rows[0].conversation() == c })
}

// ends returns when a window ends unless more is said.
func (w *windows) ends(t together) time.Time {
	first, last := t.rows[0].sentAt, t.rows[0].sentAt
	for _, row := range t.rows { // those of several intents may have been gathered in another order
		if row.sentAt.Before(first) {
			first = row.sentAt
		}
		if row.sentAt.After(last) {
			last = row.sentAt
		}
	}
	if t.digest {
		return first.Add(w.sub.digestTime())
	}
	if end := last.Add(composeSilence); end.Before(first.Add(composeLongest)) {
		return end
	}
	return first.Add(composeLongest)
}

// ended reports whether a window is over at a time. One that seems to last longer than any of its kind dates from before the clock
// was set back, and is over too.
func (w *windows) ended(t together, now time.Time) bool {
	longest := composeLongest
	if t.digest {
		longest = w.sub.digestTime()
	}
	end := w.ends(t)
	return !now.Before(end) || end.Sub(now) > longest+clockSkew
}

// next returns when the next window ends; zero if none is open.
func (w *windows) next() (at time.Time) {
	for _, t := range w.open {
		if end := w.ends(t); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// take closes the windows that meet a condition and returns them in the order in which they end.
func (w *windows) take(condition func(together) bool) (taken []together) {
	w.open = slices.DeleteFunc(w.open, func(t together) bool {
		if condition(t) {
			taken = append(taken, t)
			return true
		}
		return false
	})
	slices.SortStableFunc(taken, func(a, b together) int { return w.ends(a).Compare(w.ends(b)) })
	return taken
}

// release takes the windows that are over.
func (w *windows) release(now time.Time) []together {
	return w.take(func(t together) bool { return w.ended(t, now) })
}

// put adds an entry that was read with its attention, and returns what is delivered now.
func (w *windows) put(e reading.Entry, now time.Time) (out []together) {
	how := w.sub.treatmentOf(e)
	if how == apart {
		return []together{{rows: []waiting{{intentNo: e.IntentNo, position: e.Position, channelNo: e.ChannelNo}}}}
	}
	row := waitingFrom(e, now)
	out = w.take(func(t together) bool { return !row.sentAt.Before(w.ends(t)) })
	switch how {
	case digested:
		row.digest = true
	case urgent:
		return append(out, w.takeAlong(row)...)
	case joining:
		if w.find(row.conversation()) < 0 {
			return append(out, together{rows: []waiting{row}})
		}
	}
	if i := w.find(row.conversation()); i >= 0 && !w.fits(w.open[i], row) {
		out = append(out, w.open[i])
		w.open = slices.Delete(w.open, i, i+1)
	}
	w.add(row)
	return out
}

// takeAlong delivers an urgent message after everything that waits in its channel, and together with what waits in its own
// conversation.
func (w *windows) takeAlong(row waiting) []together {
	own := row.conversation()
	out := w.take(func(t together) bool {
		return !t.digest && t.rows[0].channelNo == row.channelNo && t.rows[0].intentNo == row.intentNo
	})
	i := slices.IndexFunc(out, func(t together) bool { return t.rows[0].conversation() == own })
	if i < 0 || !w.fits(out[i], row) {
		return append(out, together{rows: []waiting{row}})
	}
	last := out[i]
	last.rows = append(last.rows, row)
	return append(slices.Delete(out, i, i+1), last)
}

// fits reports whether a message may be delivered together with a window's.
func (w *windows) fits(t together, row waiting) bool {
	if t.digest {
		intents := make(map[int64]struct{})
		for _, r := range append([]waiting{row}, t.rows...) {
			intents[r.intentNo] = struct{}{}
		}
		return len(t.rows) < maxDigested && len(intents) <= maxDigestIntents(w.sub.maxChars)
	}
	size := row.size
	for _, r := range t.rows {
		size += r.size
	}
	return len(t.rows) < maxComposed && size <= maxComposedBytes
}

// rows returns everything that waits.
func (w *windows) rows() (rows []waiting) {
	for _, t := range w.open {
		rows = append(rows, t.rows...)
	}
	return rows
}

// treatment is what becomes of an entry in a subscription with windows.
type treatment int

const (
	// apart is delivered at once and concerns no window: events, annotations, the agent's own messages.
	apart treatment = iota
	// composed waits until its sender is silent.
	composed
	// joining waits only if its sender has something waiting in the same conversation.
	joining
	// urgent is delivered at once and takes along what waits in its channel.
	urgent
	// digested waits for the next digest.
	digested
)

// treatmentOf decides by what a message asks of the subscriber.
func (s *subscription) treatmentOf(e reading.Entry) treatment {
	judged := e.Attention
	switch {
	case e.Message == nil || judged == nil:
		return apart
	case s.digestSeconds > 0 && digestible(e):
		return digested
	case !s.compose:
		return apart
	case judged.Injection == openintentv1.Injection_INJECTION_IMMEDIATE:
		return urgent
	case judged.Injection == openintentv1.Injection_INJECTION_BUFFERED:
		return composed
	}
	return joining
}

// digestible reports whether a message may be summed up: it is not for the subscriber, and need not be answered.
func digestible(e reading.Entry) bool {
	judged, said := e.Attention, e.Message.Conversation
	return judged != nil && judged.Directedness == openintentv1.Directedness_DIRECTEDNESS_AMBIENT &&
		judged.Policy != openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND &&
		(said == nil || said.Obligation == nil && said.Return == nil)
}

// tooImportant reports whether a message may no longer be summed up.
func tooImportant(e reading.Entry) bool { return e.Attention != nil && !digestible(e) }

// windowed reports whether the subscription lets anything wait.
func (s *subscription) windowed() bool { return s.compose || s.digestSeconds > 0 }

func (s *subscription) digestTime() time.Duration {
	return time.Duration(s.digestSeconds) * time.Second
}

// inOrder sorts what waits by when it was sent. Within an intent that is the order of the log.
func inOrder(rows []waiting) {
	slices.SortFunc(rows, func(a, b waiting) int {
		return cmp.Or(a.sentAt.Compare(b.sentAt), cmp.Compare(a.intentNo, b.intentNo), cmp.Compare(a.position, b.position))
	})
}
