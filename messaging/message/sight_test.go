package message

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/internal/caller"
)

var noon = time.Date(2026, time.January, 1, 12, 0, 0, 0, time.UTC)

// The purposes, and their names in the tables.
var purposes = map[string]Purpose{
	"listed": Listed, "evicted too": EvenEvicted, "current": Current, "by id": ByID, "answerable": Answerable, "deletable": Deletable,
	"dischargeable": Dischargeable,
}

// The viewers of the truth tables.
var viewers = map[string]Viewer{
	"sender":            {Agent: "sender", Participates: true},
	"sender shut out":   {Agent: "sender"},
	"sender in role":    {Agent: "sender", Participates: true, Presence: holding("sender", "tester", agents.StatusActive)},
	"target":            {Agent: "target", Participates: true},
	"target shut out":   {Agent: "target"},
	"member":            {Agent: "member", Participates: true},
	"stranger":          {Agent: "stranger"},
	"operator":          {Agent: caller.Operator, Operator: true, Participates: true},
	"operator as agent": {Agent: "member", Participates: true},
	"active tester":     {Agent: "t1", Participates: true, Presence: holding("t1", "tester", agents.StatusActive)},
	"unhealthy tester":  {Agent: "t2", Participates: true, Presence: holding("t2", "tester", agents.StatusUnhealthy)},
	"draining tester":   {Agent: "t3", Participates: true, Presence: holding("t3", "tester", agents.StatusDraining)},
	"dead tester":       {Agent: "t4", Participates: true, Presence: holding("t4", "tester", agents.StatusDead)},
	"gone tester":       {Agent: "t5", Participates: true, Presence: holding("t5", "tester", agents.StatusDeregistered)},
	"tester shut out":   {Agent: "t6", Presence: holding("t6", "tester", agents.StatusActive)},
	"delegate":          {Agent: "delegate", Participates: true},
	"other role":        {Agent: "t7", Participates: true, Presence: holding("t7", "testers", agents.StatusActive)},
	"named as the role": {Agent: "tester", Participates: true},
	"agent role:tester": {Agent: "role:tester", Participates: true},
}

func holding(agent, role string, status agents.Status) agents.Presence {
	return agents.Presence{AgentID: agent, RoleID: role, Status: status, Version: 1}
}

// participants are the viewers who take part and did not send.
const participants = "target, member, delegate, operator as agent, active tester, unhealthy tester, draining tester, dead tester, " +
	"gone tester, other role, named as the role, agent role:tester"

func named(list string) map[string]bool {
	names := make(map[string]bool)
	for _, name := range strings.Split(list, ", ") {
		if name != "" {
			names[name] = true
		}
	}
	return names
}

func TestWhoReceivesAndSees(t *testing.T) {
	for _, table := range []struct{ target, receive, seeToo string }{
		{"target", "target", "sender, sender in role, operator"},
		{"role:tester", "active tester, unhealthy tester, draining tester", "sender, sender in role, operator"},
		{"role:nobody", "", "sender, sender in role, operator"},
		{"*", participants + ", operator", "sender, sender in role"},
		{"", participants + ", operator", "sender, sender in role"},
	} {
		for _, kind := range []Type{TypeRequest, TypeResponse, TypeNotify, TypeBroadcast} {
			m := &Message{Ordinal: 1, Sender: "sender", Target: table.target, Type: kind, CreatedAt: noon}
			receiving, seeing := named(table.receive), named(table.seeToo)
			for name, viewer := range viewers {
				require.Equal(t, receiving[name], viewer.Receives(m), "%s to %q, %s", kind, table.target, name)
				require.Equal(t, receiving[name] || seeing[name], viewer.Sees(m, ByID, 0, noon), "%s to %q, %s", kind, table.target, name)
			}
		}
	}
}

