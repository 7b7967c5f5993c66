package conversation

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// owedModel says in the plainest way what an obligation should have led to by now.
type owedModel struct {
	sent    *openintentv1.Message
	to      string
	signals map[string]bool
	// made counts the steps; due is when the next one is. paused is when somebody asked, and wrote when the author then first wrote.
	made          int
	due           time.Time
	late, closed  bool
	paused, wrote time.Time
	told          []string
}

// owedHistory is a random history of obligations in one intent, on several replicas, beside the model.
type owedHistory struct {
	h        *house
	replicas []rooms
	owed     []*owedModel
	// latest is the time of the intent's log, which never goes back.
	latest time.Time
	ended  bool
}

// logged returns the time that the log gives to what happens now.
func (m *owedHistory) logged() time.Time {
	if now := m.h.clock.Now(); now.After(m.latest) {
		m.latest = now
	}
	return m.latest
}

// evenly draws one of up to 16 things. Package rapid draws the first ones of a list more often than the last ones.
func evenly[T any](t *rapid.T, things []T) T {
	number := 0
	for range 4 {
		if number *= 2; rapid.Bool().Draw(t, "bit") {
			number++
		}
	}
	return things[number%len(things)]
}

func (m *owedHistory) any(t *rapid.T) *owedModel {
	return rapid.SampledFrom(m.owed).Draw(t, "obligation")
}

func (m *owedHistory) oblige(t *rapid.T) {
	if m.ended || len(m.owed) == 5 {
		return
	}
	to := fmt.Sprint("agent-", len(m.owed))
	m.owed = append(m.owed, &owedModel{
		sent: m.h.oblige(t, to), to: to, signals: map[string]bool{}, due: m.h.clock.Now().Add(10 * time.Minute),
	})
	m.logged()
}

func (m *owedHistory) wait(t *rapid.T) {
	m.h.clock.Advance(time.Duration(rapid.SampledFrom([]int{1, 3, 7, 9, 10, 11, 40, 600}).Draw(t, "minutes")) * time.Minute)
}

func (m *owedHistory) setBack(t *rapid.T) {
	m.h.clock.Advance(-time.Duration(rapid.IntRange(1, 30).Draw(t, "hours")) * time.Hour)
}

func (m *owedHistory) signal(t *rapid.T) {
	one := m.any(t)
	signal := evenly(t, []string{"working", "queued", "declined", "blocked", "unclear", "seen"})
	_, err := m.h.AddReaction(as(one.to), &openintentv1.AddReactionRequest{
		ChannelId: m.h.channel, MessageId: one.sent.GetId(), Signal: signal,
	})
	if m.ended {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	if at := m.logged(); !one.signals[signal] && !one.closed && !one.due.IsZero() {
		one.hear(signal, at, m.h.clock.Now())
	}
	one.signals[signal] = true
}

func (one *owedModel) hear(signal string, at, now time.Time) {
	switch signal {
	case "working", "queued":
		if !one.late {
			one.late, one.due = true, one.due.Add(10*time.Minute)
		}
	case "declined", "blocked":
		if one.made <= 3 {
			one.told = append(one.told, "carla obligation_"+signal)
			one.made, one.due, one.paused, one.wrote = 4, now.Add(10*time.Minute), time.Time{}, time.Time{}
		}
	case "unclear":
		if one.paused.IsZero() {
			one.paused, one.wrote, one.due = at, time.Time{}, now.Add(10*time.Minute)
		}
	}
}

// write lets the author write in the thread of a request, or edit it.
func (m *owedHistory) write(t *rapid.T) {
	one, err := m.any(t), error(nil)
	if rapid.Bool().Draw(t, "edits") {
		_, err = m.h.talk.UpdateMessage(as("alice"), &openintentv1.UpdateMessageRequest{
			ChannelId: m.h.channel, MessageId: one.sent.GetId(), Subject: ptr(m.h.clock.Now().Format(time.RFC3339Nano)), Supersede: true,
		})
	} else {
		_, err = m.h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: m.h.channel, ParentId: ptr(one.sent.GetId())})
	}
	if m.ended {
		require.Error(t, err)
		return
	}
	require.NoError(t, err)
	if at := m.logged(); !one.paused.IsZero() && one.wrote.IsZero() {
		one.wrote = at
	}
}

// answer changes nothing of an obligation.
func (m *owedHistory) answer(t *rapid.T) {
	one := m.any(t)
	if m.h.answer(one.to, one.sent.GetId(), 0) == nil {
		m.logged()
	}
}

func (m *owedHistory) discharge(t *rapid.T) {
	one := m.any(t)
	_, err := m.h.discharge(as(rapid.SampledFrom([]string{"alice", "dora"}).Draw(t, "by")), one.sent)
	require.NoError(t, err)
	if !one.closed {
		m.logged()
	}
	one.closed = true
}

