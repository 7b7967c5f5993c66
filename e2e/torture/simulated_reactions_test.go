package torture

import "fmt"

// react lets an agent that may see a message react to it, or take back what it said.
func (s *simulation) react() {
	if len(s.history.Reactions) > 0 && s.chance("remove", 3) {
		added := s.history.Reactions[s.draw("reaction", len(s.history.Reactions))]
		if added.Acknowledged && !added.Removed {
			taken := &Reaction{To: added.To, Note: added.Note}
			taken.Removed = true
			s.decideReaction(taken)
		}
		return
	}
	intent := s.pick("intent", []string{plainIntent, restrictedIntent})
	if len(s.logs[intent]) == 0 {
		return
	}
	m := s.logs[intent][s.draw("message", len(s.logs[intent]))]
	send := sendOf(s.history, m.Message)
	agent := s.pick("reacting", simulatedAgents)
	if m.Kind == LoggedEvent || m.reaction != nil || m.ask != nil || !send.Acknowledged ||
		!s.sees(&Receiver{Agent: agent, Intent: "any"}, m.Message) {
		return
	}
	s.decideReaction(&Reaction{To: send, Note: Note{
		MessageID: m.ID, Channel: m.Channel, Agent: agent, Signal: fmt.Sprintf("x-%d", s.tick),
	}})
}

// decideReaction gives a reaction one of the outcomes that a call may have.
func (s *simulation) decideReaction(reaction *Reaction) {
	for _, other := range s.history.Reactions {
		if other.Note == reaction.Note {
			return // it was tried before
		}
	}
	s.history.Reactions = append(s.history.Reactions, reaction)
	reaction.Span.Begun = s.now()
	switch s.draw("outcome", 6) {
	case 0:
		reaction.Refused = true
	case 1: // it is not stored, and nobody knows
	case 2:
		s.storeReaction(reaction)
	default:
		s.storeReaction(reaction)
		reaction.Acknowledged = true
	}
	reaction.Span.Ended = s.now()
}

func (s *simulation) storeReaction(reaction *Reaction) {
	log := s.logs[reaction.To.Intent]
	for _, m := range log {
		if m.reaction == nil && m.ID == reaction.MessageID {
			s.logs[reaction.To.Intent] = append(log, &simulated{
				Message: m.Message, position: int64(len(log) + 1), reaction: reaction, stored: int64(s.now()),
			})
			return
		}
	}
}

func (s *simulation) annotate(r *simulatedReader, m *simulated) {
	connection := r.Connections[len(r.Connections)-1]
	connection.Annotations = append(connection.Annotations, Annotation{
		Note: m.reaction.Note, Position: m.position, Stored: m.stored, At: s.now(),
	})
}