// What happened to a message, and whether it is then shown to a recipient who has acknowledged it and to one who has not.
func TestWhatIsListed(t *testing.T) {
	const before, atExpiry, after = -time.Microsecond, time.Duration(0), time.Microsecond
	for _, row := range []struct {
		name       string
		message    Message
		expires    bool
		when       time.Duration
		unread     bool
		readByThis bool
	}{
		{"a notify that does not expire", Message{Type: TypeNotify}, false, after, true, true},
		{"a notify before its expiry", Message{Type: TypeNotify}, true, before, true, true},
		{"a notify at its expiry", Message{Type: TypeNotify}, true, atExpiry, false, true},
		{"a notify after its expiry", Message{Type: TypeNotify}, true, after, false, true},
		{"a notify after its expiry that another has read", Message{Type: TypeNotify, ReadAt: noon}, true, after, false, true},
		{"a response at its expiry", Message{Type: TypeResponse}, true, atExpiry, false, true},
		{"a broadcast at its expiry", Message{Type: TypeBroadcast}, true, atExpiry, false, true},
		{"an open request", Message{Type: TypeRequest, Open: true}, false, after, true, true},
		{"an open request before its expiry", Message{Type: TypeRequest, Open: true}, true, before, true, true},
		{"an open request at its expiry", Message{Type: TypeRequest, Open: true}, true, atExpiry, false, false},
		{"an answered request at its expiry", Message{Type: TypeRequest}, true, atExpiry, true, true},
		{"an answered request after its expiry", Message{Type: TypeRequest, ReadAt: noon}, true, after, true, true},
		{"a request expired for good before its time", Message{Type: TypeRequest, EndedAt: noon}, true, before, false, false},
		{"a request whose addressee left", Message{Type: TypeRequest, Open: true, Abandoned: true}, false, after, false, false},
	} {
		m := row.message
		m.Ordinal, m.Sender, m.Target, m.CreatedAt = 1, "sender", "target", noon.Add(-time.Hour)
		if row.expires {
			m.ExpiresAt = noon
		}
		now := noon.Add(row.when)
		for _, acknowledged := range []bool{false, true} {
			m.ReadByViewer = acknowledged
			expected := row.unread
			if acknowledged {
				expected = row.readByThis
			}
			require.Equal(t, expected, viewers["target"].Sees(&m, Listed, 0, now), "%s, acknowledged %t", row.name, acknowledged)
			require.True(t, viewers["sender"].Sees(&m, Listed, 0, now), "%s: its sender sees it always", row.name)
			require.True(t, viewers["operator"].Sees(&m, Listed, 0, now), "%s: the operator sees it always", row.name)
			require.False(t, viewers["member"].Sees(&m, Listed, 0, now), "%s: it is not for another member", row.name)
			require.False(t, viewers["target shut out"].Sees(&m, Listed, 0, now), "%s: without access", row.name)
			require.False(t, viewers["sender shut out"].Sees(&m, Listed, 0, now), "%s: without access", row.name)
		}
	}
}

// For which purposes a recipient sees a message, by what happened to the message. Each row stands for a message that is still listed by its
// channel, and for one that was evicted. Its sender and the operator see the message as if its time were not over.
func TestForWhatAMessageIsSeen(t *testing.T) {
	const (
		all      = "listed, evicted too, current, by id, answerable, deletable, dischargeable"
		whenLate = "by id, answerable, deletable, dischargeable"
		owed     = "current, by id, answerable, deletable, dischargeable"
		noMore   = "answerable, deletable, dischargeable"
	)
	obliging := func(m Message) Message {
		m.Conversation = &Conversation{Obligation: &Obligation{Delegate: "delegate"}}
		return m
	}
	deleted := func(m Message) Message {
		c := *m.Conversation
		c.DeletedAt = noon
		m.Conversation, m.Open, m.EndedAt = &c, false, noon
		return m
	}
	notify, request := Message{Type: TypeNotify}, Message{Type: TypeRequest, Open: true}
	document := Message{Type: TypeNotify, Conversation: &Conversation{Document: true}}
	for name, row := range map[string]struct {
		message                      Message
		kept, late, evicted, tooLate string
	}{
		"a notify":               {notify, all, whenLate, "evicted too", ""},
		"a response":             {Message{Type: TypeResponse}, all, whenLate, "evicted too", ""},
		"a request":              {request, all, whenLate, "evicted too, answerable", "answerable"},
		"an answered request":    {Message{Type: TypeRequest}, all, all, "evicted too, answerable", "evicted too, answerable"},
		"an obligation":          {obliging(request), all, owed, "evicted too, " + owed, owed},
		"an answered obligation": {obliging(Message{Type: TypeRequest}), all, all, "evicted too, " + owed, "evicted too, " + owed},
		"a deleted obligation":   {deleted(obliging(request)), whenLate, whenLate, noMore, noMore},
		"a document":             {document, all, whenLate, "evicted too, deletable", "deletable"},
		"a deleted document":     {deleted(document), whenLate, whenLate, "deletable", "deletable"},
	} {
		m := row.message
		m.Ordinal, m.Sender, m.Target, m.ExpiresAt = 7, "sender", "target", noon
		for _, look := range []struct {
			when     string
			floor    int64
			at       time.Duration
			expected string
		}{
			{"", 6, -1, row.kept}, {", late", 6, 0, row.late}, {", evicted", 7, -1, row.evicted}, {", evicted and late", 7, 0, row.tooLate},
		} {
			seen := named(look.expected)
			inTime := seen["listed"] || look.floor < m.Ordinal
			for purpose, as := range purposes {
				sees := func(viewer string) bool { return viewers[viewer].Sees(&m, as, look.floor, noon.Add(look.at)) }
				require.Equal(t, seen[purpose], sees("target"), "%s%s, %s", name, look.when, purpose)
				expected := seen[purpose] || as == EvenEvicted || inTime && (as == Listed || as == Current)
				require.Equal(t, expected, sees("sender"), "%s%s, %s: its sender", name, look.when, purpose)
				require.Equal(t, expected, sees("operator"), "%s%s, %s: the operator", name, look.when, purpose)
				require.False(t, sees("member"), "%s%s, %s: another member", name, look.when, purpose)
				require.False(t, sees("target shut out"), "%s%s, %s: without access", name, look.when, purpose)
				delegated := as == Dischargeable && m.Obliges()
				require.Equal(t, delegated, sees("delegate"), "%s%s, %s: the delegate", name, look.when, purpose)
			}
		}
	}
	for purpose, as := range purposes {
		m, viewer := Message{Ordinal: 1, Target: "role:tester", CreatedAt: noon}, viewers["active tester"]
		require.Zero(t, testing.AllocsPerRun(10, func() { viewer.Sees(&m, as, 0, noon) }), purpose)
		require.False(t, viewers["operator"].Sees(nil, as, 0, noon), "nobody sees what is not there")
	}
	require.False(t, viewers["operator"].Sees(&Message{Ordinal: 1}, Purpose(len(purposes)), 0, noon), "there are no more purposes")
}

