package torture

import (
	"cmp"
	"slices"
)

// checkReceiver checks everything that one receiver got.
func (c *checker) checkReceiver(r *Receiver) {
	got := make(map[string]bool)
	for _, connection := range r.Connections {
		for i := range connection.Deliveries {
			delivery := &connection.Deliveries[i]
			got[delivery.Message.ID] = true
			c.checkSight(r, delivery)
			c.checkLogged(r, delivery)
		}
	}
	switch r.Guarantee {
	case Once:
		c.checkCursors(r)
	case AtLeastOnce, InOrder:
		c.checkNumbers(r)
	case State:
		c.checkState(r)
	}
	c.checkDone(r)
	c.history.each(func(send *Send) {
		if c.must(r, send) && !got[send.ID] {
			c.find(Lost, "%s never received %s (%q from %s to %s)", r.Name, send.ID, send.Content, send.Sender, send.To)
		}
	})
}

// Missing counts, for each receiver by name, the messages and annotations that it must receive but did not.
func Missing(h *History) map[string]int {
	c := newChecker(h)
	missing := make(map[string]int)
	for _, r := range h.Receivers {
		got, noted := make(map[string]bool), make(map[Note]bool)
		for _, connection := range r.Connections {
			for i := range connection.Deliveries {
				got[connection.Deliveries[i].Message.ID] = true
			}
			for _, a := range connection.Annotations {
				noted[a.Note] = true
			}
		}
		for _, reaction := range h.Reactions {
			if c.mustAnnotate(r, reaction) && !noted[reaction.Note] {
				missing[r.Name]++
			}
		}
		h.each(func(send *Send) {
			if c.must(r, send) && !got[send.ID] {
				missing[r.Name]++
			}
		})
	}
	return missing
}

// must reports whether a receiver must get a message. It must if it followed before the send began, and was certainly allowed
// to see the message from then to the end.
func (c *checker) must(r *Receiver, s *Send) bool {
	switch {
	case !s.Acknowledged || s.Span.Begun <= r.From || !r.follows(s.Intent, s.Channel):
		return false
	case s.Kind == LoggedEvent && !r.Events:
		return false
	case r.Guarantee == State && s.Sender == r.Agent:
		return false
	case r.Guarantee == State && s.Kind == Request:
		return !c.asked[s] && throughout(c.rights.periods(r.Agent, s, true, true), forever, forever)
	}
	return r.Operator || throughout(c.rights.periods(r.Agent, s, r.Intent == "", true), s.Span.Begun, forever)
}

// follows reports whether the receiver's scope includes a channel, or an intent's log if the channel is empty.
func (r *Receiver) follows(intent, channel string) bool {
	return (r.Intent == "" || r.Intent == intent) && (r.Channel == "" || r.Channel == channel)
}

// checkSight checks that the receiver may see a delivery.
func (c *checker) checkSight(r *Receiver, d *Delivery) {
	m := d.Message
	if !r.follows(m.Intent, m.Channel) || m.Kind == LoggedEvent && !r.Events {
		c.find(Leaked, "%s received %s, which is outside its scope", r.Name, m.ID)
	}
	send := c.sends[m.Content]
	if send == nil || r.Operator {
		return
	}
	if !sometime(c.rights.periods(r.Agent, send, false, false), send.Span.Begun, d.At) {
		c.find(Leaked, "%s received %s (%q from %s to %s), which %s may not see", r.Name, m.ID, m.Content, m.Sender, m.To, r.Agent)
	}
}

// checkLogged checks that audited messages come with the log's copy on an intent's stream, and that nothing else comes with
// one.
func (c *checker) checkLogged(r *Receiver, d *Delivery) {
	expected := r.Guarantee == Once && r.Events && c.history.Channels[d.Message.Channel].Audited
	switch {
	case expected && d.Logged == nil:
		c.find(Unlogged, "%s received the audited message %s without its log entry", r.Name, d.Message.ID)
	case d.Logged != nil && !expected:
		c.find(Unlogged, "%s received %s with a log entry that does not belong there", r.Name, d.Message.ID)
	case d.Logged != nil && *d.Logged != *d.Message:
		c.find(Altered, "%s received %+v with the log entry of %+v", r.Name, *d.Message, *d.Logged)
	}
}

