package torture

import (
	"slices"
	"strings"
)

// plant puts one fault into a correct history. put returns false when the history has no place for the fault.
type plant struct {
	name string
	kind Kind
	put  func(h *History, draw func(what string, n int) int) bool
}

// spot is a delivery and its place in the history.
type spot struct {
	receiver   *Receiver
	connection *Connection
	index      int
}

func (s spot) delivery() *Delivery { return &s.connection.Deliveries[s.index] }

// spots returns the deliveries that satisfy a condition.
func spots(h *History, holds func(spot) bool) (found []spot) {
	for _, receiver := range h.Receivers {
		for _, connection := range receiver.Connections {
			for index := range connection.Deliveries {
				if s := (spot{receiver, connection, index}); holds(s) {
					found = append(found, s)
				}
			}
		}
	}
	return found
}

// at puts a fault at one of the deliveries that satisfy a condition.
func at(holds func(*History, spot) bool, put func(*History, spot)) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		found := spots(h, func(s spot) bool { return holds(h, s) })
		if len(found) == 0 {
			return false
		}
		put(h, found[draw("place of the fault", len(found))])
		return true
	}
}

func insert(s spot, offset int, d Delivery) {
	s.connection.Deliveries = slices.Insert(s.connection.Deliveries, s.index+offset, d)
}

// sendOf returns the send of a message.
func sendOf(h *History, m *Message) (sent *Send) {
	h.each(func(send *Send) {
		if send.Content == m.Content {
			sent = send
		}
	})
	return sent
}

// first reports whether a delivery is the receiver's first one of its message.
func first(s spot) bool {
	for _, connection := range s.receiver.Connections {
		for index := range connection.Deliveries {
			if connection.Deliveries[index].Message.ID == s.delivery().Message.ID {
				return connection == s.connection && index == s.index
			}
		}
	}
	return false
}

// followed reports whether a delivery begins a pair of messages of one channel that both arrive for the first time, with
// nothing between them.
func followed(s spot) bool {
	if s.index+1 == len(s.connection.Deliveries) {
		return false
	}
	next := spot{s.receiver, s.connection, s.index + 1}
	one, other := s.delivery(), next.delivery()
	between := func(d *Delivery) bool { return one.At < d.At && d.At < other.At }
	return !slices.ContainsFunc(s.receiver.inTime(), between) && one.Message.Channel == other.Message.Channel && first(s) && first(next) && one.Attempt < 2 && other.Attempt < 2
}

func of(guarantee Guarantee) func(*History, spot) bool {
	return func(_ *History, s spot) bool { return s.receiver.Guarantee == guarantee }
}

