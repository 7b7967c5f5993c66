package channels

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
)

// modelChannel is a channel according to a plain reading of the contract. The rooms derive closings from times when they read;
// the model closes eagerly, as soon as its clock passes a deadline.
type modelChannel struct {
	name     string
	creator  string
	members  []string
	explicit bool
	audit    bool
	ttl      time.Duration
	max      int64
	messages int64
	lastAt   time.Time
	runsFrom time.Time // when the time to live began
	closedAt time.Time
	deleted  bool
}

func (c *modelChannel) open() bool { return c.closedAt.IsZero() }

// model is an intent with its channels, by their ids and in the order of their creation.
type model struct {
	house    *house
	intentID string
	status   openintentv1.IntentStatus
	channels map[string]*modelChannel
	order    []string
}

func (m *model) now() time.Time { return m.house.clock.Now() }

func (m *model) ended() bool { return m.status == statusCompleted || m.status == statusAbandoned }

// lapse closes the channels whose time to live has run out.
func (m *model) lapse() {
	if m.status == statusSuspended || m.ended() {
		return
	}
	for _, c := range m.channels {
		if deadline := c.runsFrom.Add(c.ttl); c.open() && c.ttl > 0 && !m.now().Before(deadline) {
			c.closedAt = deadline
		}
	}
}

func (m *model) byName(name string) *modelChannel {
	for _, c := range m.channels {
		if c.open() && c.name == name {
			return c
		}
	}
	return nil
}

// outcome returns how a managing call must end, before the call's own rules apply.
func (m *model) outcome(id, agent string) string {
	c := m.channels[id]
	switch {
	case c.deleted:
		return "CHANNEL_NOT_FOUND"
	case agent != c.creator && agent != caller.Operator:
		return "FORBIDDEN"
	case !c.open():
		return "CHANNEL_CLOSED"
	}
	return ""
}

func reason(err error) string {
	if err == nil {
		return ""
	}
	return fault.From(err).Reason
}

var (
	modelAgents = []string{"alice", "bob", "carol"}
	modelNames  = []string{"x", "y", "z"}
)

func TestChannelsBehaveAsTheModelSays(t *testing.T) {
	databasetest.SearchBriefly(t)
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) { checkModel(t, engine) })
	}
}

func checkModel(t *testing.T, engine database.Engine) {
	h := newHouse(t, engine)
	rapid.Check(t, func(t *rapid.T) {
		m := &model{house: h, intentID: h.intent(t, "alice"), status: statusActive, channels: make(map[string]*modelChannel)}
		t.Repeat(map[string]func(*rapid.T){
			"create":  m.create,
			"update":  m.update,
			"add":     m.add,
			"remove":  m.remove,
			"message": m.message,
			"close":   m.close,
			"delete":  m.delete,
			"get":     m.get,
			"advance": m.advance,
			"sweep":   m.sweep,
			"intent":  m.intent,
			"":        m.check,
		})
	})
}

// tick lets a millisecond pass before each action, so that the intent's own time never runs ahead of the clock.
func (m *model) tick() {
	m.house.clock.Advance(time.Millisecond)
	m.lapse()
}

// as returns the context of a call by an agent or the operator.
func (m *model) as(agent string) context.Context {
	if agent == caller.Operator {
		return asOperator()
	}
	return as(agent)
}

func (m *model) drawAgent(t *rapid.T) string {
	return rapid.SampledFrom(append([]string{caller.Operator}, modelAgents...)).Draw(t, "agent")
}

func (m *model) drawChannel(t *rapid.T) string {
	if len(m.order) == 0 {
		t.Skip("no channel yet")
	}
	return rapid.SampledFrom(m.order).Draw(t, "channel")
}

func (m *model) drawTTL(t *rapid.T) *int64 {
	seconds := rapid.SampledFrom([]int64{0, 1, 5, 60}).Draw(t, "ttl")
	if seconds == 0 {
		return nil
	}
	return &seconds
}

func durationOf(seconds *int64) time.Duration {
	if seconds == nil {
		return 0
	}
	return time.Duration(*seconds) * time.Second
}

func (m *model) create(t *rapid.T) {
	m.tick()
	name, agent := rapid.SampledFrom(modelNames).Draw(t, "name"), rapid.SampledFrom(modelAgents).Draw(t, "agent")
	ttl := m.drawTTL(t)
	members := rapid.SliceOfN(rapid.SampledFrom(modelAgents), 0, 4).Draw(t, "members")
	expected := ""
	switch {
	case m.ended():
		expected = "INTENT_ENDED"
	case m.byName(name) != nil:
		expected = "CHANNEL_NAME_TAKEN"
	}
	channel, err := m.house.channels.CreateChannel(as(agent), &createRequest{
		IntentId: m.intentID, Name: name, Members: members, Options: &optionsMessage{TtlSeconds: ttl},
	})
	require.Equal(t, expected, reason(err))
	if err != nil {
		return
	}
	m.order = append(m.order, channel.GetId())
	m.channels[channel.GetId()] = &modelChannel{
		name: name, creator: agent, members: distinct(members), ttl: durationOf(ttl), max: 1000, runsFrom: m.now(),
	}
}

