package concerns

import (
	"fmt"
	"time"

	"openintent/agents"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/reach"
)

// unreachable finds requests that wait for agents that have no way to hear of them. To the agent itself the request is a question.
type unreachable struct{}

// unheardFor is for how long a request was handed to nothing of an agent's that has no record, so that it counts as not to be reached. Nobody may
// know more of such an agent; this its asker may know, by what became of the request.
const unheardFor = 10 * time.Second

func (unreachable) lanes(l *look) ([]*lane, error) {
	return l.openRequests(int64(openintentv1.ConcernKind_CONCERN_KIND_UNREACHABLE), l.now)
}

func (unreachable) judge(l *look, some []candidate) ([]*concern, error) {
	if err := l.read(some); err != nil {
		return nil, err
	}
	var waiting []*seen
	var addressees []string
	for _, c := range some {
		if m := l.seen[c.at()]; m != nil && m.mustBeHeard() && m.Target != l.by.Agent && (m.own || m.administered) {
			waiting, addressees = append(waiting, m), append(addressees, m.Target)
		}
	}
	silent, err := l.unheard(waiting)
	if err != nil || len(silent) == 0 {
		return make([]*concern, len(some)), err
	}
	away, err := l.away(silent, database.Distinct(addressees))
	if err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		if m := l.seen[c.at()]; away[m] {
			found[i] = m.asUnreachable(c)
			found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_INVITE, l.mayInvite(m))
		}
	}
	return found, nil
}

// mustBeHeard reports whether one agent must respond to the request, and can.
func (s *seen) mustBeHeard() bool {
	wish := openintentv1.ResponsePolicy_RESPONSE_POLICY_UNSPECIFIED
	if s.Conversation != nil {
		wish = s.Conversation.Policy
	}
	return s.Type == message.TypeRequest && message.IsAgent(s.Target) && s.Open && s.Answerable(s.in.Now) && !s.Deleted() &&
		(wish == openintentv1.ResponsePolicy_RESPONSE_POLICY_UNSPECIFIED || wish == openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND)
}

// unheard returns those of some requests that were handed to nothing of their addressees', and of which these have shown nothing.
func (l *look) unheard(some []*seen) (silent []*seen, err error) {
	if len(some) == 0 {
		return nil, nil
	}
	in, rows := l.rowsAt(placesOf(some), "m.intent_no", "m.position")
	trace := func(table, position string) string {
		return " AND NOT EXISTS (SELECT 1 FROM " + table + " x WHERE x.intent_no = m.intent_no AND x." + position + " = m.position" +
			" AND x.agent_id = m.target" + message.OneByOne + ")"
	}
	return silent, l.tx.Pipeline(database.Statement{
		SQL: "SELECT m.intent_no, m.position FROM messages m WHERE " + in + trace("offers", "position") + trace("receipts", "position") +
			trace("dispositions", "position") + trace("reactions", "message_position") + trace("claims", "message_position"),
		Args: rows,
		Scan: func(row database.Row) error {
			var place at
			err := row.Scan(&place.intentNo, &place.position)
			silent = append(silent, l.seen[place])
			return err
		},
	})
}

// away returns those of some requests whose addressees have no way to hear of them, as far as the caller may know that.
func (l *look) away(some []*seen, addressees []string) (map[*seen]bool, error) {
	recorded, err := agents.LoadPresences(l.tx, addressees)
	if err != nil {
		return nil, err
	}
	reached, err := l.here.Read(l.tx, addressees)
	if err != nil {
		return nil, err
	}
	away := make(map[*seen]bool)
	for _, m := range some {
		presence, hasRecord := recorded[m.Target]
		switch {
		case l.operator() || hasRecord && l.by.Scope.ShowsAllAgents() || m.in.Channel.Lists(m.Target, presence.DepartedAt):
			away[m] = reached[m.Target].Level() <= reach.None
		default:
			away[m] = !hasRecord && m.in.Now.Sub(m.CreatedAt) >= unheardFor
		}
	}
	return away, nil
}

// asUnreachable tells of the request as much as the caller may know, as asUnanswered does.
func (s *seen) asUnreachable(c candidate) *concern {
	one := s.about(c)
	if !s.visible {
		one.messageID = ""
		one.summary = fmt.Sprintf("A request on channel %q waits for an agent that cannot hear of it.", s.in.Channel.Name)
		return one
	}
	one.agentID, one.names = s.Target, []string{s.Sender}
	one.summary = fmt.Sprintf("Nothing of %s listens, and the request of %s on channel %q waits for it%s.",
		s.Target, s.Sender, s.in.Channel.Name, s.until())
	return one
}

// mayInvite reports whether the caller may make an invite to the message's channel (invites.Service.CreateInvite).
func (l *look) mayInvite(s *seen) bool {
	return !l.by.ReadOnly && !s.in.Closed() && s.in.Channel.RequireManager(l.by, s.in.Access, s.in.Now) == nil
}
