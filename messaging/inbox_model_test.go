package messaging

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// inboxModel says of a few agents, channels and messages what stands in which inbox, in plain Go over plain lists.
type inboxModel struct {
	h        *house
	agents   []string
	roles    []string
	role     map[string]string    // of those that are registered
	since    map[string]time.Time // when each took its role
	talks    []*talkModel
	intents  []*intentModel
	messages []*messageModel
}

type intentModel struct {
	id       string
	no       int64
	admitted map[string]bool // nil: everyone
	spoke    map[string]bool
}

type talkModel struct {
	id              string
	intent          *intentModel
	members         map[string]bool // nil: whoever may read the intent
	count           int64
	closed, deleted bool
}

type messageModel struct {
	*wireMessage
	talk      *talkModel
	ordinal   int64
	answered  bool
	abandoned bool
	readBy    map[string]bool
}

const modelledMaxMessages = 4

// A model's names are its own, so that many models live in one house.
var modelCount atomic.Int64

func newInboxModel(t require.TestingT, h *house) *inboxModel {
	own := func(name string) string { return fmt.Sprint(name, modelCount.Add(1)) }
	m := &inboxModel{
		h: h, role: make(map[string]string), since: make(map[string]time.Time),
		agents: []string{own("ann"), own("bob"), own("eve")}, roles: []string{own("judge"), own("clerk")},
	}
	for range 2 {
		intent := &intentModel{id: h.intent(t), spoke: make(map[string]bool)}
		intent.no = h.intentNo(t, intent.id)
		m.intents = append(m.intents, intent)
		options := &optionsInput{MaxMessages: ptr(int64(modelledMaxMessages))}
		open := h.create(t, &createRequest{IntentId: intent.id, Options: options})
		closed := h.create(t, &createRequest{
			IntentId: intent.id, Name: "members", Options: options, Members: m.agents[:2],
			MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
		})
		m.talks = append(m.talks, &talkModel{id: open, intent: intent},
			&talkModel{id: closed, intent: intent, members: map[string]bool{m.agents[0]: true, m.agents[1]: true}})
	}
	return m
}

// TakesPart reports whether what is said to everyone in the intent is said to the agent.
func (m *inboxModel) takesPart(agent string, intent *intentModel) bool {
	listed := slices.ContainsFunc(m.talks, func(talk *talkModel) bool {
		return talk.intent == intent && !talk.deleted && talk.members[agent]
	})
	return listed || intent.spoke[agent] || intent.admitted[agent]
}

func (m *inboxModel) participates(agent string, talk *talkModel) bool {
	return (talk.intent.admitted == nil || talk.intent.admitted[agent]) && (talk.members == nil || talk.members[agent])
}

func (m *inboxModel) receives(agent string, one *messageModel) bool {
	if one.GetSender() == agent || !m.participates(agent, one.talk) || one.talk.deleted {
		return false
	}
	to := one.GetTo()
	held := to == "role:"+m.role[agent] && m.role[agent] != ""
	return to == agent || to == "" ||
		held && (one.GetMessageType() == request || one.GetCreatedAt().AsTime().After(m.since[agent]))
}

// expected gives what stands in an agent's inbox, in order.
func (m *inboxModel) expected(agent string) (waiting []*messageModel) {
	now := m.h.clock.Now()
	for _, one := range m.messages {
		passed := one.GetExpiresAt() != nil && !now.Before(one.GetExpiresAt().AsTime())
		waits := one.ordinal > one.talk.count-modelledMaxMessages && !one.readBy[agent] &&
			(one.To != nil || m.takesPart(agent, one.talk.intent))
		if one.GetMessageType() == request {
			waits = !one.answered && !one.abandoned && !one.talk.closed
		}
		if waits && !passed && m.receives(agent, one) {
			waiting = append(waiting, one)
		}
	}
	slices.SortStableFunc(waiting, func(a, b *messageModel) int {
		return cmp.Or(a.GetCreatedAt().AsTime().Compare(b.GetCreatedAt().AsTime()), cmp.Compare(a.talk.intent.no, b.talk.intent.no))
	})
	return waiting
}