func TestStatusByTime(t *testing.T) {
	earlier := noon.Add(-time.Hour)
	for _, row := range []struct {
		name    string
		message Message
		before  Status // its expiry
		after   Status // or at it
	}{
		{"an unread notify", Message{Type: TypeNotify}, StatusDelivered, StatusExpired},
		{"a read notify", Message{Type: TypeNotify, ReadAt: earlier}, StatusRead, StatusRead},
		{"an unread response", Message{Type: TypeResponse}, StatusDelivered, StatusExpired},
		{"a read broadcast", Message{Type: TypeBroadcast, ReadAt: earlier}, StatusRead, StatusRead},
		{"an open request", Message{Type: TypeRequest, Open: true}, StatusDelivered, StatusExpired},
		{"an open request that was read", Message{Type: TypeRequest, Open: true, ReadAt: earlier}, StatusRead, StatusExpired},
		{"an answered request", Message{Type: TypeRequest}, StatusDelivered, StatusDelivered},
		{"an answered request that was read", Message{Type: TypeRequest, ReadAt: earlier}, StatusRead, StatusRead},
		{"a request expired for good", Message{Type: TypeRequest, EndedAt: earlier}, StatusExpired, StatusExpired},
		{"a read request expired for good", Message{Type: TypeRequest, EndedAt: earlier, ReadAt: earlier}, StatusExpired, StatusExpired},
		{"an abandoned request", Message{Type: TypeRequest, Open: true, Abandoned: true}, StatusExpired, StatusExpired},
	} {
		m := row.message
		require.Equal(t, row.before, m.Status(noon), "%s that has no expiry", row.name)
		require.Equal(t, row.before == StatusExpired, m.Expired(noon), row.name)
		m.ExpiresAt = noon
		require.Equal(t, row.before, m.Status(noon.Add(-time.Microsecond)), "%s, before", row.name)
		require.Equal(t, row.after, m.Status(noon), "%s, at the instant", row.name)
		require.Equal(t, row.after, m.Status(noon.Add(time.Hour)), "%s, after", row.name)
		require.Equal(t, row.after == StatusExpired, m.Expired(noon), row.name)
	}
}

func TestAnswerableByTime(t *testing.T) {
	open := &Message{Type: TypeRequest, Open: true, ExpiresAt: noon}
	answered := &Message{Type: TypeRequest, ExpiresAt: noon}
	for _, m := range []*Message{open, answered} {
		require.True(t, m.Answerable(noon.Add(-time.Microsecond)))
		require.False(t, m.Answerable(noon), "at its expiry a request takes no reply, answered or not")
		require.False(t, m.Answerable(noon.Add(time.Hour)))
	}
	require.True(t, (&Message{Type: TypeRequest, Open: true}).Answerable(noon))
	require.False(t, (&Message{Type: TypeRequest, EndedAt: noon}).Answerable(noon))
	require.False(t, (&Message{Type: TypeRequest, Open: true, Abandoned: true}).Answerable(noon))
}