// plants are the faults that the checker must find.
var plants = []plant{
	{"a send that a frozen replica elsewhere held up", Stalled, stall},
	{"an agent that is called live long after it has gone", Unreached, outstay},
	{"a message that a stream lost", Lost, lose(Once)},
	{"a message that a subscription lost", Lost, lose(AtLeastOnce)},
	{"a message that a webhook lost", Lost, lose(InOrder)},
	{"a message that an inbox lost", Lost, lose(State)},
	{"two messages that changed places on a stream", Reordered, swap(Once)},
	{"two messages that changed places in a subscription", Reordered, swap(AtLeastOnce)},
	{"two messages that changed places in a webhook", Reordered, swap(InOrder)},
	{"two messages that changed places in an inbox", Reordered, swap(State)},
	{"numbers that disagree with the order", Reordered, at(
		func(_ *History, s spot) bool {
			return s.receiver.Guarantee == InOrder && keepsRights(s.receiver) && followed(s)
		},
		func(_ *History, s spot) {
			one, other := s.delivery(), &s.connection.Deliveries[s.index+1]
			one.Message, other.Message = other.Message, one.Message
		},
	)},
	{"a webhook that came late though its agent saw it the whole time", Reordered, lateBehindAFreeze},
	{"a webhook that came late though no replica was frozen", Reordered, lateWithoutAFreeze},
	{"a message stored before one that was acknowledged earlier", Reordered, storeLate},
	{"two messages with the same time", Reordered, func(h *History, _ func(string, int) int) bool {
		found := spots(h, func(s spot) bool { return s.receiver.Operator })
		if len(found) < 2 {
			return false
		}
		found[1].delivery().Message.At = found[0].delivery().Message.At
		return true
	}},
	{"a message twice in a stream", Doubled, at(of(Once), func(_ *History, s spot) { insert(s, 1, *s.delivery()) })},
	{"a message again after a resume", Doubled, at(of(Once), func(_ *History, s spot) {
		last := s.receiver.Connections[len(s.receiver.Connections)-1]
		s.receiver.Connections = append(s.receiver.Connections, &Connection{
			Begun: last.Begun + 1, After: s.delivery().Cursor, Deliveries: []Delivery{*s.delivery()},
		})
	})},
	{"a backfill more often than rights were gained", Doubled, at(of(Once), func(h *History, s spot) {
		d := *s.delivery()
		d.Backfill = true
		for range 1 + len(h.Rights) {
			insert(s, 1, d)
		}
	})},
	{"a delivery again after it was acknowledged", Doubled, again(AtLeastOnce)},
	{"a webhook again after it was accepted", Doubled, again(InOrder)},
	{"a message in an inbox again after it was marked", Doubled, again(State)},
	{"a message twice on one page", Doubled, at(of(State), func(_ *History, s spot) { insert(s, 1, *s.delivery()) })},
	{"an attempt twice", Doubled, at(of(AtLeastOnce), func(_ *History, s spot) { insert(s, 1, *s.delivery()) })},
	{"a delivery under a higher number after it was acknowledged", Doubled, againUnder(AtLeastOnce, 1<<40)},
	{"a message under two numbers in a webhook", Doubled, at(of(InOrder), func(_ *History, s spot) {
		d := *s.delivery()
		d.Cursor = 1 << 40
		s.connection.Deliveries = append(s.connection.Deliveries, d)
	})},
	{"a message again under a lower number", Doubled, at(of(AtLeastOnce), func(_ *History, s spot) {
		d := *s.delivery()
		d.Cursor = -1
		s.connection.Deliveries = append(s.connection.Deliveries, d)
	})},
	{"a number with two messages", Altered, at(
		func(_ *History, s spot) bool { return s.receiver.Guarantee == AtLeastOnce && followed(s) },
		func(_ *History, s spot) { s.connection.Deliveries[s.index+1].Cursor = s.delivery().Cursor },
	)},
	{"a redelivery under another id", Altered, at(of(InOrder), func(_ *History, s spot) {
		d := *s.delivery()
		d.Attempt, d.EventID = d.Attempt+1, "another"
		insert(s, 1, d)
	})},
	{"a direct message seen by another", Leaked, leak(func(h *History, r *Receiver, m *Message) bool {
		return !strings.HasPrefix(m.To, "role:") && m.To != everyone && m.To != r.Agent && m.Sender != r.Agent && r.follows(m.Intent, m.Channel)
	})},
	{"a message of an explicit channel seen by a stranger", Leaked, leak(func(h *History, r *Receiver, m *Message) bool {
		return m.Channel == "explicit" && r.Agent == "eve"
	})},
	{"a message to a role seen after the role was lost", Leaked, leak(func(h *History, r *Receiver, m *Message) bool {
		send := sendOf(h, m)
		if m.To != "role:solver" || m.Sender == r.Agent || !r.follows(m.Intent, m.Channel) {
			return false
		}
		return !slices.ContainsFunc(h.Rights, func(right Right) bool {
			return right.Agent == r.Agent && right.Kind == Role &&
				(right.Withdrawn == (Span{}) || right.Withdrawn.Ended >= send.Span.Begun)
		})
	})},
	{"a message to a role seen by an agent that took the role later", Leaked, leak(func(h *History, r *Receiver, m *Message) bool {
		send := sendOf(h, m)
		if m.To != "role:solver" || m.Kind == Request || m.Sender == r.Agent || !r.follows(m.Intent, m.Channel) {
			return false
		}
		held := func(right Right) bool { return right.Agent == r.Agent && right.Kind == Role }
		return slices.ContainsFunc(h.Rights, held) && !slices.ContainsFunc(h.Rights, func(right Right) bool {
			return held(right) && right.Granted.Begun <= send.Span.Ended
		})
	})},
	{"a message of a channel that is not followed", Leaked, leak(func(h *History, r *Receiver, m *Message) bool {
		return r.Channel != "" && r.Channel != m.Channel
	})},
	{"a message with other content", Altered, alter(func(m *Message) { m.Sender = "nobody" })},
	{"a message with another time", Altered, alter(func(m *Message) { m.At++ })},
	{"a message at another position", Altered, at(
		func(_ *History, s spot) bool { return s.receiver.Operator && s.index > 0 },
		func(_ *History, s spot) { s.delivery().Cursor++ },
	)},
	{"a message that nobody sent", Invented, at(of(Once), func(_ *History, s spot) {
		s.delivery().Message = &Message{ID: "invented", Intent: plainIntent, Channel: "open", Content: "invented"}
	})},
	{"a message that was refused", Invented, at(of(Once), func(h *History, s spot) {
		send := sendOf(h, s.delivery().Message)
		send.Refused, send.Acknowledged, send.ID = true, false, ""
	})},
	{"an unacknowledged send stored twice", Repeated, storeTwice(false)},
	{"an acknowledged send stored twice", Repeated, storeTwice(true)},
	{"two sends acknowledged as one message", Altered, func(h *History, draw func(string, int) int) bool {
		sends := acknowledged(h, func(*Send) bool { return true })
		if len(sends) < 2 {
			return false
		}
		one := draw("send", len(sends)-1)
		sends[one].ID = sends[one+1].ID
		return true
	}},
	{"an answer to another question", Misanswered, func(h *History, draw func(string, int) int) bool {
		var answered []*Ask
		for _, ask := range h.Asks {
			if len(ask.Answers) > 0 {
				answered = append(answered, ask)
			}
		}
		if len(answered) < 2 {
			return false
		}
		one := draw("ask", len(answered)-1)
		answered[one].Answers[0] = answered[one+1].Answers[0]
		return true
	}},
	{"two answers where one was asked for", Misanswered, ofAsk(
		func(ask *Ask) bool { return !ask.All && len(ask.Answers) == 1 },
		func(ask *Ask) { ask.Answers = append(ask.Answers, ask.Answers[0]) },
	)},
	{"an accepted answer that the asker never got", Unanswered, ofAsk(
		func(ask *Ask) bool { return !ask.All && len(ask.Answers) == 1 },
		func(ask *Ask) { ask.Answers, ask.Complete = nil, true },
	)},
	{"one of several answers that the asker never got", Unanswered, ofAsk(
		func(ask *Ask) bool { return ask.All && len(ask.Answers) > 0 },
		func(ask *Ask) { ask.Answers = ask.Answers[1:] },
	)},
	{"an audited message that is not in the log", Unlogged, ofLog(func(log *Log, index int) {
		next := log.Events[index+1:]
		for i := range next {
			next[i].Sequence--
		}
		next[0].Previous = log.Events[index].Previous
		log.Events = slices.Delete(log.Events, index, index+1)
	})},
	{"an audited message that is in the log twice", Unlogged, ofLog(func(log *Log, index int) {
		log.Events[index+1].Message = log.Events[index].Message
	})},
	{"an audited message without its log entry", Unlogged, at(
		func(_ *History, s spot) bool { return s.delivery().Logged != nil },
		func(_ *History, s spot) { s.delivery().Logged = nil },
	)},
	{"a log with a gap", Broken, ofLog(func(log *Log, index int) { log.Events = slices.Delete(log.Events, index, index+1) })},
	{"a log whose hashes do not follow", Broken, ofLog(func(log *Log, index int) { log.Events[index].Hash = "another" })},
	{"a log that the server finds broken", Broken, ofLog(func(log *Log, _ int) { log.Broken = "a break" })},
	{"a failure that no client should meet", Problem, func(h *History, _ func(string, int) int) bool {
		h.Problems = append(h.Problems, "a cursor was refused")
		return true
	}},
}