// checkCursors checks a receiver that keeps its cursor. Every message comes once, and positions and times rise.
func (c *checker) checkCursors(r *Receiver) {
	seen := make(map[string]bool)
	latest := make(map[string]*Message) // by channel
	for _, connection := range r.Connections {
		cursor := connection.After
		backfilled := make(map[string]int)
		for _, d := range connection.Deliveries {
			m := d.Message
			if d.Backfill {
				if backfilled[m.ID]++; backfilled[m.ID] > c.gains(r.Agent, d.At) {
					c.find(Doubled, "%s received %s as backfill %d times on one connection", r.Name, m.ID, backfilled[m.ID])
				}
				continue
			}
			before := latest[m.Channel]
			switch {
			case seen[m.ID]:
				c.find(Doubled, "%s received %s again", r.Name, m.ID)
			case before != nil && before.At > m.At:
				c.find(Reordered, "%s received %s after %s", r.Name, m.ID, before.ID)
			case d.Cursor != 0 && d.Cursor <= cursor:
				c.find(Reordered, "%s received %s at %d, behind its cursor at %d", r.Name, m.ID, d.Cursor, cursor)
			}
			seen[m.ID], latest[m.Channel], cursor = true, m, d.Cursor
		}
	}
}

// gains counts the rights that an agent may have gained before a time. Each of them may let it see open requests.
func (c *checker) gains(agent string, by Tick) (count int) {
	for _, right := range c.history.Rights {
		if right.Agent == agent && right.Granted != (Span{}) && right.Granted.Begun < by {
			count++
		}
	}
	return count
}

// checkNumbers checks a receiver of numbered deliveries. Each number stands for one message, and each message has one number, unless
// the stream that sent it was replaced before that was stored: then it comes again, under a higher number. A repeated delivery is
// unchanged, and its attempts rise, except on connections of a program that reads late. First attempts come in order, except for posts that a frozen replica held back, and what was read again
// once the agent could see it.
func (c *checker) checkNumbers(r *Receiver) {
	byNumber, byMessage := make(map[int64]*Delivery), make(map[string]int64)
	latest := make(map[string]*Delivery) // by channel, only first deliveries
	attempts := r.attempts()
	for _, d := range r.inTime() {
		number, known := byMessage[d.Message.ID]
		renumbered := known && number < d.Cursor && r.Guarantee == AtLeastOnce
		if known && number != d.Cursor && !renumbered {
			c.find(Doubled, "%s received %s as number %d and as number %d", r.Name, d.Message.ID, number, d.Cursor)
		}
		byMessage[d.Message.ID] = d.Cursor
		earlier := byNumber[d.Cursor]
		if attempts.readLate(earlier, d) {
			continue
		}
		byNumber[d.Cursor] = d
		if earlier != nil {
			c.checkRepeat(r, earlier, d)
			continue
		}
		if renumbered || r.Guarantee == AtLeastOnce && d.Attempt > 1 {
			continue // it came before, or an earlier attempt was lost on the way
		}
		before := latest[d.Message.Channel]
		if before != nil && (before.Message.At > d.Message.At || before.Cursor > d.Cursor) {
			if r.Guarantee == InOrder && c.heldBack(r, before, d) || r.Guarantee == AtLeastOnce && c.readAgain(r, before, d) {
				continue
			}
			c.find(Reordered, "%s received %s, number %d, after %s, number %d",
				r.Name, d.Message.ID, d.Cursor, before.Message.ID, before.Cursor)
		}
		latest[d.Message.Channel] = d
	}
}

// hold identifies what a frozen replica can hold back: one post in each channel that it posts to a receiver.
type hold struct {
	freeze   int
	receiver *Receiver
	channel  string
}

// heldBack reports whether a post may come for the first time after a later post of its channel. That can happen if a replica
// began the post before it was frozen. Another replica then skipped the message, because the agent could not see it for a
// while, and posted the later one. Nothing can call back a post that has begun. Each freeze excuses one post in each channel of
// a receiver.
func (c *checker) heldBack(r *Receiver, before, d *Delivery) bool {
	send := c.sends[d.Message.Content]
	if send == nil {
		return false
	}
	seen := c.rights.periods(r.Agent, send, r.Intent == "", true)
	for i, freeze := range c.history.Freezes {
		by := hold{i, r, d.Message.Channel}
		if c.holds[by] || send.Span.Begun > freeze.Begun || before.At < freeze.Begun || d.At < freeze.Ended ||
			throughout(seen, freeze.Begun, before.At) {
			continue
		}
		c.holds[by] = true
		return true
	}
	return false
}

