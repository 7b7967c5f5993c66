package concerns

import (
	"fmt"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// unanswered finds requests that nobody takes up.
type unanswered struct{}

const (
	// patience is for how long a request without a deadline may go unanswered, and leastPatience for how long any may.
	patience      = 10 * time.Minute
	leastPatience = time.Minute
)

func (unanswered) lanes(l *look) ([]*lane, error) {
	kind := int64(openintentv1.ConcernKind_CONCERN_KIND_UNANSWERED)
	open, err := l.openRequests(kind, l.now.Add(-leastPatience))
	if err != nil {
		return nil, err
	}
	over, err := l.timedOut(kind)
	return append(open, over...), err
}

func (unanswered) judge(l *look, some []candidate) ([]*concern, error) {
	if err := l.read(some); err != nil {
		return nil, err
	}
	var late []*seen
	for _, c := range some {
		if m := l.seen[c.at()]; m != nil && m.lateAt(m.in.Now) && (m.own || m.administered) {
			late = append(late, m)
		}
	}
	left, err := l.leftAlone(late)
	if err != nil {
		return nil, err
	}
	found := make([]*concern, len(some))
	for i, c := range some {
		m := l.seen[c.at()]
		if copied, alone := left[m]; alone {
			found[i] = m.asUnanswered(c)
			found[i].may(openintentv1.ConcernAction_CONCERN_ACTION_WITHDRAW, !copied && l.mayWithdraw(m))
		}
	}
	return found, nil
}

// lateAt reports whether nobody has answered the request for so long that somebody should know.
func (s *seen) lateAt(now time.Time) bool {
	switch {
	case s.Type != message.TypeRequest || s.Deleted() || !s.AnsweredAt.IsZero() || s.Abandoned || !s.Open && s.Ordinal <= s.in.Count.Floor:
		return false
	case s.timedOutAt(now):
		return now.Before(s.ExpiresAt.Add(remembered))
	case !s.Open || !s.EndedAt.IsZero():
		return false
	}
	return !now.Before(s.CreatedAt.Add(patienceFor(s.ExpiresAt.Sub(s.CreatedAt), !s.ExpiresAt.IsZero())))
}

// timedOutAt reports whether the time of the request has run out without an answer. A request may also end because its addressee leaves or
// its channel closes.
func (s *seen) timedOutAt(now time.Time) bool {
	switch {
	case !s.PastExpiry(now):
		return false
	case s.EndedAt.IsZero():
		return s.Open
	}
	return !s.EndedAt.Before(s.ExpiresAt)
}

// patienceFor is for how long a request may go unanswered that waits for a time, unless it waits without an end.
func patienceFor(wait time.Duration, ends bool) time.Duration {
	if !ends {
		return patience
	}
	return max(wait/2, leastPatience)
}

// leftAlone returns those of some requests that nobody has answered, claimed or reacted to, and of each whether the intent's log has a copy.
func (l *look) leftAlone(some []*seen) (map[*seen]bool, error) {
	copied := make(map[*seen]bool, len(some))
	if len(some) == 0 {
		return copied, nil
	}
	in, rows := l.rowsAt(placesOf(some), "m.intent_no", "m.position")
	const of = " AND x.intent_no = m.intent_no AND x."
	return copied, l.tx.Pipeline(database.Statement{
		SQL: "SELECT m.intent_no, m.position, EXISTS (SELECT 1 FROM events x WHERE x.intent_no = m.intent_no AND x.position = m.position" +
			message.OneByOne + ") FROM messages m WHERE " + in +
			" AND NOT EXISTS (SELECT 1 FROM messages x WHERE x.intent_no = m.intent_no AND x.correlation_position = m.position" + message.OneByOne + ")" +
			" AND NOT EXISTS (SELECT 1 FROM reactions x WHERE x.present AND x.agent_id <> m.sender" + of + "message_position = m.position" + message.OneByOne + ")" +
			" AND NOT EXISTS (SELECT 1 FROM dispositions x WHERE x.disposition IS NOT NULL" + of + "position = m.position" + message.OneByOne + ")" +
			" AND NOT EXISTS (SELECT 1 FROM claims x WHERE x.ended = '' AND x.expires_at > ?" + of + "message_position = m.position" + message.OneByOne + ")",
		Args: append(rows, database.Micros(l.now)),
		Scan: func(row database.Row) error {
			var place at
			var audited bool
			err := row.Scan(&place.intentNo, &place.position, &audited)
			copied[l.seen[place]] = audited
			return err
		},
	})
}

// asUnanswered makes the concern for a request that nobody has answered. An administrator of the intent who may not see the message learns only
// that there is one on the channel, and since when.
func (s *seen) asUnanswered(c candidate) *concern {
	one, channel, over := s.about(c), s.in.Channel.Name, s.timedOutAt(s.in.Now)
	if !s.visible {
		one.messageID = ""
		one.summary = fmt.Sprintf("Nobody has taken up a request on channel %q.", channel)
		if over {
			one.summary = fmt.Sprintf("Nobody answered a request on channel %q in time.", channel)
		}
		return one
	}
	one.names = []string{s.Sender}
	who, not := "Nobody of the role "+message.RoleOf(s.Target), ""
	if message.IsAgent(s.Target) {
		one.agentID, who, not = s.Target, s.Target, "not "
	}
	one.summary = fmt.Sprintf("%s has %staken up the request of %s on channel %q%s.", who, not, s.Sender, channel, s.until())
	if over {
		one.summary = fmt.Sprintf("%s has %sanswered the request of %s on channel %q, whose time was over at %s.",
			who, not, s.Sender, channel, moment(s.ExpiresAt))
	}
	return one
}

// mayWithdraw reports whether the caller may delete the message, unless the log has a copy (messaging.Service.DeleteMessage).
func (l *look) mayWithdraw(s *seen) bool {
	channel := s.in.Channel
	return !l.by.ReadOnly && !channel.Audit && !s.in.Closed() && s.viewer.Sees(s.Message, message.Deletable, s.in.Count.Floor, s.in.Now) &&
		(s.own || channel.Manages(l.by.Agent, l.operator(), s.in.Access, s.in.Now))
}
