package waiting

import (
	"slices"
	"time"
)

// Group are the messages for which one delivery stands, oldest first, and whether as a digest.
type Group struct {
	Messages []Message
	Digest   bool
}

// Windows are what waits in a subscription, and decide what is delivered when. Everything in them follows from the messages and the
// times at which they were sent, so it does not matter who gathers them.
type Windows struct {
	rules Rules
	// open are the windows in the order in which they began. Each has at least one message.
	open []Group
}

// Open sorts what waits into windows. It brings the messages into the order in which they were sent.
func Open(rules Rules, messages []Message) *Windows {
	inOrder(messages)
	w := &Windows{rules: rules}
	for _, m := range messages {
		w.add(m)
	}
	return w
}

func (w *Windows) add(m Message) {
	if i := w.find(m.conversation()); i >= 0 {
		w.open[i].Messages = append(w.open[i].Messages, m)
		return
	}
	w.open = append(w.open, Group{[]Message{m}, m.Digest})
}

func (w *Windows) find(c conversation) int {
	return slices.IndexFunc(w.open, func(g Group) bool { return g.Messages[0].conversation() == c })
}

// ends returns when a window ends if no further message joins it.
func (w *Windows) ends(g Group) time.Time {
	first, last := g.Messages[0].SentAt, g.Messages[0].SentAt
	for _, m := range g.Messages { // those of several intents may have been gathered in another order
		if m.SentAt.Before(first) {
			first = m.SentAt
		}
		if m.SentAt.After(last) {
			last = m.SentAt
		}
	}
	if g.Digest {
		return first.Add(w.rules.Digest)
	}
	if end := last.Add(w.rules.Silence); end.Before(first.Add(w.rules.Longest)) {
		return end
	}
	return first.Add(w.rules.Longest)
}

// ended reports whether a window is over at a time. One that seems to last longer than any of its kind dates from before the clock
// was set back, and is over too.
func (w *Windows) ended(g Group, now time.Time) bool {
	longest := w.rules.Longest
	if g.Digest {
		longest = w.rules.Digest
	}
	end := w.ends(g)
	return !now.Before(end) || end.Sub(now) > longest+clockSkew
}

// Next returns when the next window ends; zero if none is open.
func (w *Windows) Next() (at time.Time) {
	for _, g := range w.open {
		if end := w.ends(g); at.IsZero() || end.Before(at) {
			at = end
		}
	}
	return at
}

// take closes the windows that meet a condition and returns them in the order in which they end.
func (w *Windows) take(condition func(Group) bool) (taken []Group) {
	w.open = slices.DeleteFunc(w.open, func(g Group) bool {
		if condition(g) {
			taken = append(taken, g)
			return true
		}
		return false
	})
	slices.SortStableFunc(taken, func(a, b Group) int { return w.ends(a).Compare(w.ends(b)) })
	return taken
}

// Release closes the windows that are over.
func (w *Windows) Release(now time.Time) []Group {
	return w.take(func(g Group) bool { return w.ended(g, now) })
}

// ReleaseAll closes all windows.
func (w *Windows) ReleaseAll() []Group { return w.take(func(Group) bool { return true }) }

// Withdraw takes a message out of the digest for which it waits, and reports whether it waited for one.
func (w *Windows) Withdraw(intentNo, position int64) (waited bool) {
	i := w.find(conversation{})
	if i < 0 {
		return false
	}
	before := len(w.open[i].Messages)
	w.open[i].Messages = slices.DeleteFunc(w.open[i].Messages, func(m Message) bool { return m.IntentNo == intentNo && m.Position == position })
	left := len(w.open[i].Messages)
	if left == 0 {
		w.open = slices.Delete(w.open, i, i+1)
	}
	return left < before
}

// Put adds an entry that was read with its attention, and returns what is delivered now.
func (w *Windows) Put(e Entry, now time.Time) (out []Group) {
	how := w.rules.treatmentOf(e)
	if how == apart {
		return []Group{{Messages: []Message{{IntentNo: e.IntentNo, Position: e.Position, ChannelNo: e.ChannelNo}}}}
	}
	m := e.waits(now)
	out = w.take(func(g Group) bool { return !m.SentAt.Before(w.ends(g)) })
	switch how {
	case digested:
		m.Digest = true
	case urgent:
		return append(out, w.takeAlong(m)...)
	case joining:
		if w.find(m.conversation()) < 0 {
			return append(out, Group{Messages: []Message{m}})
		}
	}
	if i := w.find(m.conversation()); i >= 0 && !w.fits(w.open[i], m) {
		out = append(out, w.open[i])
		w.open = slices.Delete(w.open, i, i+1)
	}
	w.add(m)
	return out
}

// takeAlong delivers an urgent message after everything that waits in its channel, and together with what waits in its own
// conversation.
func (w *Windows) takeAlong(m Message) []Group {
	own := m.conversation()
	out := w.take(func(g Group) bool {
		return !g.Digest && g.Messages[0].ChannelNo == m.ChannelNo && g.Messages[0].IntentNo == m.IntentNo
	})
	i := slices.IndexFunc(out, func(g Group) bool { return g.Messages[0].conversation() == own })
	if i < 0 || !w.fits(out[i], m) {
		return append(out, Group{Messages: []Message{m}})
	}
	last := out[i]
	last.Messages = append(last.Messages, m)
	return append(slices.Delete(out, i, i+1), last)
}

// fits reports whether a message may be delivered together with a window's.
func (w *Windows) fits(g Group, m Message) bool {
	if g.Digest {
		intents := make(map[int64]struct{})
		for _, r := range append([]Message{m}, g.Messages...) {
			intents[r.IntentNo] = struct{}{}
		}
		return len(g.Messages) < maxDigested && len(intents) <= maxDigestIntents(w.rules.MaxChars)
	}
	size := m.Size
	for _, r := range g.Messages {
		size += r.Size
	}
	return len(g.Messages) < maxComposed && size <= maxComposedBytes
}

// Waiting returns everything that waits.
func (w *Windows) Waiting() (messages []Message) {
	for _, g := range w.open {
		messages = append(messages, g.Messages...)
	}
	return messages
}
