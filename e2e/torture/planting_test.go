package torture

import "slices"

// lose removes a message from a receiver whose rights never change.
func lose(guarantee Guarantee) func(*History, func(string, int) int) bool {
	return at(func(h *History, s spot) bool {
		send := sendOf(h, s.delivery().Message)
		return s.receiver.Guarantee == guarantee && (s.receiver.Agent == "ann" || s.receiver.Agent == "bob") &&
			send.Acknowledged && send.Span.Begun > s.receiver.From
	}, func(_ *History, s spot) {
		id := s.delivery().Message.ID
		for _, connection := range s.receiver.Connections {
			connection.Deliveries = slices.DeleteFunc(connection.Deliveries, func(d Delivery) bool { return d.Message.ID == id })
		}
	})
}

// keepsRights reports whether the rights of a receiver never change. What the others receive may come late, behind a freeze.
func keepsRights(r *Receiver) bool { return !slices.Contains([]string{"cyd", "dan", "eve"}, r.Agent) }

// swap exchanges two messages of one channel, at a receiver whose rights never change.
func swap(guarantee Guarantee) func(*History, func(string, int) int) bool {
	return at(
		func(h *History, s spot) bool {
			return s.receiver.Guarantee == guarantee && keepsRights(s.receiver) && followed(s)
		},
		func(_ *History, s spot) {
			deliveries := s.connection.Deliveries
			deliveries[s.index], deliveries[s.index+1] = deliveries[s.index+1], deliveries[s.index]
			deliveries[s.index].At, deliveries[s.index+1].At = deliveries[s.index+1].At, deliveries[s.index].At
		},
	)
}

// lateBehindAFreeze makes two posts to an agent whose rights never change come in the wrong order while a replica is frozen.
func lateBehindAFreeze(h *History, draw func(string, int) int) bool {
	return at(
		func(h *History, s spot) bool {
			return s.receiver.Guarantee == InOrder && keepsRights(s.receiver) && followed(s)
		},
		func(h *History, s spot) {
			one, other := &s.connection.Deliveries[s.index], &s.connection.Deliveries[s.index+1]
			h.Freezes = append(h.Freezes, Span{one.At - 1, other.At - 1})
			*one, *other = *other, *one
			one.At, other.At = other.At, one.At
		},
	)(h, draw)
}

// lateWithoutAFreeze removes the freezes that excuse late posts.
func lateWithoutAFreeze(h *History, _ func(string, int) int) bool {
	late := slices.ContainsFunc(h.Receivers, func(r *Receiver) bool {
		highest, seen := make(map[string]int64), make(map[int64]bool)
		return r.Guarantee == InOrder && slices.ContainsFunc(r.inTime(), func(d *Delivery) bool {
			before, again := highest[d.Message.Channel], seen[d.Cursor]
			highest[d.Message.Channel], seen[d.Cursor] = max(before, d.Cursor), true
			return !again && d.Cursor < before
		})
	})
	h.Freezes = nil
	return late
}

// again repeats a delivery that is finished.
func again(guarantee Guarantee) func(*History, func(string, int) int) bool {
	return againUnder(guarantee, 0)
}

// againUnder repeats a delivery that is finished under another number, unless that is 0.
func againUnder(guarantee Guarantee, number int64) func(*History, func(string, int) int) bool {
	done := func(s spot) (Done, bool) {
		for _, done := range s.receiver.Done {
			if done.ID == s.delivery().Message.ID || done.ID == "" && done.Cursor == s.delivery().Cursor {
				return done, true
			}
		}
		return Done{}, false
	}
	return at(func(_ *History, s spot) bool {
		_, confirmed := done(s)
		return s.receiver.Guarantee == guarantee && confirmed
	}, func(_ *History, s spot) {
		d := *s.delivery()
		d.Attempt, d.At = d.Attempt+100, forever
		if number != 0 {
			d.Cursor, d.Attempt = number, 1
		}
		confirmed, _ := done(s)
		s.receiver.Connections = append(s.receiver.Connections, &Connection{Begun: confirmed.At + 1, Deliveries: []Delivery{d}})
	})
}

// leak gives a receiver a message that some rule hides from it.
func leak(kept func(h *History, r *Receiver, m *Message) bool) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		type pair struct {
			receiver *Receiver
			message  *Message
		}
		var pairs []pair
		for _, s := range spots(h, func(s spot) bool { return s.receiver.Operator }) {
			for _, receiver := range h.Receivers {
				if m := s.delivery().Message; !receiver.Operator && kept(h, receiver, m) {
					pairs = append(pairs, pair{receiver, m})
				}
			}
		}
		if len(pairs) == 0 {
			return false
		}
		chosen := pairs[draw("leak", len(pairs))]
		last := chosen.receiver.Connections[len(chosen.receiver.Connections)-1]
		last.Deliveries = append(last.Deliveries, Delivery{Message: chosen.message, Cursor: 1 << 40, At: forever})
		return true
	}
}

