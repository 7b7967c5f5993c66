package channels

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/intents"
)

// at returns a moment for the pure tests, in seconds after an arbitrary one.
func at(seconds int) time.Time { return time.Unix(1_700_000_000+int64(seconds), 0).UTC() }

const never = -1

func moment(seconds int) time.Time {
	if seconds == never {
		return time.Time{}
	}
	return at(seconds)
}

func TestClosedByDecidesByStoredClosingIntentAndTime(t *testing.T) {
	const microsecond = time.Microsecond
	cases := []struct {
		name     string
		ttl      int
		created  int
		last     int
		stored   int
		status   intents.Status
		ended    int
		resumed  int
		now      time.Time
		closedAt int // never means open
	}{
		{"without a time to live it stays open", 0, 0, 5, never, intents.StatusActive, never, never, at(1e6), never},
		{"a stored closing counts", 0, 0, 5, 9, intents.StatusActive, never, never, at(10), 9},
		{"a stored closing counts more than the time", 2, 0, 5, 6, intents.StatusActive, never, never, at(100), 6},
		{"the time runs from the creation", 10, 0, never, never, intents.StatusActive, never, never, at(10), 10},
		{"a microsecond before the deadline it is open", 10, 0, never, never, intents.StatusActive, never, never, at(10).Add(-microsecond), never},
		{"the time runs from the last message", 10, 0, 7, never, intents.StatusActive, never, never, at(16), never},
		{"it runs out ten seconds after it", 10, 0, 7, never, intents.StatusActive, never, never, at(17), 17},
		{"a draft's channels lapse like others", 10, 0, 7, never, intents.StatusDraft, never, never, at(17), 17},
		{"a blocked intent's channels lapse like others", 10, 0, 7, never, intents.StatusBlocked, never, never, at(17), 17},
		{"it stands still while suspended", 10, 0, 7, never, intents.StatusSuspended, never, never, at(1e6), never},
		{"it starts again on resuming", 10, 0, 7, never, intents.StatusActive, never, 100, at(109), never},
		{"it runs out ten seconds after resuming", 10, 0, 7, never, intents.StatusActive, never, 100, at(110), 110},
		{"a message after resuming counts", 10, 0, 105, never, intents.StatusActive, never, 100, at(110), never},
		{"the intent's end closes", 0, 0, 7, never, intents.StatusCompleted, 50, never, at(60), 50},
		{"abandoning closes too", 0, 0, 7, never, intents.StatusAbandoned, 50, never, at(60), 50},
		{"a channel that lapsed before the end closed at its deadline", 10, 0, 7, never, intents.StatusCompleted, 50, never, at(60), 17},
		{"a channel that would have lapsed after the end closed with the intent", 10, 0, 45, never, intents.StatusCompleted, 50, never, at(60), 50},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			rules := &Rules{TTL: time.Duration(c.ttl) * time.Second, CreatedAt: at(c.created), ClosedAt: moment(c.stored)}
			head := &intents.Head{Status: c.status, EndedAt: moment(c.ended), ResumedAt: moment(c.resumed)}
			closedAt, closed := rules.ClosedBy(Count{LastMessageAt: moment(c.last)}, head, c.now)
			require.Equal(t, c.closedAt != never, closed)
			if closed {
				require.Equal(t, at(c.closedAt), closedAt)
			}
		})
	}
}

// A closed channel stays closed, however much time passes. Its closing time stays the same and lies after the last message.
func TestClosedByNeverReopens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		created := rapid.IntRange(0, 100).Draw(t, "created")
		last := rapid.OneOf(rapid.Just(never), rapid.IntRange(created, 200)).Draw(t, "last")
		ended := rapid.OneOf(rapid.Just(never), rapid.IntRange(max(created, last)+1, 400)).Draw(t, "ended")
		status := intents.StatusActive
		if ended != never {
			status = intents.StatusCompleted
		}
		rules := &Rules{TTL: time.Duration(rapid.IntRange(0, 100).Draw(t, "ttl")) * time.Second, CreatedAt: at(created)}
		head := &intents.Head{Status: status, EndedAt: moment(ended), ResumedAt: moment(rapid.IntRange(-1, 300).Draw(t, "resumed"))}
		count := Count{LastMessageAt: moment(last)}

		from := max(created, last, ended)
		earlier := rapid.IntRange(from, 1000).Draw(t, "earlier")
		later := rapid.IntRange(earlier, 1000).Draw(t, "later")
		closedAt, closed := rules.ClosedBy(count, head, at(earlier))
		if !closed {
			return
		}
		laterClosedAt, laterClosed := rules.ClosedBy(count, head, at(later))
		require.True(t, laterClosed)
		require.Equal(t, closedAt, laterClosedAt)
		require.True(t, closedAt.After(count.LastMessageAt))
		require.False(t, closedAt.After(at(earlier)))
	})
}

func TestListsEndsWithADeparture(t *testing.T) {
	rules := newRules(Rules{}, []member{{agent: "early", addedAt: at(1)}, {agent: "late", place: 1, addedAt: at(9)}})
	require.Equal(t, []string{"early", "late"}, rules.Members())
	require.True(t, rules.Lists("early", time.Time{}))
	require.True(t, rules.Lists("late", at(5)), "added again after the departure")
	require.False(t, rules.Lists("early", at(5)))
	require.False(t, rules.Lists("early", at(1)), "a departure at the moment of the addition ends it")
	require.False(t, rules.Lists("stranger", time.Time{}))
}

func TestParticipatesOnAnOpenIntent(t *testing.T) {
	everyone := &intents.Rules{} // no access control list: every agent has access
	explicit := newRules(Rules{Policy: PolicyExplicit, CreatedBy: "creator"}, []member{{agent: "member", addedAt: at(1)}})
	open := newRules(Rules{Policy: PolicyIntent, CreatedBy: "creator"}, nil)

	require.True(t, explicit.Participates("member", false, everyone, time.Time{}, at(2)))
	require.False(t, explicit.Participates("member", false, everyone, at(2), at(3)), "departed")
	require.False(t, explicit.Participates("creator", false, everyone, time.Time{}, at(2)), "an unlisted creator only manages")
	require.True(t, explicit.Participates("operator", true, everyone, time.Time{}, at(2)))
	require.True(t, open.Participates("anybody", false, everyone, time.Time{}, at(2)))
	require.True(t, open.Participates("anybody", false, everyone, at(2), at(3)), "a departure ends memberships, not access")
}

func TestManagesIsForTheCreatorTheCoordinatorAndTheOperator(t *testing.T) {
	everyone := &intents.Rules{}
	rules := newRules(Rules{CreatedBy: "creator"}, []member{{agent: "member", addedAt: at(1)}})
	require.True(t, rules.Manages("creator", false, everyone, at(2)))
	require.True(t, rules.Manages("operator", true, everyone, at(2)))
	require.False(t, rules.Manages("member", false, everyone, at(2)))
	require.False(t, rules.Manages("anybody", false, everyone, at(2)), "admin access that comes from the lack of a list does not manage channels")
}
