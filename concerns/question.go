package concerns

import (
	"fmt"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/attention"
	"openintent/messaging/message"
)

// question finds the open requests that wait for the caller.
type question struct{}

// lanes are the open requests to the caller and to its role. An index has them in their order.
func (question) lanes(l *look) (lanes []*lane, err error) {
	kind := int64(openintentv1.ConcernKind_CONCERN_KIND_QUESTION)
	for _, name := range l.names() {
		lanes = append(lanes, seeking(kind, func(after place, limit int) (string, []any) {
			return "SELECT q.created_at, q.intent_no, q.position FROM open_requests q WHERE q.target = ?" +
					" AND (q.created_at, q.intent_no, q.position) > (?, ?, ?) ORDER BY q.created_at, q.intent_no, q.position LIMIT ?",
				[]any{name, after.since, after.major, after.minor, limit}
		}, func(row database.Row) (place, *candidate, error) {
			p := place{kind: kind}
			err := row.Scan(&p.since, &p.major, &p.minor)
			if l.intentNo != 0 && p.major != l.intentNo {
				return p, nil, err
			}
			return p, &candidate{place: p}, err
		}))
	}
	return lanes, nil
}

// names are the addresses of the caller.
func (l *look) names() []string {
	names := []string{l.by.Agent}
	if role := l.presence.Role(); role != "" {
		names = append(names, caller.RolePrefix+role)
	}
	return names
}

// judge keeps the requests that ask something of the caller now. The room of attention says whether they do: it knows whether somebody else
// has claimed a request, and what its sender wishes.
func (question) judge(l *look, some []candidate) ([]*concern, error) {
	if err := l.read(some); err != nil {
		return nil, err
	}
	var waiting []*seen
	var deliveries []attention.Delivery
	for _, c := range some {
		if m := l.seen[c.at()]; m != nil && m.waitsFor() {
			waiting = append(waiting, m)
			deliveries = append(deliveries, attention.Delivery{Situation: m.in.SituationOf(m.Message), Viewer: m.viewer, Floor: m.in.Count.Floor})
		}
	}
	judgements, err := attention.For(l.tx, deliveries)
	if err != nil {
		return nil, err
	}
	acts, err := l.actsOf(waiting)
	if err != nil {
		return nil, err
	}
	asking := make(map[*seen]*attention.Judgement)
	for i, m := range waiting {
		asking[m] = judgements[i]
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		m := l.seen[c.at()]
		if judged := asking[m]; judged != nil && judged.Policy != openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_NOT_RESPOND &&
			!acts[m].puts(m.in.Now) {
			found[i] = m.asQuestion(l, c, judged)
		}
	}
	return found, nil
}

// waitsFor reports whether the request can be answered by the viewer, and is not.
func (s *seen) waitsFor() bool {
	return s.Type == message.TypeRequest && s.Open && s.Answerable(s.in.Now) && !s.Deleted() && !s.AnsweredByViewer &&
		s.viewer.Receives(s.Message) && s.viewer.Sees(s.Message, message.Answerable, s.in.Count.Floor, s.in.Now)
}

func (s *seen) asQuestion(l *look, c candidate, judged *attention.Judgement) *concern {
	one := s.about(c)
	one.agentID = s.Sender
	one.summary = fmt.Sprintf("%s asks on channel %q, and waits for an answer%s.", s.Sender, s.in.Channel.Name, s.until())
	if role := message.RoleOf(s.Target); role != "" {
		one.summary = fmt.Sprintf("%s asks the role %s on channel %q, and waits for an answer%s.", s.Sender, role, s.in.Channel.Name, s.until())
	}
	if l.by.ReadOnly {
		return one
	}
	held := judged.ClaimedByViewer()
	one.may(openintentv1.ConcernAction_CONCERN_ACTION_ANSWER, !s.NeedsClaim() || held)
	one.may(openintentv1.ConcernAction_CONCERN_ACTION_CLAIM, !held)
	one.may(openintentv1.ConcernAction_CONCERN_ACTION_DECLINE, true)
	one.may(openintentv1.ConcernAction_CONCERN_ACTION_DEFER, true)
	return one
}

// until says up to when a request waits.
func (s *seen) until() string {
	if s.ExpiresAt.IsZero() {
		return ""
	}
	return " until " + moment(s.ExpiresAt)
}

// moment says a time in a sentence.
func moment(t time.Time) string { return t.UTC().Format(time.RFC3339) }