// compare holds every agent's inbox against the model, whole and in pages, which look at as many messages as there are or at few.
func (m *inboxModel) compare(t *rapid.T) {
	defer func(usually int) { m.h.messaging.lookedAt = usually }(m.h.messaging.lookedAt)
	for _, agent := range m.agents {
		want := []string{}
		var unread, unanswered int64
		for _, one := range m.expected(agent) {
			want = append(want, one.GetId())
			if one.GetMessageType() == request {
				unanswered++
			}
			if !one.readBy[agent] {
				unread++
			}
		}
		page := m.h.inbox(t, agent)
		require.Equal(t, want, idsIn(page), agent)
		require.Equal(t, [2]int64{unread, unanswered}, [2]int64{page.GetUnreadCount(), page.GetUnansweredCount()}, agent)
		req := &inboxRequest{AgentId: agent, Limit: ptr(int32(rapid.IntRange(1, 4).Draw(t, "limit")))}
		m.h.messaging.lookedAt = rapid.SampledFrom([]int{1, 2, 3, 7, maxLookedAt}).Draw(t, "looked at")
		paged := m.h.readOn(t, agent, req, func(page *wireInbox) {
			counted := [2]int64{page.GetUnreadCount(), page.GetUnansweredCount()}
			require.LessOrEqual(t, counted[0], unread)
			require.LessOrEqual(t, counted[1], unanswered)
			require.True(t, page.GetCountsBounded() || counted == [2]int64{unread, unanswered}, "a count that is not whole says so")
		})
		require.Equal(t, want, append([]string{}, paged...), agent)
		m.h.messaging.lookedAt = maxLookedAt
	}
}

func (m *inboxModel) send(t *rapid.T) {
	talk, sender := rapid.SampledFrom(m.talks).Draw(t, "talk"), rapid.SampledFrom(m.agents).Draw(t, "sender")
	to := rapid.SampledFrom([]string{"", m.agents[0], m.agents[1], m.agents[2], "role:" + m.roles[0], "role:" + m.roles[1]}).Draw(t, "to")
	req := &sendRequest{ChannelId: talk.id}
	if to != "" {
		req.To = &to
		if rapid.Bool().Draw(t, "asks") {
			req.MessageType = ptr(request)
		}
	}
	if rapid.IntRange(0, 2).Draw(t, "expires") == 0 {
		req.ExpiresAt = m.h.in(3 * time.Second)
	}
	sent, err := m.h.messaging.SendMessage(as(sender), req)
	if err != nil {
		return // the sender takes no part, the channel is closed, the target is the sender or no member
	}
	talk.count++
	talk.intent.spoke[sender] = true
	m.messages = append(m.messages, &messageModel{wireMessage: sent, talk: talk, ordinal: talk.count, readBy: make(map[string]bool)})
}

func (m *inboxModel) answer(t *rapid.T) {
	agent := rapid.SampledFrom(m.agents).Draw(t, "answering")
	if len(m.messages) == 0 {
		return
	}
	asked := rapid.SampledFrom(m.messages).Draw(t, "asked")
	reply, err := m.h.tryReply(as(agent), asked.talk.id, asked.GetId(), "")
	if err != nil {
		return
	}
	asked.answered = true
	asked.talk.count++
	asked.talk.intent.spoke[agent] = true
	m.messages = append(m.messages, &messageModel{wireMessage: reply, talk: asked.talk, ordinal: asked.talk.count, readBy: make(map[string]bool)})
}

// read marks some of an inbox read, but for what eviction has passed by.
func (m *inboxModel) read(t *rapid.T) {
	agent := rapid.SampledFrom(m.agents).Draw(t, "reading")
	var ids []string
	for _, one := range m.expected(agent) {
		if one.ordinal > one.talk.count-modelledMaxMessages && rapid.Bool().Draw(t, "marks") {
			ids = append(ids, one.GetId())
			one.readBy[agent] = true
		}
	}
	if len(ids) > 0 {
		_, err := m.h.markInbox(as(agent), agent, ids...)
		require.NoError(t, err)
	}
}

