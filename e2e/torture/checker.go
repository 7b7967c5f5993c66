package torture

import (
	"cmp"
	"fmt"
	"slices"
)

// Kind is the kind of rule that was broken.
type Kind string

const (
	// Lost is an acknowledged message, or an annotation, that never reached a receiver, although the receiver followed before the message was
	// sent.
	Lost Kind = "lost"
	// Reordered is a message that arrived, or was stored, before one that it must follow.
	Reordered Kind = "reordered"
	// Doubled is a message that arrived again where it may not.
	Doubled Kind = "doubled"
	// Leaked is a message that reached an agent that may not see it, or that arrived on a connection where it does not belong.
	Leaked Kind = "leaked"
	// Altered is a message that differs between two places.
	Altered Kind = "altered"
	// Invented is a message that nobody sent, or that the server told its sender it had refused.
	Invented Kind = "invented"
	// Repeated is a send that was stored more than once.
	Repeated Kind = "stored twice"
	// Misanswered is a question that got the answer to another question.
	Misanswered Kind = "misanswered"
	// Unanswered is a question with an accepted answer that did not reach the asker.
	Unanswered Kind = "unanswered"
	// Unlogged is an audited message that is not in the log exactly once.
	Unlogged Kind = "not logged once"
	// Broken is a log with a broken chain.
	Broken Kind = "broken chain"
	// Stalled is a send that took long although its replica and the database were well.
	Stalled Kind = "stalled"
	// Unreached is an agent that was called live although nobody could be offered its messages.
	Unreached Kind = "unreached"
	// Problem is a failure that no client should have met.
	Problem Kind = "problem"
)

// Finding is something that must not happen.
type Finding struct {
	Kind Kind
	Text string
}

// Check returns everything in a history that must not happen.
func Check(h *History) []Finding {
	c := newChecker(h)
	for _, text := range h.Problems {
		c.find(Problem, "%s", text)
	}
	c.collectSends()
	c.collectMessages()
	c.collectAnnotations()
	c.checkSends()
	c.checkRefusals()
	c.checkStorageOrder()
	c.checkEntries()
	for _, receiver := range h.Receivers {
		c.checkReceiver(receiver)
		c.checkAnnotations(receiver)
	}
	for _, ask := range h.Asks {
		c.checkAsk(ask)
	}
	c.checkLogs()
	c.checkStalls()
	c.checkReach()
	return c.findings
}

type checker struct {
	history  *History
	rights   *rights
	findings []Finding
	// asked are the sends that are part of an Ask.
	asked map[*Send]bool
	// sends contains all sends and asks by their content. answers contains, for each request's id, the sends that answer it.
	// messages contains all messages by id, as they were first seen.
	sends    map[string]*Send
	answers  map[string][]*Send
	messages map[string]*Message
	// ids contains the messages' ids by content. positions contains their places in the intent's log by id.
	ids       map[string]string
	positions map[string]int64
	// reactions contains all reactions, and annotations contains what clients saw of them.
	reactions   map[Note]*Reaction
	annotations map[Note]Annotation
	// holds contains the late posts that freezes have excused.
	holds map[hold]bool
}

func newChecker(h *History) *checker {
	c := &checker{
		history: h, rights: newRights(h), asked: make(map[*Send]bool), sends: make(map[string]*Send),
		answers: make(map[string][]*Send), messages: make(map[string]*Message), ids: make(map[string]string),
		positions: make(map[string]int64), holds: make(map[hold]bool),
		reactions: make(map[Note]*Reaction), annotations: make(map[Note]Annotation),
	}
	for _, ask := range h.Asks {
		c.asked[&ask.Send] = true
	}
	return c
}

func (c *checker) find(kind Kind, format string, args ...any) {
	c.findings = append(c.findings, Finding{kind, fmt.Sprintf(format, args...)})
}

// each calls a function for every send, including those of asks.
func (h *History) each(do func(*Send)) {
	for _, send := range h.Sends {
		do(send)
	}
	for _, ask := range h.Asks {
		do(&ask.Send)
	}
}

func (c *checker) collectSends() {
	c.history.each(func(send *Send) {
		if c.sends[send.Content] != nil {
			c.find(Problem, "the test sent %q twice", send.Content)
		}
		c.sends[send.Content] = send
		if send.Answers != "" {
			c.answers[send.Answers] = append(c.answers[send.Answers], send)
		}
	})
}