func distinct(names []string) []string {
	var seen []string
	for _, name := range names {
		if !slices.Contains(seen, name) {
			seen = append(seen, name)
		}
	}
	return seen
}

func (m *model) update(t *rapid.T) {
	m.tick()
	id, agent := m.drawChannel(t), m.drawAgent(t)
	c := m.channels[id]
	wanted := &channelMessage{
		Id:      id,
		Members: rapid.SliceOfN(rapid.SampledFrom(modelAgents), 0, 3).Draw(t, "members"),
		MemberPolicy: rapid.SampledFrom([]openintentv1.MemberPolicy{
			explicit, openintentv1.MemberPolicy_MEMBER_POLICY_INTENT,
		}).Draw(t, "policy"),
		Options: &optionsMessage{
			Audit:       ptr(rapid.Bool().Draw(t, "audit")),
			TtlSeconds:  m.drawTTL(t),
			MaxMessages: ptr(rapid.Int64Range(1, 5).Draw(t, "max")),
		},
	}
	paths := rapid.SliceOfNDistinct(rapid.SampledFrom([]string{
		"members", "member_policy", "options", "options.audit", "options.ttl_seconds", "options.max_messages",
	}), 1, 3, rapid.ID).Draw(t, "paths")
	_, err := m.house.update(m.as(agent), wanted, paths...)
	names := func(path string) bool { return slices.Contains(paths, path) }
	expected := m.outcome(id, agent)
	audits := wanted.GetOptions().GetAudit() && (names("options") || names("options.audit"))
	if expected == "" && audits && agent != "alice" && agent != caller.Operator {
		expected = "FORBIDDEN" // alice made the intent, and nobody gave the others anything
	}
	require.Equal(t, expected, reason(err))
	if err != nil {
		return
	}
	if names("members") {
		c.members = distinct(wanted.GetMembers())
	}
	if names("member_policy") {
		c.explicit = wanted.GetMemberPolicy() == explicit
	}
	if names("options") || names("options.audit") {
		c.audit = wanted.GetOptions().GetAudit()
	}
	if names("options") || names("options.ttl_seconds") {
		c.ttl = durationOf(wanted.GetOptions().TtlSeconds)
	}
	if names("options") || names("options.max_messages") {
		c.max = wanted.GetOptions().GetMaxMessages()
	}
	m.lapse() // the new time to live may have run out already
}

func (m *model) add(t *rapid.T) {
	m.tick()
	id, agent := m.drawChannel(t), m.drawAgent(t)
	added := rapid.SliceOfN(rapid.SampledFrom(modelAgents), 1, 3).Draw(t, "added")
	_, err := m.house.addMembers(m.as(agent), id, added...)
	require.Equal(t, m.outcome(id, agent), reason(err))
	if err == nil {
		m.channels[id].members = distinct(append(m.channels[id].members, added...))
	}
}

func (m *model) remove(t *rapid.T) {
	m.tick()
	id, agent := m.drawChannel(t), m.drawAgent(t)
	removed := rapid.SampledFrom(modelAgents).Draw(t, "removed")
	_, err := m.house.removeMember(m.as(agent), id, removed)
	require.Equal(t, m.outcome(id, agent), reason(err))
	if err == nil {
		m.channels[id].members = slices.DeleteFunc(m.channels[id].members, func(name string) bool { return name == removed })
	}
}

func (m *model) message(t *rapid.T) {
	m.tick()
	id := m.drawChannel(t)
	c := m.channels[id]
	if !c.open() {
		t.Skip("closed")
	}
	sent := m.house.message(t, id)
	require.Equal(t, m.now(), sent)
	c.messages++
	c.lastAt, c.runsFrom = sent, sent
}

func (m *model) close(t *rapid.T) {
	m.tick()
	id, agent := m.drawChannel(t), m.drawAgent(t)
	c := m.channels[id]
	channel, err := m.house.closeChannel(m.as(agent), id)
	expected := m.outcome(id, agent)
	if expected == "CHANNEL_CLOSED" {
		expected = "" // closing again is harmless
	}
	require.Equal(t, expected, reason(err))
	if err == nil && c.open() {
		c.closedAt = channel.GetClosedAt().AsTime()
		require.Equal(t, m.now(), c.closedAt)
	}
}

