package contacts

import (
	"slices"
	"time"

	"openintent/messaging"
)

// after is when a name is told of a message: the first time this long after it was sent, and then this long after the first time, less the
// first pause.
var after = []time.Duration{time.Minute, 10 * time.Minute, time.Hour}

const (
	// senderPer is the time in which a sender begins one call of a name.
	senderPer = time.Hour
	// mostCalls is how many calls of a name begin in that time, and mostStrangers how many of strangers'.
	mostCalls     = 20
	mostStrangers = 5
)

// call is of which message of a sender a name was last told.
type call struct {
	sender             string
	intentNo, position int64
	sentAt             time.Time
	stranger           bool
	// beganAt is when the name was first told, and step how often it was.
	beganAt time.Time
	step    int64
}

// due returns when the name is told the next time; zero for never.
func (c *call) due() time.Time {
	if c.step >= int64(len(after)) {
		return time.Time{}
	}
	return c.beganAt.Add(after[c.step] - after[0])
}

// of reports whether a message is the call's.
func (c *call) of(m messaging.Pressing) bool {
	return c.intentNo == m.IntentNo && c.position == m.Position
}

// decision is what a look decides.
type decision struct {
	// tell are the messages of which the name is told now, and calls those calls as they are then.
	tell  []messaging.Pressing
	calls []*call
	// ended are the senders of whom nothing presses, and whose hour is over.
	ended []string
	// next is when the name is told of something more, if nothing changes; zero for never.
	next time.Time
}

// decide says of which messages a name is told. pressing are those that press it, the oldest first, and known its calls, by sender. live is
// true while something of the name's waits for messages; then what it has seen needs no call.
func decide(now time.Time, pressing []messaging.Pressing, known map[string]*call, live bool) (d decision) {
	d.end(now, pressing, known)
	if live {
		pressing = slices.DeleteFunc(slices.Clone(pressing), func(m messaging.Pressing) bool { return m.Seen })
	}
	all, byStrangers := begunLately(now, known)
	decided := make(map[string]bool)
	for _, m := range pressing {
		c := known[m.Sender]
		if c != nil && c.of(m) {
			d.goOn(now, c, m)
			decided[m.Sender] = decided[m.Sender] || !c.due().IsZero()
		}
	}
	for _, m := range pressing {
		c := known[m.Sender]
		if decided[m.Sender] || c != nil && !c.before(m) {
			continue
		}
		decided[m.Sender] = true
		at := m.SentAt.Add(after[0])
		if c != nil && c.beganAt.Add(senderPer).After(at) {
			at = c.beganAt.Add(senderPer)
		}
		if at.After(now) {
			d.expect(at)
			continue
		}
		if all >= mostCalls || m.Stranger && byStrangers >= mostStrangers {
			d.expect(now.Add(after[0]))
			continue
		}
		all++
		if m.Stranger {
			byStrangers++
		}
		made := begun(now, m)
		d.tell, d.calls = append(d.tell, m), append(d.calls, made)
		d.expect(made.due())
	}
	return d
}

// begun returns the call that begins with a message.
func begun(now time.Time, m messaging.Pressing) *call {
	return &call{
		sender: m.Sender, intentNo: m.IntentNo, position: m.Position, sentAt: m.SentAt, stranger: m.Stranger, beganAt: now, step: 1,
	}
}

// begunLately counts the calls of the last hour.
func begunLately(now time.Time, known map[string]*call) (all, byStrangers int) {
	for _, c := range known {
		if !c.beganAt.Add(senderPer).After(now) {
			continue
		}
		if all++; c.stranger {
			byStrangers++
		}
	}
	return all, byStrangers
}

// goOn tells the name again of a message, if it is time.
func (d *decision) goOn(now time.Time, c *call, m messaging.Pressing) {
	at := c.due()
	if at.IsZero() {
		return
	}
	if at.After(now) {
		d.expect(at)
		return
	}
	for c.step < int64(len(after)) && !c.due().After(now) { // what was missed comes once
		c.step++
	}
	d.tell, d.calls = append(d.tell, m), append(d.calls, c)
	d.expect(c.due())
}

// before reports whether a message was sent after the call's. A name is told of each message in one call at most.
func (c *call) before(m messaging.Pressing) bool { return m.SentAt.After(c.sentAt) }

// end finds the calls that need not be known any more.
func (d *decision) end(now time.Time, pressing []messaging.Pressing, known map[string]*call) {
	presses := make(map[string]bool)
	for _, m := range pressing {
		presses[m.Sender] = true
	}
	for sender, c := range known {
		if !presses[sender] && !c.beganAt.Add(senderPer).After(now) {
			d.ended = append(d.ended, sender)
		}
	}
	slices.Sort(d.ended)
}

// expect notes when something comes next.
func (d *decision) expect(at time.Time) {
	if !at.IsZero() && (d.next.IsZero() || at.Before(d.next)) {
		d.next = at
	}
}