// collectMessages visits every message everywhere a client saw it.
func (c *checker) collectMessages() {
	for _, receiver := range c.history.Receivers {
		for _, connection := range receiver.Connections {
			for i := range connection.Deliveries {
				delivery := &connection.Deliveries[i]
				c.see(delivery.Message, receiver.Name)
				if delivery.Logged != nil {
					c.see(delivery.Logged, receiver.Name+", in the log's copy")
				}
				c.place(receiver, delivery)
			}
		}
	}
	for _, ask := range c.history.Asks {
		for _, answer := range ask.Answers {
			c.see(answer, "the asker "+ask.Sender)
		}
	}
	for _, log := range c.history.Logs {
		for _, event := range log.Events {
			if event.Message != nil {
				c.see(event.Message, "the log")
			}
		}
	}
}

// see compares one appearance of a message with its first appearance.
func (c *checker) see(m *Message, where string) {
	first := c.messages[m.ID]
	switch {
	case first == nil:
		c.messages[m.ID] = m
		if other := c.ids[m.Content]; other != "" {
			c.find(Repeated, "%q is stored as %s and as %s", m.Content, other, m.ID)
		}
		c.ids[m.Content] = m.ID
		c.matchSend(m)
	case *first != *m:
		c.find(Altered, "%s saw %+v, which others saw as %+v", where, *m, *first)
	}
}

// matchSend compares a message with what its sender sent.
func (c *checker) matchSend(m *Message) {
	send := c.sends[m.Content]
	switch {
	case send == nil:
		c.find(Invented, "nobody sent %+v", *m)
		return
	case send.Refused:
		c.find(Invented, "%q was refused, and is stored as %s", m.Content, m.ID)
	case send.Intent != m.Intent || send.Channel != m.Channel || send.Sender != m.Sender || send.To != m.To ||
		send.Kind != m.Kind || send.Answers != m.Answers:
		c.find(Altered, "%+v was sent as %+v", *m, *send)
	}
	if send.ID != "" && send.ID != m.ID {
		c.find(Repeated, "%q is stored as %s, while its sender was told %s", m.Content, m.ID, send.ID)
	}
}

// place records a message's place in its intent's log where the receiver's cursor shows it. A backfilled message
// carries the cursor before it.
func (c *checker) place(r *Receiver, d *Delivery) {
	if r.Guarantee != Once || r.Intent == "" || d.Cursor == 0 || d.Backfill {
		return
	}
	first, known := c.positions[d.Message.ID]
	if known && first != d.Cursor {
		c.find(Altered, "%s has position %d for %s, and %d for others", d.Message.ID, d.Cursor, r.Name, first)
	}
	c.positions[d.Message.ID] = d.Cursor
}

// checkSends checks that acknowledged messages have different ids.
func (c *checker) checkSends() {
	senders := make(map[string]*Send)
	c.history.each(func(send *Send) {
		if !send.Acknowledged {
			return
		}
		if other := senders[send.ID]; other != nil {
			c.find(Altered, "%q and %q were both acknowledged as %s", send.Content, other.Content, send.ID)
		}
		senders[send.ID] = send
	})
}

// checkStorageOrder checks, for each intent, that no send which began after another was acknowledged is stored before
// it, and that positions rise with times.
func (c *checker) checkStorageOrder() {
	byIntent := make(map[string][]*Message)
	for _, m := range c.messages {
		byIntent[m.Intent] = append(byIntent[m.Intent], m)
	}
	for _, messages := range byIntent {
		slices.SortFunc(messages, func(a, b *Message) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.ID, b.ID)) })
		var latest, before *Message // the latest-sent message so far, and the previous one with a known position
		for i, m := range messages {
			if i > 0 && messages[i-1].At == m.At {
				c.find(Reordered, "%s and %s have the same time, %d", messages[i-1].ID, m.ID, m.At)
			}
			if position, known := c.positions[m.ID]; known {
				if before != nil && c.positions[before.ID] >= position {
					c.find(Reordered, "%s has position %d and is later than %s at %d", m.ID, position, before.ID, c.positions[before.ID])
				}
				before = m
			}
			send := c.sends[m.Content]
			if send == nil {
				continue
			}
			if latest != nil && send.Acknowledged && send.Span.Ended < c.sends[latest.Content].Span.Begun {
				c.find(Reordered, "%[1]s is stored before %[2]s, although it was sent after %[2]s was acknowledged", latest.ID, m.ID)
			}
			if latest == nil || send.Span.Begun > c.sends[latest.Content].Span.Begun {
				latest = m
			}
		}
	}
}