// alter makes one receiver see a message differently from the others.
func alter(change func(*Message)) func(*History, func(string, int) int) bool {
	return at(of(AtLeastOnce), func(_ *History, s spot) {
		m := *s.delivery().Message
		change(&m)
		s.delivery().Message = &m
	})
}

// storeLate gives a message a time of storing before that of another message, which was acknowledged before the first one's
// sending began.
func storeLate(h *History, draw func(string, int) int) bool {
	found := spots(h, func(s spot) bool {
		if !s.receiver.Operator || s.index == 0 {
			return false
		}
		one := sendOf(h, s.connection.Deliveries[s.index-1].Message)
		return one.Acknowledged && one.Span.Ended < sendOf(h, s.delivery().Message).Span.Begun
	})
	if len(found) == 0 {
		return false
	}
	s := found[draw("place of the fault", len(found))]
	one, other := s.delivery(), &s.connection.Deliveries[s.index-1]
	one.Message.At, other.Message.At = other.Message.At, one.Message.At
	return true
}

// storeTwice stores a message a second time under another id.
func storeTwice(acknowledged bool) func(*History, func(string, int) int) bool {
	return at(func(h *History, s spot) bool {
		send := sendOf(h, s.delivery().Message)
		return s.receiver.Operator && send.Acknowledged == acknowledged
	}, func(_ *History, s spot) {
		m := *s.delivery().Message
		m.ID, m.At = m.ID+" again", m.At+1
		last := s.receiver.Connections[len(s.receiver.Connections)-1]
		last.Deliveries = append(last.Deliveries, Delivery{Message: &m, Cursor: 1 << 40, At: forever})
	})
}

func acknowledged(h *History, holds func(*Send) bool) (sends []*Send) {
	h.each(func(send *Send) {
		if send.Acknowledged && holds(send) {
			sends = append(sends, send)
		}
	})
	return sends
}

func ofAsk(holds func(*Ask) bool, put func(*Ask)) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		var found []*Ask
		for _, ask := range h.Asks {
			if holds(ask) {
				found = append(found, ask)
			}
		}
		if len(found) == 0 {
			return false
		}
		put(found[draw("ask", len(found))])
		return true
	}
}

// ofLog puts a fault at a message's entry that another entry follows.
func ofLog(put func(log *Log, index int)) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		type entry struct {
			log   *Log
			index int
		}
		var found []entry
		for i := range h.Logs {
			log := &h.Logs[i]
			for index := range log.Events[:max(0, len(log.Events)-1)] {
				if send := sendOf(h, log.Events[index].Message); send.Acknowledged {
					found = append(found, entry{log, index})
				}
			}
		}
		if len(found) == 0 {
			return false
		}
		chosen := found[draw("log entry", len(found))]
		put(chosen.log, chosen.index)
		return true
	}
}

// outstay makes a sighting of an agent come too late after its last stay before it.
func outstay(h *History, draw func(string, int) int) bool {
	if len(h.Sightings) == 0 {
		return false
	}
	late := &h.Sightings[draw("late sighting", len(h.Sightings))]
	h.Stays = slices.DeleteFunc(h.Stays, func(s Stay) bool { return s.Agent == late.Agent && s.From > late.Began })
	for _, stay := range h.Stays {
		if stay.Agent == late.Agent {
			late.Began = max(late.Began, stay.To+goneWithin+1)
		}
	}
	late.Ended = late.Began
	return true
}

// stall makes a send slow at a replica that was well while another replica was disturbed.
func stall(h *History, draw func(string, int) int) bool {
	var on []int
	for i, timing := range h.Timings {
		slow := Timing{timing.Replica, timing.Began, 2 * stallAfter}
		if !slices.ContainsFunc(h.Disturbances, func(d Disturbance) bool { return d.excuses(slow) }) {
			on = append(on, i)
		}
	}
	if len(on) == 0 {
		return false
	}
	slow := &h.Timings[on[draw("slow send", len(on))]]
	slow.Took = 2 * stallAfter
	h.Disturbances = append(h.Disturbances, Disturbance{slow.Replica + 1, slow.Began, slow.Began + slow.Took})
	return true
}