func (m *model) delete(t *rapid.T) {
	m.tick()
	id, agent := m.drawChannel(t), m.drawAgent(t)
	err := m.house.deleteChannel(m.as(agent), id)
	expected := m.outcome(id, agent)
	if expected == "CHANNEL_CLOSED" {
		expected = ""
	}
	require.Equal(t, expected, reason(err))
	if err == nil {
		c := m.channels[id]
		c.deleted = true
		if c.open() {
			c.closedAt = m.now()
		}
	}
}

// advance lets time pass: by some amount, to the next deadline, or to just before it.
func (m *model) advance(t *rapid.T) {
	var next time.Time
	for _, c := range m.channels {
		if deadline := c.runsFrom.Add(c.ttl); c.open() && c.ttl > 0 && (next.IsZero() || deadline.Before(next)) {
			next = deadline
		}
	}
	choice := rapid.SampledFrom([]string{"some", "deadline", "just before"}).Draw(t, "advance")
	switch {
	case choice == "some" || next.IsZero():
		m.house.clock.Advance(time.Duration(rapid.IntRange(1, 20_000).Draw(t, "ms")) * time.Millisecond)
	case choice == "just before":
		next = next.Add(-time.Microsecond)
		fallthrough
	default:
		if next.After(m.now()) {
			m.house.clock.Set(next)
		}
	}
	m.lapse()
}

func (m *model) sweep(t *rapid.T) {
	require.NoError(t, m.house.channels.Sweep(t.Context()))
	for _, id := range m.order {
		if c := m.channels[id]; !c.deleted {
			require.Equal(t, c.closedAt, m.house.stored(t, id).ClosedAt, "a closed channel is closed for good")
		}
	}
}

// intent changes the intent's status: it suspends and resumes the intent often, and ends it seldom.
func (m *model) intent(t *rapid.T) {
	m.tick()
	next := rapid.SampledFrom([]openintentv1.IntentStatus{
		statusSuspended, statusActive, statusSuspended, statusActive, statusSuspended, statusActive, statusCompleted, statusAbandoned,
	}).Draw(t, "status")
	if err := m.house.setIntentStatus(t, m.intentID, next); err != nil {
		require.Equal(t, "INVALID_TRANSITION", reason(err))
		return
	}
	resumed := m.status == statusSuspended
	m.status = next
	for _, c := range m.channels {
		if !c.open() {
			continue
		}
		if resumed {
			c.runsFrom = m.now()
		}
		if m.ended() {
			c.closedAt = m.now()
		}
	}
}

// get reads one channel by its id.
func (m *model) get(t *rapid.T) {
	id := m.drawChannel(t)
	channel, err := m.house.channels.GetChannel(as("alice"), &openintentv1.GetChannelRequest{ChannelId: id})
	if m.channels[id].deleted {
		require.ErrorIs(t, err, ErrChannelNotFound)
		return
	}
	require.NoError(t, err)
	require.NoError(t, m.channels[id].differs(channel))
}

// check compares everything that clients can see, after each action.
func (m *model) check(t *rapid.T) {
	expectedOpen, expectedClosed := []string{}, []string{}
	for _, id := range m.order {
		switch c := m.channels[id]; {
		case c.deleted:
		case c.open():
			expectedOpen = append(expectedOpen, id)
		default:
			expectedClosed = append(expectedClosed, id)
		}
	}
	listed := m.house.list(t, m.intentID, nil)
	require.Equal(t, append(expectedOpen, expectedClosed...), ids(listed))
	for _, channel := range listed {
		require.NoError(t, m.channels[channel.GetId()].differs(channel))
	}
}

// differs reports where a channel differs from the model.
func (c *modelChannel) differs(channel *channelMessage) error {
	var errs []error
	compare := func(what string, model, found any) {
		if model != found {
			errs = append(errs, fmt.Errorf("%s is %v, the model says %v", what, found, model))
		}
	}
	compare("name", c.name, channel.GetName())
	compare("creator", c.creator, channel.GetCreatedBy())
	compare("members", fmt.Sprint(c.members), fmt.Sprint(channel.GetMembers()))
	compare("explicit", c.explicit, channel.GetMemberPolicy() == explicit)
	compare("audit", c.audit, channel.GetOptions().GetAudit())
	compare("ttl", c.ttl, durationOf(channel.GetOptions().TtlSeconds))
	compare("max_messages", c.max, channel.GetOptions().GetMaxMessages())
	compare("messages", c.messages, channel.GetMessageCount())
	compare("open", c.open(), channel.GetStatus() == open)
	if !c.lastAt.IsZero() {
		compare("last_message_at", c.lastAt, channel.GetLastMessageAt().AsTime())
	}
	if !c.open() {
		compare("closed_at", c.closedAt, channel.GetClosedAt().AsTime())
	}
	return errors.Join(errs...)
}