func (m *owedHistory) end(t *rapid.T) {
	if m.ended || rapid.IntRange(0, 3).Draw(t, "ends") > 0 {
		return
	}
	m.h.abandon(t)
	m.ended = true
	m.logged()
	for _, one := range m.owed {
		one.closed = true
	}
}

// restart puts a new room in the place of one, which remembers nothing.
func (m *owedHistory) restart(t *rapid.T) {
	r := &m.replicas[rapid.IntRange(0, len(m.replicas)-1).Draw(t, "replica")]
	r.Service = New(Config{DB: r.db, Intents: r.intents, Agents: r.agents, Channels: r.channels, Messaging: r.talk})
}

// sweep lets all replicas sweep at the same time.
func (m *owedHistory) sweep(t *rapid.T) {
	var all sync.WaitGroup
	failures := make([]error, len(m.replicas))
	for i, r := range m.replicas {
		all.Go(func() { failures[i] = r.SweepObligations(context.Background()) })
	}
	all.Wait()
	for _, err := range failures {
		require.NoError(t, err)
	}
	for _, one := range m.owed {
		if !one.closed && one.step(m.h.clock.Now()) {
			m.logged()
		}
	}
}

// step makes the step that is due, and tells whether it said something.
func (one *owedModel) step(now time.Time) bool {
	switch {
	case one.due.IsZero() || now.Before(one.due) && one.due.Before(now.Add(21*time.Minute)):
		return false
	case now.Before(one.due):
		one.due = now.Add(10 * time.Minute)
		return false
	case !one.paused.IsZero() && one.wrote.IsZero():
		one.due = now.Add(10 * time.Minute)
		return false
	case !one.paused.IsZero():
		one.due, one.paused, one.wrote = one.wrote.Add(10*time.Minute), time.Time{}, time.Time{}
		if now.Before(one.due) {
			return false
		}
	}
	one.made++
	one.due = now.Add(10 * time.Minute)
	switch one.made {
	case 4:
		one.told = append(one.told, "carla obligation_overdue")
	case 5:
		one.told, one.due = append(one.told, "operator obligation_overdue"), time.Time{}
	default:
		one.told = append(one.told, fmt.Sprint(one.to, " obligation_return ", one.made))
	}
	return true
}

// compare holds what the server has said of each obligation, in order, against the model.
func (m *owedHistory) compare(t *rapid.T) {
	told := m.h.toldByMessage(t)
	for _, one := range m.owed {
		require.Equal(t, one.told, told[one.sent.GetId()], "of the obligation of %s", one.to)
	}
	list, err := m.h.ListObligations(as("alice"), &openintentv1.ListObligationsRequest{
		AgentId: "alice", Side: openintentv1.ObligationSide_OBLIGATION_SIDE_OWED, Limit: ptr(int32(1000)),
	})
	require.NoError(t, err)
	open := make(map[string]bool)
	for _, one := range list.GetMessages() {
		open[one.GetId()] = true
	}
	for _, one := range m.owed {
		require.Equal(t, !one.closed, open[one.sent.GetId()], "whether the obligation of %s is open", one.to)
	}
}

// toldByMessage returns what the server has said of each request, oldest first.
func (h *house) toldByMessage(t require.TestingT) map[string][]string {
	told := make(map[string][]string)
	for _, m := range h.toldIn(t) {
		of := m.GetPayload().GetFields()["message_id"].GetStringValue()
		told[of] = append(told[of], toldLine(m))
	}
	return told
}

// Whatever happens, on two servers that sweep at once, with restarts and clocks that jump: each step comes once, in order, and none is
// missed for good.
func TestObligationsDoWhatTheModelSays(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachHouse(t, func(t *testing.T, h *house) {
		replicas := []rooms{h.rooms}
		if h.db.Engine() == database.PostgreSQL {
			replicas = append(replicas, h.replica(t, database.Hooks{}))
		}
		rapid.Check(t, func(t *rapid.T) {
			h.open(t)
			h.coordinate(t, "carla")
			m := &owedHistory{h: h, replicas: replicas}
			m.logged()
			m.oblige(t)
			acts := []func(t *rapid.T){
				m.oblige, m.wait, m.sweep, m.wait, m.sweep, m.sweep, m.signal, m.signal, m.write, m.answer, m.discharge, m.setBack,
				m.restart, m.end,
			}
			for range rapid.IntRange(1, 40).Draw(t, "acts") {
				h.clock.Advance(1010 * time.Millisecond) // so that no deadline is met to the second
				evenly(t, acts)(t)
			}
			m.compare(t)
			for range 12 { // whatever it was, it comes
				h.clock.Advance(11 * time.Minute)
				m.sweep(t)
			}
			m.compare(t)
			for _, one := range m.owed {
				require.True(t, one.closed || !one.paused.IsZero() || one.made == 5, "nothing is missed for good")
			}
		})
	})
}
