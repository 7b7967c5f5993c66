package model

import (
	"slices"
	"time"
)

// unanswered reports whether a request still waits for its first answer.
func (m *Message) unanswered(now time.Time) bool {
	return m.Type == "request" && !m.Answered && !m.Expired(now)
}

// Expired reports whether the message's time ran out before it was read or, for a request, before it was answered.
func (m *Message) Expired(now time.Time) bool {
	switch {
	case m.Ended:
		return true
	case m.ExpiresAt.IsZero() || now.Before(m.ExpiresAt):
		return false
	case m.Type == "request":
		return !m.Answered
	}
	return m.ReadAt.IsZero()
}

// Status returns delivered, read or expired.
func (m *Message) Status(now time.Time) string {
	switch {
	case m.Expired(now):
		return "expired"
	case !m.ReadAt.IsZero():
		return "read"
	}
	return "delivered"
}

// Evicted reports whether the channel no longer lists the message.
func (m *Message) Evicted() bool { return !slices.Contains(m.Channel.Retained(), m) }

// Receives reports whether an agent is a recipient: the addressee, a current holder of the addressed role, or a
// participant when the message goes to everyone. Nobody receives their own messages. Of the messages that were sent
// before an agent took the role, it receives the requests that were still open when it took the role, and the
// messages that it has read or answered.
func (w *World) Receives(agent string, m *Message) bool {
	return w.receives(agent, m, m.ReadBy[agent] || m.answeredBy(agent))
}

// receives does what Receives does when it is known whether the agent has handled the message, which means read or
// answered it.
func (w *World) receives(agent string, m *Message, handled bool) bool {
	c := m.Channel
	if !w.Participates(c, agent) || m.Sender == agent || slices.Index(c.Sent, m) < c.hidden(agent) && agent != Operator {
		return false
	}
	switch {
	case toEveryone(m.To):
		return true
	case isRole(m.To):
		return w.HoldsRole(agent, m.To[len("role:"):]) &&
			(m.CreatedAt.After(w.since(agent)) || m.wasOpen(w.since(agent)) && !m.Expired(w.Now) || handled)
	}
	return m.To == agent
}

// wasOpen reports whether a request was still unanswered at a time.
func (m *Message) wasOpen(at time.Time) bool {
	first := slices.IndexFunc(m.Channel.Sent, func(other *Message) bool { return other.Request == m })
	return m.Type == "request" && (first < 0 || m.Channel.Sent[first].CreatedAt.After(at))
}

func (m *Message) answeredBy(agent string) bool {
	return slices.ContainsFunc(m.Channel.Sent, func(other *Message) bool { return other.Request == m && other.Sender == agent })
}

// Sees reports whether an agent may see a message (RFC-0021 sections 4 and 5): its sender, its recipients and the
// operator may.
func (w *World) Sees(agent string, m *Message) bool {
	return agent == Operator || m.Sender == agent && w.Participates(m.Channel, agent) || w.Receives(agent, m)
}

// Listed reports whether lists and streams show a message to an agent now. Its sender and the operator always see it.
// Recipients stop seeing a message whose time ran out before they read it, and a request whose time ran out before
// anybody answered it.
func (w *World) Listed(agent string, m *Message) bool {
	switch {
	case !w.Sees(agent, m):
		return false
	case agent == Operator || m.Sender == agent:
		return true
	case m.Type == "request":
		return !m.Expired(w.Now)
	}
	return !w.past(m.ExpiresAt) || m.ReadBy[agent]
}

// Query selects messages of a channel.
type Query struct {
	// After is the message or the time after which the list begins; without either, the list holds the newest
	// messages.
	After     *Message
	AfterTime time.Time
	// Oldest begins at the oldest retained message: that is the meaning of an id that is no longer retained.
	Oldest bool
	// Malformed is a cursor that is neither an id nor a time.
	Malformed bool

	Recipient, Type, CorrelationID string
	Limit                          int
}