func TestAddresses(t *testing.T) {
	for _, row := range []struct {
		target   string
		everyone bool
		role     string
		agent    bool
	}{
		{"", true, "", false},
		{"*", true, "", false},
		{"role:x", false, "x", false},
		{"role:a:b", false, "a:b", false},
		{"agent", false, "", true},
		{"rôle:x", false, "", true},
		{"Role:x", false, "", true},
	} {
		require.Equal(t, row.everyone, ToEveryone(row.target), row.target)
		require.Equal(t, row.role, RoleOf(row.target), row.target)
		require.Equal(t, row.agent, IsAgent(row.target), row.target)
	}
}

// Of what was sent to a role before the viewer took it, or at the same moment, it receives the requests that are open and what
// it has handled itself.
func TestWhatAHolderOfARoleReceives(t *testing.T) {
	const before, at, after = -time.Microsecond, time.Duration(0), time.Microsecond
	for _, row := range []struct {
		name    string
		message Message
		sent    time.Duration
		expires time.Duration // after the look; zero: never
		seen    bool
	}{
		{"a notify from before", Message{Type: TypeNotify}, before, 0, false},
		{"a notify from the same moment", Message{Type: TypeNotify}, at, 0, false},
		{"a notify from after", Message{Type: TypeNotify}, after, 0, true},
		{"a notify from before that it has read", Message{Type: TypeNotify, ReadByViewer: true}, before, 0, true},
		{"a notify from before that another has read", Message{Type: TypeNotify, ReadAt: noon}, before, 0, false},
		{"an open request from before", Message{Type: TypeRequest, Open: true}, before, 0, true},
		{"an open request from the same moment", Message{Type: TypeRequest, Open: true}, at, 0, true},
		{"an open request from before that expires", Message{Type: TypeRequest, Open: true}, before, time.Microsecond, true},
		{"one whose time is over, unswept", Message{Type: TypeRequest, Open: true}, before, -time.Microsecond, false},
		{"one in a closed channel", Message{Type: TypeRequest, Open: true, Abandoned: true}, before, 0, false},
		{"a request that was answered before", Message{Type: TypeRequest, AnsweredAt: noon.Add(-time.Hour - 1)}, before - 2, 0, false},
		{"a request that was answered at the same moment", Message{Type: TypeRequest, AnsweredAt: noon.Add(-time.Hour)}, before, 0, false},
		{"a request that was answered since", Message{Type: TypeRequest, AnsweredAt: noon.Add(-time.Hour + 1)}, before, 0, true},
		{"a request of which no answer is known", Message{Type: TypeRequest}, before, 0, false},
		{"an answered request from after", Message{Type: TypeRequest}, after, 0, true},
		{"an expired request from after", Message{Type: TypeRequest, EndedAt: noon}, after, 0, true},
		{"a request from before that it has answered", Message{Type: TypeRequest, AnsweredByViewer: true}, before, 0, true},
		{"a request from before that it has read", Message{Type: TypeRequest, ReadByViewer: true}, before, 0, true},
	} {
		taken, now := noon.Add(-time.Hour), noon
		viewer := Viewer{Agent: "t1", Participates: true, Presence: holding("t1", "tester", agents.StatusActive), Now: now}
		viewer.Presence.RoleSince = taken
		m := row.message
		m.Ordinal, m.Sender, m.Target, m.CreatedAt = 1, "sender", "role:tester", taken.Add(row.sent)
		if row.expires != 0 {
			m.ExpiresAt = now.Add(row.expires)
		}
		require.Equal(t, row.seen, viewer.Sees(&m, ByID, 0, now), row.name)
		viewer.Presence.Status = agents.StatusDead
		require.False(t, viewer.Sees(&m, ByID, 0, now), "%s: who holds no role sees nothing of it", row.name)
		require.True(t, viewers["sender"].Sees(&m, ByID, 0, now), row.name)
		require.True(t, viewers["operator"].Sees(&m, ByID, 0, now), row.name)
	}
}

// Nothing from before a viewer was let in is for it, however it is addressed; its own messages it sees.
func TestTheHistoryFloorHidesWhatOthersSent(t *testing.T) {
	for _, target := range []string{"", "*", "t1", "role:tester"} {
		for ordinal, seen := range map[int64]bool{4: false, 5: false, 6: true} {
			viewer := viewers["active tester"]
			viewer.HistoryFloor = 5
			m := &Message{Ordinal: ordinal, Type: TypeRequest, Open: true, Sender: "sender", Target: target, CreatedAt: noon, ReadByViewer: true}
			require.Equal(t, seen, viewer.Sees(m, ByID, 0, noon), "%d to %q", ordinal, target)
			m.Sender = "t1"
			require.True(t, viewer.Sees(m, ByID, 0, noon), "%d to %q: its own", ordinal, target)
		}
	}
}