func (m *inboxModel) passTime(t *rapid.T) {
	m.h.clock.Advance(time.Duration(rapid.IntRange(0, 2000).Draw(t, "passed")) * time.Millisecond)
	if rapid.IntRange(0, 3).Draw(t, "sweeps") == 0 {
		m.h.sweep(t)
	}
}

func (m *inboxModel) takeRole(t *rapid.T) {
	agent, role := rapid.SampledFrom(m.agents).Draw(t, "holder"), rapid.SampledFrom(m.roles).Draw(t, "role")
	m.h.clock.Advance(time.Millisecond)
	m.h.register(t, agent, role)
	if m.role[agent] != role {
		m.role[agent], m.since[agent] = role, m.h.clock.Now()
	}
	m.h.clock.Advance(time.Millisecond)
}

func (m *inboxModel) leave(t *rapid.T) {
	agent := rapid.SampledFrom(m.agents).Draw(t, "leaving")
	if _, registered := m.role[agent]; !registered {
		return
	}
	m.h.deregister(t, agent)
	delete(m.role, agent)
	concerned := make(map[*talkModel]bool)
	for _, talk := range m.talks {
		concerned[talk] = talk.members[agent]
		delete(talk.members, agent)
	}
	for _, one := range m.messages {
		passed := one.GetExpiresAt() != nil && !m.h.clock.Now().Before(one.GetExpiresAt().AsTime())
		if one.GetTo() == agent && one.GetMessageType() == request && !one.answered && !one.abandoned {
			concerned[one.talk] = concerned[one.talk] || !passed
			one.abandoned = true
		}
	}
	for _, talk := range slices.DeleteFunc(slices.Clone(m.talks), func(talk *talkModel) bool { return !concerned[talk] || talk.closed }) {
		told := m.h.listIn(asOperator(), t, &listRequest{ChannelId: talk.id, Limit: ptr(int32(1))})[0]
		talk.count++
		told.To = nil
		m.messages = append(m.messages, &messageModel{wireMessage: told, talk: talk, ordinal: talk.count, readBy: make(map[string]bool)})
	}
	m.h.clock.Advance(time.Second)
}

func (m *inboxModel) changeMembers(t *rapid.T) {
	talk, agent := m.talks[2*rapid.IntRange(0, 1).Draw(t, "list")+1], rapid.SampledFrom(m.agents).Draw(t, "member")
	switch {
	case talk.closed:
	case talk.members[agent]:
		m.h.removeMember(t, talk.id, agent)
		delete(talk.members, agent)
	default:
		m.h.addMember(t, talk.id, agent)
		talk.members[agent] = true
	}
}

func (m *inboxModel) changeAccess(t *rapid.T) {
	intent := rapid.SampledFrom(m.intents).Draw(t, "intent")
	intent.admitted = make(map[string]bool)
	for _, agent := range m.agents {
		if rapid.IntRange(0, 3).Draw(t, "admits") > 0 {
			intent.admitted[agent] = true
		}
	}
	m.h.admit(t, intent.id, slices.Collect(maps.Keys(intent.admitted))...)
}

func (m *inboxModel) closeTalk(t *rapid.T) {
	talk := rapid.SampledFrom(m.talks).Draw(t, "closing")
	switch drastic := rapid.IntRange(0, 3).Draw(t, "drastic"); {
	case talk.deleted || drastic < 2:
	case drastic == 2:
		m.h.closeChannel(t, talk.id)
		talk.closed = true
	default:
		m.h.deleteChannel(t, talk.id)
		talk.closed, talk.deleted = true, true
	}
}

// Whatever is sent, read, answered and changed, in any order: the inboxes say what the model says.
func TestInboxesAreWhatTheModelSays(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		rapid.Check(t, func(t *rapid.T) {
			m := newInboxModel(t, h)
			actions := []func(t *rapid.T){
				m.send, m.send, m.send, m.answer, m.read, m.passTime, m.takeRole, m.leave, m.changeMembers, m.changeAccess, m.closeTalk,
			}
			for range rapid.IntRange(1, 6).Draw(t, "rounds") {
				for range rapid.IntRange(1, 8).Draw(t, "steps") {
					h.clock.Advance(time.Millisecond)
					actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")](t)
				}
				m.compare(t)
			}
		})
	})
}