// ListMessages lists what a caller may see of a channel, in the order of sending.
func (w *World) ListMessages(caller string, c *Channel, q Query) ([]*Message, Outcome) {
	switch {
	case c.Deleted:
		return nil, "CHANNEL_NOT_FOUND"
	case w.needPart(c, caller) != OK:
		return nil, w.needPart(c, caller)
	case q.Malformed, q.After != nil && q.After.Channel != c && w.Get(caller, q.After.Channel, q.After) == OK:
		return nil, "INVALID_FIELD"
	case q.After != nil && q.After.Channel != c:
		q.After, q.Oldest = nil, true // to this caller it is an id that no message has
	}
	page := slices.Clone(c.Retained())
	if q.After != nil {
		page = page[slices.Index(page, q.After)+1:] // an evicted message is not found, so the list begins at the oldest
	}
	page = slices.DeleteFunc(page, func(m *Message) bool {
		return !q.AfterTime.IsZero() && !m.CreatedAt.After(q.AfterTime) ||
			!w.Listed(caller, m) ||
			q.Recipient != "" && !w.isFor(caller, q.Recipient, m) ||
			q.Type != "" && m.Type != q.Type ||
			q.CorrelationID != "" && (m.Request == nil || m.Request.ID != q.CorrelationID)
	})
	switch newest := q.After == nil && q.AfterTime.IsZero() && !q.Oldest; {
	case len(page) <= q.Limit:
		return page, OK
	case newest:
		return page[len(page)-q.Limit:], OK
	}
	return page[:q.Limit], OK
}

// isFor reports whether a list for a recipient contains a message. It does not reveal to others what the recipient
// has handled.
func (w *World) isFor(caller, recipient string, m *Message) bool {
	return w.receives(recipient, m, caller == recipient && (m.ReadBy[recipient] || m.answeredBy(recipient)))
}

// Get returns one message, listed or expired, unless it is evicted.
func (w *World) Get(caller string, c *Channel, m *Message) Outcome {
	switch {
	case c.Deleted:
		return "CHANNEL_NOT_FOUND"
	case w.needPart(c, caller) != OK:
		return w.needPart(c, caller)
	case m == nil || m.Channel != c || m.Evicted() || !w.Sees(caller, m):
		return "MESSAGE_NOT_FOUND"
	}
	return OK
}

// MarkRead acknowledges a message, for the caller or for the agent that the operator names. Repeats are harmless.
func (w *World) MarkRead(caller, named string, c *Channel, m *Message) Outcome {
	agent, refused := actsAs(caller, named)
	if c.Deleted || refused != OK {
		return firstOf(refused, "CHANNEL_NOT_FOUND")
	}
	switch refused := w.Get(agent, c, m); {
	case refused != OK:
		return refused
	case m.Sender == agent:
		return "OWN_MESSAGE"
	case m.Expired(w.Now), m.Type != "request" && w.past(m.ExpiresAt) && !m.ReadBy[agent]:
		return "MESSAGE_EXPIRED"
	}
	if m.ReadAt.IsZero() {
		m.ReadAt = w.Now
	}
	m.ReadBy[agent] = true
	return OK
}

// Responses returns the answers to a request, including evicted ones, to its asker or the operator.
func (w *World) Responses(caller string, c *Channel, m *Message) ([]*Message, Outcome) {
	switch {
	case c.Deleted:
		return nil, "CHANNEL_NOT_FOUND"
	case w.needPart(c, caller) != OK:
		return nil, w.needPart(c, caller)
	case m == nil || m.Channel != c || !w.Sees(caller, m):
		return nil, "MESSAGE_NOT_FOUND"
	case m.Type != "request":
		return nil, "NOT_A_REQUEST"
	case m.Sender != caller && caller != Operator:
		return nil, "NOT_THE_ASKER"
	}
	var answers []*Message
	for _, answer := range c.Sent {
		if answer.Request == m && w.Listed(caller, answer) {
			answers = append(answers, answer)
		}
	}
	return answers, OK
}
