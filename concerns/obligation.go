package concerns

import (
	"fmt"
	"slices"
	"strconv"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
)

// obliged finds what the caller owes though nobody waits for an answer any more, and what others owe of which it was told.
type obliged struct{}

// mostTold bounds how many obligations of which coordinators were told a page looks at.
const mostTold = 1_000

const obligedKind = int64(openintentv1.ConcernKind_CONCERN_KIND_OBLIGATION)

// lanes are what is owed by the caller or its role, in the order of an index, and what the caller was told of.
func (obliged) lanes(l *look) (lanes []*lane, err error) {
	for _, name := range l.names() {
		lanes = append(lanes, l.obligations("o.target = ?", name))
	}
	if l.operator() { // the number stands in the text, so that an index of just these is found
		return append(lanes, l.obligations("o.step >= "+strconv.Itoa(obligation.OperatorTold))), nil
	}
	known, err := l.whose()
	if err != nil || len(known.coordinated) == 0 {
		return lanes, err
	}
	in, argument := l.tx.In("o.intent_no", known.coordinated)
	return append(lanes, whole(obligedKind, func(found func(candidate)) database.Statement {
		return database.Statement{
			SQL: "SELECT o.opened_at, o.intent_no, o.position FROM obligations o WHERE " + in +
				" AND o.discharged_at IS NULL AND o.step >= ? LIMIT ?",
			Args: []any{argument, obligation.CoordinatorTold, mostTold},
			Scan: func(row database.Row) error {
				c := candidate{}
				err := row.Scan(&c.since, &c.major, &c.minor)
				found(c)
				return err
			},
		}
	})), nil
}

// obligations is the lane of the open obligations that meet a condition.
func (l *look) obligations(condition string, of ...any) *lane {
	return seeking(obligedKind, func(after place, limit int) (string, []any) {
		return "SELECT o.opened_at, o.intent_no, o.position FROM obligations o WHERE " + condition + " AND o.discharged_at IS NULL" +
				" AND (o.opened_at, o.intent_no, o.position) > (?, ?, ?) ORDER BY o.opened_at, o.intent_no, o.position LIMIT ?",
			append(slices.Clone(of), after.since, after.major, after.minor, limit)
	}, func(row database.Row) (place, *candidate, error) {
		p := place{kind: obligedKind}
		err := row.Scan(&p.since, &p.major, &p.minor)
		if l.intentNo != 0 && p.major != l.intentNo {
			return p, nil, err
		}
		return p, &candidate{place: p}, err
	})
}

func (obliged) judge(l *look, some []candidate) ([]*concern, error) {
	if err := l.read(some); err != nil {
		return nil, err
	}
	steps, err := l.stepsOf(some)
	if err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		m, step := l.seen[c.at()], steps[c.at()]
		switch {
		case m == nil || !m.Obliges():
		case m.owedNow():
			found[i] = m.asOwed(c)
			found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_ANSWER, !l.by.ReadOnly && !m.in.Closed())
			found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_DISCHARGE, !l.by.ReadOnly && m.Conversation.Obligation.Delegate == l.by.Agent)
		case l.operator() && step >= obligation.OperatorTold || !l.operator() && step >= obligation.CoordinatorTold && l.coordinates(m):
			found[i] = m.asTold(c)
			found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_DISCHARGE, !l.by.ReadOnly && l.mayDischarge(m))
		}
	}
	return found, nil
}

// stepsOf reads how many steps the obligations at some places have made.
func (l *look) stepsOf(some []candidate) (map[at]int, error) {
	places := make([]at, len(some))
	for i, c := range some {
		places[i] = c.at()
	}
	in, rows := l.rowsAt(places, "o.intent_no", "o.position")
	steps := make(map[at]int)
	return steps, l.tx.Pipeline(database.Statement{
		SQL: "SELECT o.intent_no, o.position, o.step FROM obligations o WHERE " + in, Args: rows,
		Scan: func(row database.Row) error {
			var place at
			var step int
			err := row.Scan(&place.intentNo, &place.position, &step)
			steps[place] = step
			return err
		},
	})
}

// owedNow reports whether the viewer owes what the request asks, and can no longer just answer it. Whoever has answered in time has done its
// part.
func (s *seen) owedNow() bool {
	answered := s.AnsweredByViewer || message.IsAgent(s.Target) && !s.Open && s.EndedAt.IsZero()
	return s.visible && s.viewer.Receives(s.Message) && !answered && !s.waitsFor()
}

// coordinates reports whether the caller is told as the coordinator of the message's intent.
func (l *look) coordinates(s *seen) bool {
	return !caller.IsGuest(l.by.Agent) && l.by.Scope.CoversIntent(s.in.Channel.IntentID) && coordinates(s.in.Access, l.by.Agent, s.in.Now)
}

func (l *look) mayDischarge(s *seen) bool {
	o := obligation.Obligation{Author: s.Sender, Delegate: s.Conversation.Obligation.Delegate}
	return s.viewer.Participates && o.MayDischarge(l.by.Agent, l.operator())
}

func (s *seen) asOwed(c candidate) *concern {
	one := s.about(c)
	one.agentID = s.Sender
	one.summary = fmt.Sprintf("You owe %s what it asked on channel %q, though the time to answer is over.", s.Sender, s.in.Channel.Name)
	return one
}

// asTold makes the concern of a coordinator or the operator. It says what they are told anyway: who owes an answer to whom, where, and what waits for it.
func (s *seen) asTold(c candidate) *concern {
	one := s.about(c)
	one.names = []string{s.Sender}
	who := "The role " + message.RoleOf(s.Target)
	if message.IsAgent(s.Target) {
		one.agentID, who = s.Target, s.Target
	}
	one.summary = fmt.Sprintf("%s owes %s what it asked on channel %q", who, s.Sender, s.in.Channel.Name)
	if o := s.Conversation.Obligation; o.Blocks != openintentv1.Blocks_BLOCKS_NONE {
		one.summary += ", whose work is " + o.Word() + " meanwhile"
	}
	one.summary += "."
	return one
}