// readAgain reports whether a message may come for the first time behind a later one of its channel, under a higher number. That can happen
// if the agent could not see it for a while. A stream then skipped it and sent the later one, and was replaced before that was stored. The
// stream in its place reads both again.
func (c *checker) readAgain(r *Receiver, before, d *Delivery) bool {
	send := c.sends[d.Message.Content]
	return send != nil && before.Cursor < d.Cursor &&
		!throughout(c.rights.periods(r.Agent, send, r.Intent == "", true), send.Span.Begun, before.At)
}

// inTime returns all deliveries in the order in which they came, because several programs may receive for one subscription.
func (r *Receiver) inTime() []*Delivery {
	var deliveries []*Delivery
	for _, connection := range r.Connections {
		for i := range connection.Deliveries {
			deliveries = append(deliveries, &connection.Deliveries[i])
		}
	}
	slices.SortStableFunc(deliveries, func(a, b *Delivery) int { return cmp.Compare(a.At, b.At) })
	return deliveries
}

// attempts are the deliveries of a receiver by their connections, and which attempt of each number was read last on a connection.
type attempts struct {
	on   map[*Delivery]*Connection
	last map[attempted]int
}

type attempted struct {
	on     *Connection
	number int64
}

func (r *Receiver) attempts() attempts {
	a := attempts{on: make(map[*Delivery]*Connection), last: make(map[attempted]int)}
	for _, connection := range r.Connections {
		for i := range connection.Deliveries {
			a.on[&connection.Deliveries[i]] = connection
		}
	}
	return a
}

// readLate reports whether a delivery may have been sent before an earlier one of its number, if any, which another program received meanwhile. Then its
// own connection existed before that one came, because a busy program leaves unread what has reached it, and its attempts rise there.
func (a attempts) readLate(earlier, d *Delivery) bool {
	on := a.on[d]
	place := attempted{on, d.Cursor}
	rises := d.Attempt > a.last[place]
	a.last[place] = d.Attempt
	if earlier == nil || earlier.Message.ID != d.Message.ID || earlier.EventID != d.EventID {
		return false
	}
	return rises && d.Attempt < earlier.Attempt && on != a.on[earlier] && on.Begun < earlier.At
}

func (c *checker) checkRepeat(r *Receiver, earlier, d *Delivery) {
	switch {
	case earlier.Message.ID != d.Message.ID:
		c.find(Altered, "%s received number %d as %s and as %s", r.Name, d.Cursor, earlier.Message.ID, d.Message.ID)
	case earlier.EventID != d.EventID:
		c.find(Altered, "%s received number %d under the ids %s and %s", r.Name, d.Cursor, earlier.EventID, d.EventID)
	case d.Attempt != 0 && d.Attempt <= earlier.Attempt:
		c.find(Doubled, "%s received number %d in attempt %d after attempt %d", r.Name, d.Cursor, d.Attempt, earlier.Attempt)
	}
}

// checkState checks a receiver that sees waiting messages. The oldest comes first, and no page shows a message twice.
func (c *checker) checkState(r *Receiver) {
	seen := make(map[string]bool)
	latest := make(map[string]*Message)
	for _, connection := range r.Connections {
		page := make(map[string]bool)
		for _, d := range connection.Deliveries {
			m := d.Message
			if page[m.ID] {
				c.find(Doubled, "%s received %s twice on one page", r.Name, m.ID)
			}
			page[m.ID] = true
			if seen[m.ID] {
				continue
			}
			seen[m.ID] = true
			before, send := latest[m.Channel], c.sends[m.Content]
			if before == nil || before.At < m.At {
				latest[m.Channel] = m
				continue
			}
			// A message that the receiver could not see before may well come late.
			if send != nil && throughout(c.rights.periods(r.Agent, send, true, true), send.Span.Begun, d.At) {
				c.find(Reordered, "%s received %s after %s", r.Name, m.ID, before.ID)
			}
		}
	}
}

// checkDone checks that a finished delivery never comes again on a connection that began after the server confirmed it as
// finished, not even under another number.
func (c *checker) checkDone(r *Receiver) {
	messages := make(map[int64]string) // by number
	for _, d := range r.inTime() {
		messages[d.Cursor] = d.Message.ID
	}
	ids := make(map[string]Tick)
	for _, done := range r.Done {
		id := done.ID
		if id == "" {
			id = messages[done.Cursor]
		}
		if _, before := ids[id]; !before {
			ids[id] = done.At
		}
	}
	for _, connection := range r.Connections {
		for _, d := range connection.Deliveries {
			if at, done := ids[d.Message.ID]; done && at < connection.Begun {
				c.find(Doubled, "%s received %s again, after the server confirmed it as finished", r.Name, d.Message.ID)
			}
		}
	}
}
