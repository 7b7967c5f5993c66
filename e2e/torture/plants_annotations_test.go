package torture

import "slices"

// annotatedSpot is an annotation and its place in the history.
type annotatedSpot struct {
	receiver   *Receiver
	connection *Connection
	index      int
}

func (s annotatedSpot) annotation() *Annotation { return &s.connection.Annotations[s.index] }

// atAnnotation puts a fault at one of the annotations that satisfy a condition.
func atAnnotation(holds func(*History, annotatedSpot) bool, put func(*History, annotatedSpot)) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		var found []annotatedSpot
		for _, receiver := range h.Receivers {
			for _, connection := range receiver.Connections {
				for index := range connection.Annotations {
					if s := (annotatedSpot{receiver, connection, index}); holds(h, s) {
						found = append(found, s)
					}
				}
			}
		}
		if len(found) == 0 {
			return false
		}
		put(h, found[draw("place of the fault", len(found))])
		return true
	}
}

func anyAnnotation(*History, annotatedSpot) bool { return true }

func (s annotatedSpot) remove() {
	s.connection.Annotations = slices.Delete(s.connection.Annotations, s.index, s.index+1)
}

// annotationTo gives a receiver an annotation that some rule hides from it.
func annotationTo(hidden func(h *History, r *Receiver, to *Send) bool) func(*History, func(string, int) int) bool {
	return func(h *History, draw func(string, int) int) bool {
		for _, receiver := range h.Receivers {
			put := atAnnotation(func(h *History, s annotatedSpot) bool {
				return s.receiver.Operator && hidden(h, receiver, reactionOf(h, s.annotation().Note).To)
			}, func(_ *History, s annotatedSpot) {
				connection := receiver.Connections[len(receiver.Connections)-1]
				a := *s.annotation()
				a.At = forever
				connection.Annotations = append(connection.Annotations, a)
			})
			if put(h, draw) {
				return true
			}
		}
		return false
	}
}

func reactionOf(h *History, note Note) *Reaction {
	index := slices.IndexFunc(h.Reactions, func(r *Reaction) bool { return r.Note == note })
	return h.Reactions[index]
}

// allPlants returns the faults of messages and those of annotations.
func allPlants() []plant { return slices.Concat(plants, annotationPlants) }

// annotationPlants are the faults of annotations.
var annotationPlants = []plant{
	{"a lost annotation", Lost, atAnnotation(func(h *History, s annotatedSpot) bool {
		reaction := reactionOf(h, s.annotation().Note)
		return reaction.Acknowledged && reaction.Span.Begun > s.receiver.From && (s.receiver.Operator || s.receiver.Agent == "ann")
	}, func(_ *History, s annotatedSpot) { s.remove() })},
	{"a doubled annotation on one connection", Doubled, atAnnotation(anyAnnotation, func(_ *History, s annotatedSpot) {
		s.connection.Annotations = slices.Insert(s.connection.Annotations, s.index, *s.annotation())
	})},
	{"an annotation again after a resume", Doubled, atAnnotation(anyAnnotation, func(_ *History, s annotatedSpot) {
		a := *s.annotation()
		a.At = forever
		s.receiver.Connections = append(s.receiver.Connections, &Connection{
			Begun: forever, After: a.Position - 1, Annotations: []Annotation{a},
		})
	})},
	{"an annotation after a later message", Reordered, atAnnotation(func(_ *History, s annotatedSpot) bool {
		return slices.ContainsFunc(s.connection.Deliveries, func(d Delivery) bool { return d.Cursor > s.annotation().Position })
	}, func(_ *History, s annotatedSpot) {
		a := *s.annotation()
		a.At = forever
		s.remove()
		s.connection.Annotations = append(s.connection.Annotations, a)
	})},
	{"an annotation before an earlier message", Reordered, atAnnotation(func(_ *History, s annotatedSpot) bool {
		return s.index == 0 && len(s.connection.Deliveries) > 0 && s.connection.Deliveries[0].Cursor < s.annotation().Position
	}, func(_ *History, s annotatedSpot) { s.annotation().At = s.connection.Begun })},
	{"two annotations in the wrong order", Reordered, atAnnotation(func(_ *History, s annotatedSpot) bool {
		return s.index+1 < len(s.connection.Annotations)
	}, func(_ *History, s annotatedSpot) {
		one, other := &s.connection.Annotations[s.index], &s.connection.Annotations[s.index+1]
		*one, *other = *other, *one
		one.At, other.At = other.At, one.At
	})},
	{"an annotation at another position", Altered, atAnnotation(func(h *History, s annotatedSpot) bool {
		return !s.receiver.Operator && reactionOf(h, s.annotation().Note).To.Intent == plainIntent
	}, func(_ *History, s annotatedSpot) { s.annotation().Position++ })},
	{"an annotation at the place of a message", Reordered, atAnnotation(anyAnnotation, func(h *History, s annotatedSpot) {
		id, position := s.annotation().MessageID, int64(0)
		for _, of := range spots(h, func(of spot) bool {
			return of.delivery().Message.ID == id && of.receiver.Guarantee == Once && of.receiver.Intent != ""
		}) {
			position = max(position, of.delivery().Cursor)
		}
		s.annotation().Position = position
	})},
	{"an annotation that nobody sent", Invented, atAnnotation(anyAnnotation, func(_ *History, s annotatedSpot) {
		s.annotation().Signal = "x-another"
	})},
	{"a refused annotation", Invented, atAnnotation(anyAnnotation, func(h *History, s annotatedSpot) {
		reaction := reactionOf(h, s.annotation().Note)
		reaction.Acknowledged, reaction.Refused = false, true
	})},
	{"an annotation for a stranger to its message", Leaked, annotationTo(func(h *History, r *Receiver, to *Send) bool {
		return r.Annotations && r.Agent == "eve" && r.Intent == to.Intent && (h.Channels[to.Channel].Explicit ||
			to.To != everyone && to.To != "eve" && to.To != "role:solver" && to.Sender != "eve")
	})},
	{"an annotation outside the scope", Leaked, annotationTo(func(_ *History, r *Receiver, to *Send) bool {
		return r.Annotations && !r.Operator && r.Channel != "" && r.Channel != to.Channel
	})},
	{"an annotation for one who did not ask", Leaked, annotationTo(func(_ *History, r *Receiver, to *Send) bool {
		return !r.Annotations && r.Intent == to.Intent && to.To == everyone
	})},
}
