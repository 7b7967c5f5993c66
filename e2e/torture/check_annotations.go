package torture

import (
	"cmp"
	"slices"
)

// entry is a message or an annotation in an intent's log.
type entry struct {
	name       string
	position   int64
	stored     int64
	annotation bool
}

// collectAnnotations compares each annotation that a client saw with its reaction, and with what others saw.
func (c *checker) collectAnnotations() {
	for _, reaction := range c.history.Reactions {
		if c.reactions[reaction.Note] != nil {
			c.find(Problem, "the test reacted twice with %+v", reaction.Note)
		}
		c.reactions[reaction.Note] = reaction
	}
	for _, receiver := range c.history.Receivers {
		for _, connection := range receiver.Connections {
			for _, a := range connection.Annotations {
				c.seeAnnotation(receiver, a)
			}
		}
	}
}

func (c *checker) seeAnnotation(r *Receiver, a Annotation) {
	reaction := c.reactions[a.Note]
	if reaction == nil || reaction.Refused {
		c.find(Invented, "%s received %+v, which nobody stored", r.Name, a)
		return
	}
	first, known := c.annotations[a.Note]
	if known && (first.Position != a.Position || first.Stored != a.Stored) {
		c.find(Altered, "%s saw %+v, which others saw as %+v", r.Name, a, first)
	}
	c.annotations[a.Note] = a
}

// checkEntries checks, for each intent, that messages and annotations share one order: no two have the same position, and their
// times rise with their positions. A reaction is stored after its message.
func (c *checker) checkEntries() {
	byIntent := make(map[string][]entry)
	for id, position := range c.positions {
		m := c.messages[id]
		byIntent[m.Intent] = append(byIntent[m.Intent], entry{id, position, m.At, false})
	}
	for note, a := range c.annotations {
		intent := c.reactions[note].To.Intent
		byIntent[intent] = append(byIntent[intent], entry{note.Signal + " on " + note.MessageID, a.Position, a.Stored, true})
		if position, known := c.positions[note.MessageID]; known && position >= a.Position {
			c.find(Reordered, "%+v is stored before its message at %d", a, position)
		}
	}
	for _, entries := range byIntent {
		slices.SortFunc(entries, func(a, b entry) int {
			return cmp.Or(cmp.Compare(a.position, b.position), cmp.Compare(a.name, b.name))
		})
		for i, after := range entries[min(1, len(entries)):] {
			before := entries[i]
			if (before.annotation || after.annotation) && (before.position == after.position || before.stored >= after.stored) {
				c.find(Reordered, "%+v does not follow %+v", after, before)
			}
		}
	}
}

// checkAnnotations checks what one receiver got: each annotation once, at its place among the messages, only if it asked for
// annotations, and only of messages that it may see. It must get the acknowledged reactions.
func (c *checker) checkAnnotations(r *Receiver) {
	seen := make(map[Note]bool)
	for _, connection := range r.Connections {
		for _, a := range connection.Annotations {
			if seen[a.Note] {
				c.find(Doubled, "%s received %+v again", r.Name, a)
			}
			seen[a.Note] = true
			c.checkSightOfAnnotation(r, a)
		}
		c.checkInterleaving(r, connection)
	}
	for _, reaction := range c.history.Reactions {
		if c.mustAnnotate(r, reaction) && !seen[reaction.Note] {
			c.find(Lost, "%s never received %+v", r.Name, reaction.Note)
		}
	}
}

func (c *checker) checkSightOfAnnotation(r *Receiver, a Annotation) {
	reaction := c.reactions[a.Note]
	switch {
	case !r.Annotations:
		c.find(Leaked, "%s received %+v without asking for annotations", r.Name, a)
	case reaction == nil:
	case !r.follows(reaction.To.Intent, a.Channel):
		c.find(Leaked, "%s received %+v, which is outside its scope", r.Name, a)
	case !r.Operator && !c.maySee(r.Agent, reaction, a.At):
		c.find(Leaked, "%s received %+v, whose message %s may not see", r.Name, a, r.Agent)
	}
}

// maySee reports whether an agent possibly saw the message of a reaction at some time from the reaction to its delivery. An agent that
// lost a role and takes it again sees again what it read before, but not what was sent while it had no role.
func (c *checker) maySee(agent string, reaction *Reaction, by Tick) bool {
	again := *reaction.To
	again.Kind = Request // so that it does not matter when the agent took the role
	return sometime(c.rights.periods(agent, reaction.To, false, false), reaction.To.Span.Begun, by) &&
		sometime(c.rights.periods(agent, &again, false, false), reaction.Span.Begun, by)
}

// checkInterleaving checks that the cursor rises where a message and an annotation, or two annotations, follow each other.
func (c *checker) checkInterleaving(r *Receiver, connection *Connection) {
	deliveries, cursor, annotated := connection.Deliveries, connection.After, false
	reach := func(position int64, annotation bool) {
		if (annotated || annotation) && position <= cursor {
			c.find(Reordered, "%s received position %d, behind its cursor at %d", r.Name, position, cursor)
		}
		cursor, annotated = position, annotation
	}
	advance := func(before Tick) {
		for len(deliveries) > 0 && deliveries[0].At < before {
			if d := deliveries[0]; !d.Backfill {
				reach(d.Cursor, false)
			}
			deliveries = deliveries[1:]
		}
	}
	for _, a := range connection.Annotations {
		advance(a.At)
		reach(a.Position, true)
	}
	advance(forever + 1)
}

// mustAnnotate reports whether a receiver must get a reaction's annotation. It must if it followed before the call began, and was
// certainly allowed to see the message from its sending to the end.
func (c *checker) mustAnnotate(r *Receiver, reaction *Reaction) bool {
	to := reaction.To
	if !r.Annotations || !reaction.Acknowledged || reaction.Span.Begun <= r.From || !r.follows(to.Intent, to.Channel) {
		return false
	}
	return r.Operator || throughout(c.rights.periods(r.Agent, to, r.Intent == "", true), to.Span.Begun, forever)
}
