package replay

import (
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/subscriptions/waiting"
)

// deliveries count what a subscription delivers that waits as the rules say.
type deliveries struct {
	windows  *waiting.Windows
	maxChars int
	// pending are the messages that are not delivered yet, by position.
	pending map[int64]pending
	totals  *Totals
}

// pending is what is kept of a message until its delivery. Its entry has no payload.
type pending struct {
	entry waiting.Entry
	found *Message
	// knock is how many characters its knock has; 0 without one.
	knock int
}

func newDeliveries(rules Rules, totals *Totals) *deliveries {
	windows := waiting.Open(waiting.Rules{
		Silence: seconds(rules.ComposeSeconds), Longest: seconds(rules.ComposeMostSeconds),
		Digest: seconds(rules.DigestSeconds), MaxChars: rules.MaxChars,
	}, nil)
	return &deliveries{windows: windows, maxChars: rules.MaxChars, pending: make(map[int64]pending), totals: totals}
}

// add takes over a message as it is stored.
func (d *deliveries) add(entry waiting.Entry, found *Message, knock int) {
	groups := d.windows.Put(entry, entry.Message.CreatedAt)
	d.pending[entry.Position] = pending{outline(entry), found, knock}
	d.deliver(groups)
}

// end delivers what still waits.
func (d *deliveries) end() { d.deliver(d.windows.ReleaseAll()) }

func (d *deliveries) deliver(groups []waiting.Group) {
	for _, group := range groups {
		var entries []waiting.Entry
		whole := false
		for _, m := range group.Messages {
			one := d.pending[m.Position]
			delete(d.pending, m.Position)
			if group.Digest {
				entries = append(entries, one.entry)
			} else if d.totals.show(one) {
				whole = true
			}
		}
		if whole {
			d.totals.FullDeliveries++
		}
		if group.Digest {
			d.totals.digest(waiting.DigestOf(entries, d.maxChars))
		}
	}
}

// show counts how a message comes before a model, and tells whether all of it does.
func (t *Totals) show(p pending) (whole bool) {
	t.Characters.Delivered += p.found.Characters
	switch p.found.Injection {
	case openintentv1.Injection_INJECTION_IMMEDIATE, openintentv1.Injection_INJECTION_BUFFERED:
		t.Full++
		t.Characters.Shown += p.found.Characters
		return true
	case openintentv1.Injection_INJECTION_NOTIFY:
		t.Knocks++
		t.Characters.Shown += p.knock
	case openintentv1.Injection_INJECTION_DIGEST:
		t.Digested++
	default:
		t.Mailbox++
	}
	return false
}

// digest counts a digest and what it sums up.
func (t *Totals) digest(d *openintentv1.Digest) {
	t.Digests++
	t.Digested += int(d.GetMessageCount())
	t.Characters.Delivered += waiting.Characters(d)
	t.Characters.Shown += waiting.Characters(d)
}

// outline returns what a digest says of an entry.
func outline(entry waiting.Entry) waiting.Entry {
	m := entry.Message
	entry.Message = &message.Message{ID: m.ID, Sender: m.Sender, Conversation: m.Conversation}
	entry.Attention = nil
	return entry
}
