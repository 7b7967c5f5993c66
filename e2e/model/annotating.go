package model

import (
	"slices"
	"time"
)

// Annotation is what happened to a message after it was sent: an edit, its deletion, or a change of a reaction.
type Annotation struct {
	Message *Message
	Agent   string
	// Revision is the number of the revision that an edit made. Otherwise, unless the content was deleted, Signal was set or, with
	// Removed, taken away.
	Revision int
	Deleted  bool
	Signal   string
	Removed  bool
	// after is how many messages the channel had before.
	after int
	// at is when a deletion was made, and ended is true if its message had ended before.
	at    time.Time
	ended bool
}

// Reaction is a signal of an agent on a message.
type Reaction struct{ Agent, Signal string }

// annotatable decides whether an agent finds a message, as everybody must who looks at it closely or does something with it.
func (w *World) annotatable(agent string, c *Channel, m *Message) Outcome {
	switch {
	case c.Deleted:
		return "CHANNEL_NOT_FOUND"
	case w.needPart(c, agent) != OK:
		return w.needPart(c, agent)
	case m == nil || m.Channel != c || m.Evicted() || !w.Listed(agent, m):
		return "MESSAGE_NOT_FOUND"
	}
	return OK
}

// Edit gives a message of the acting agent a new payload. An edit that changes nothing leaves nothing.
func (w *World) Edit(caller, named string, c *Channel, m *Message, text string, supersede bool) Outcome {
	agent, refused := actsAs(caller, named)
	if refused = firstOf(refused, w.annotatable(agent, c, m)); refused != OK {
		return refused
	}
	switch {
	case m.Sender != agent:
		return "NOT_THE_SENDER"
	case !m.DeletedAt.IsZero():
		return "MESSAGE_DELETED"
	case !c.Open():
		return "CHANNEL_CLOSED"
	case m.Expired(w.Now) || m.Type == "request" && w.past(m.ExpiresAt):
		return "MESSAGE_EXPIRED"
	case m.Answered && !supersede:
		return "ANSWERED"
	}
	if text == m.Payload {
		return OK
	}
	m.Before = append(m.Before, m.Payload)
	m.Payload, m.EditedAt = text, w.Now
	c.annotate(Annotation{Message: m, Agent: agent, Revision: len(m.Before) + 1})
	return OK
}

// DeleteContent takes a message's content away, for its sender or who manages its channel. The message keeps its place, and deleting it
// again is harmless. What the log has a copy of stays.
func (w *World) DeleteContent(caller, named string, c *Channel, m *Message) Outcome {
	agent, refused := actsAs(caller, named)
	if refused = firstOf(refused, w.Get(agent, c, m)); refused != OK {
		return refused
	}
	switch {
	case m.Sender != agent && w.needManager(c, agent) != OK:
		return "NOT_THE_SENDER"
	case !m.DeletedAt.IsZero():
		return OK
	case !c.Open():
		return "CHANNEL_CLOSED"
	case c.Audit, slices.Contains(c.Intent.Log, m):
		return "AUDITED"
	}
	deletion := Annotation{Message: m, Agent: agent, Deleted: true, at: w.Now, ended: m.Ended}
	m.Ended = m.Ended || m.unanswered(w.Now)
	m.DeletedAt = w.Now
	c.annotate(deletion)
	return OK
}

// React sets a signal of the acting agent on a message, or takes it away. What is so already stays as it is.
func (w *World) React(caller, named string, c *Channel, m *Message, signal string, remove bool) Outcome {
	agent, refused := actsAs(caller, named)
	if refused = firstOf(refused, w.annotatable(agent, c, m)); refused != OK {
		return refused
	}
	if !c.Open() {
		return "CHANNEL_CLOSED"
	}
	one := Reaction{agent, signal}
	at := slices.Index(m.Reactions, one)
	switch {
	case remove && at >= 0:
		m.Reactions = slices.Delete(slices.Clone(m.Reactions), at, at+1)
	case !remove && at < 0:
		m.Reactions = append(m.Reactions, one)
	default:
		return OK
	}
	c.annotate(Annotation{Message: m, Agent: agent, Signal: signal, Removed: remove})
	return OK
}

// Look decides whether a caller may list a message's reactions and revisions.
func (w *World) Look(caller string, c *Channel, m *Message) Outcome {
	return w.annotatable(caller, c, m)
}

func (c *Channel) annotate(a Annotation) {
	a.after = len(c.Sent)
	c.annotations = append(c.annotations, a)
}

// LogEntry is a place in a channel's part of the log: a message or an annotation.
type LogEntry struct {
	Message    *Message
	Annotation *Annotation
}

// Entries returns what a stream with annotations shows of a channel to a caller that may list it: the messages, and what happened
// to them, each in its place.
func (w *World) Entries(caller string, c *Channel) (entries []LogEntry) {
	shown := func(m *Message) bool { return !m.Evicted() && w.Listed(caller, m) }
	rest := c.annotations
	for i, m := range c.Sent {
		if shown(m) {
			entries = append(entries, LogEntry{Message: m})
		}
		for len(rest) > 0 && rest[0].after == i+1 {
			if shown(rest[0].Message) || rest[0].Deleted && !rest[0].Message.Evicted() && w.toldOf(caller, rest[0]) {
				entries = append(entries, LogEntry{Annotation: &rest[0]})
			}
			rest = rest[1:]
		}
	}
	return entries
}

// toldOf reports whether an agent is told of a deletion: whoever was shown the message when it was deleted, by what the agent may see now.
func (w *World) toldOf(agent string, deletion Annotation) (told bool) {
	m, ended, now := deletion.Message, deletion.Message.Ended, w.Now
	m.Ended, w.Now = deletion.ended, deletion.at
	told = w.Listed(agent, m)
	m.Ended, w.Now = ended, now
	return told
}

// Said returns what a message's payload was from one edit to the next; the last one is the present one. A deleted message says
// nothing.
func (m *Message) Said() []string {
	if !m.DeletedAt.IsZero() {
		return nil
	}
	return append(slices.Clone(m.Before), m.Payload)
}

// AsSent returns the message as it was before any edit and before its deletion: as its sender repeats it.
func (m *Message) AsSent() *Message {
	sent := *m
	sent.Payload, sent.Before, sent.EditedAt, sent.DeletedAt = m.content.Payload, nil, time.Time{}, time.Time{}
	return &sent
}
