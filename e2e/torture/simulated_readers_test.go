package torture

import (
	"fmt"
	"slices"
)

// read gives a reader some of what it has not received yet, according to its guarantee, or cuts its connection.
func (s *simulation) read(r *simulatedReader) {
	if s.chance("cut", 4) || r.Transport == "polling" || r.Guarantee == State {
		s.connect(r)
	}
	switch r.Guarantee {
	case Once:
		for _, m := range s.advance(r, 1+s.draw("pages", 6)) {
			r.number++
			if m.reaction != nil {
				s.annotate(r, m)
				continue
			}
			cursor := m.position
			switch {
			case r.Transport == "polling":
				cursor = 0
			case r.Intent == "":
				cursor = r.number
			}
			s.deliver(r, Delivery{Message: m.Message, Cursor: cursor, Logged: s.logged(r, m)})
		}
	case AtLeastOnce, InOrder:
		s.number(r)
		s.attempt(r)
	case State:
		s.show(r)
	}
}

// number numbers further deliveries of a subscription.
func (s *simulation) number(r *simulatedReader) {
	for _, m := range s.advance(r, 1+s.draw("pages", 6)) {
		r.number++
		r.numbered = append(r.numbered, &simulatedDelivery{message: m, number: r.number})
	}
}

// advance moves a reader over its logs, at most this many entries in each, and returns the messages that it may see now.
func (s *simulation) advance(r *simulatedReader, most int) []*simulated {
	var visible []*simulated
	for _, intent := range []string{plainIntent, restrictedIntent} {
		if !r.follows(intent, r.Channel) {
			continue
		}
		if s.history.Intents[intent].Restricted && !r.Operator && !s.rights[claim{r.Agent, Access, intent}] {
			continue // its cursor waits
		}
		log := s.logs[intent]
		for range most {
			if int(r.through[intent]) == len(log) {
				break
			}
			m := log[r.through[intent]]
			r.through[intent]++
			hidden := m.ask != nil && m.done && len(m.ask.Answers) == 0 && m.Sender != r.Agent // expired
			if r.follows(intent, m.Channel) && (r.Events || m.Kind != LoggedEvent) &&
				(r.Annotations || m.reaction == nil) && !hidden && s.sees(r.Receiver, m.Message) {
				visible = append(visible, m)
			}
		}
	}
	return visible
}

func (s *simulation) atEnd(r *simulatedReader) bool {
	for intent, log := range s.logs {
		blocked := s.history.Intents[intent].Restricted && !r.Operator && !s.rights[claim{r.Agent, Access, intent}]
		if r.follows(intent, r.Channel) && !blocked && int(r.through[intent]) < len(log) {
			return false
		}
	}
	return !slices.ContainsFunc(r.numbered, func(d *simulatedDelivery) bool { return !d.confirmed })
}

func (s *simulation) deliver(r *simulatedReader, d Delivery) {
	d.At = s.now()
	connection := r.Connections[len(r.Connections)-1]
	if r.Guarantee == AtLeastOnce && len(r.Connections) > 1 && s.chance("another program's", 2) {
		connection = r.Connections[len(r.Connections)-2]
	}
	connection.Deliveries = append(connection.Deliveries, d)
}

func (s *simulation) logged(r *simulatedReader, m *simulated) *Message {
	if r.Guarantee == Once && r.Events && s.history.Channels[m.Channel].Audited {
		return m.Message
	}
	return nil
}

// attempt delivers everything that is not confirmed. Deliveries and confirmations may be lost. A webhook waits for the previous
// messages of the channel.
func (s *simulation) attempt(r *simulatedReader) {
	blocked := make(map[string]bool)
	for _, d := range r.numbered {
		if d.confirmed || r.Guarantee == InOrder && blocked[d.message.Channel] {
			continue
		}
		d.attempt++
		if s.chance("attempt lost", 5) {
			blocked[d.message.Channel] = true
			continue
		}
		s.deliver(r, Delivery{
			Message: d.message.Message, Cursor: d.number, Attempt: d.attempt, EventID: fmt.Sprintf("delivery %d", d.number),
		})
		if s.chance("confirmation lost", 5) {
			blocked[d.message.Channel] = true
			continue
		}
		d.confirmed = true
		r.Done = append(r.Done, Done{Cursor: d.number, At: s.now()})
	}
}

// freeze makes a replica stand still after it has begun a webhook's post. The agent loses a right meanwhile. If the agent can
// no longer see the message, another replica skips it and posts the others. Then the frozen replica continues.
func (s *simulation) freeze() {
	held := slices.DeleteFunc(changing(), func(right claim) bool { return !s.rights[right] })
	if len(held) == 0 {
		return
	}
	lost := held[s.draw("right", len(held))]
	at := slices.IndexFunc(s.readers, func(r *simulatedReader) bool { return r.Guarantee == InOrder && r.Agent == lost.agent })
	r := s.readers[at]
	s.number(r)
	var begun []*simulatedDelivery
	waiting := make(map[string]bool)
	for _, d := range r.numbered {
		if !d.confirmed && !waiting[d.message.Channel] && s.sees(r.Receiver, d.message.Message) {
			begun = append(begun, d)
		}
		waiting[d.message.Channel] = waiting[d.message.Channel] || !d.confirmed
	}
	from := s.now()
	s.withdraw(lost)
	begun = slices.DeleteFunc(begun, func(d *simulatedDelivery) bool { return s.sees(r.Receiver, d.message.Message) })
	for _, d := range begun {
		d.confirmed = true
	}
	s.attempt(r)
	s.history.Freezes = append(s.history.Freezes, Span{from, s.now()})
	for _, d := range begun {
		s.deliver(r, Delivery{
			Message: d.message.Message, Cursor: d.number, Attempt: d.attempt + 1, EventID: fmt.Sprintf("delivery %d", d.number),
		})
	}
}

// show delivers what waits in an inbox and marks some of it as read.
func (s *simulation) show(r *simulatedReader) {
	var marked []string
	for _, intent := range []string{plainIntent, restrictedIntent} {
		for _, m := range s.logs[intent] {
			if m.Kind == LoggedEvent || m.reaction != nil || m.ask != nil || m.Sender == r.Agent || r.marked[m.ID] || !s.sees(r.Receiver, m.Message) {
				continue
			}
			s.deliver(r, Delivery{Message: m.Message})
			if m.Kind != Request {
				marked = append(marked, m.ID)
			}
		}
		r.through[intent] = int64(len(s.logs[intent]))
	}
	if s.chance("marking lost", 3) {
		return
	}
	for _, id := range marked {
		r.marked[id] = true
		r.Done = append(r.Done, Done{ID: id, At: s.now()})
	}
}
