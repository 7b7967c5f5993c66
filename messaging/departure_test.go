package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// departures counts the server's words on a channel that the agent left, checking their form.
func (h *house) departures(t require.TestingT, channelID, agent string) int {
	count := 0
	for _, m := range h.listIn(asOperator(), t, &listRequest{ChannelId: channelID}) {
		if m.GetSender() == caller.System {
			count++
			require.Equal(t, notify, m.GetMessageType())
			require.Equal(t, "*", m.GetTo())
			require.Equal(t, map[string]any{"event": "agent_departed", "agent_id": agent}, m.GetPayload().AsMap())
		}
	}
	return count
}

// scene is bob's part in some channels.
type scene struct {
	listing, asked, both, untouched, closed, lapsed string
	open, openRead, answered, toRole, expired       *wireMessage
}

func (h *house) sceneOf(t require.TestingT) scene {
	h.register(t, "bob", "tester")
	explicit := func(intentID, name string, ttl *int64) string {
		return h.create(t, &createRequest{
			IntentId: intentID, Name: name, MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
			Members: []string{"alice", "bob", "carol"}, Options: &optionsInput{TtlSeconds: ttl},
		})
	}
	intentID := h.intent(t)
	s := scene{
		listing: explicit(intentID, "listing", nil), asked: h.create(t, &createRequest{IntentId: intentID, Name: "asked"}),
		both: explicit("", "both", nil), untouched: h.create(t, &createRequest{IntentId: intentID, Name: "untouched"}),
		closed: explicit(intentID, "closed", nil), lapsed: explicit(intentID, "lapsed", ptr(int64(1))),
	}
	s.open, s.openRead = h.asks(t, "alice", s.asked, "bob"), h.asks(t, "alice", s.both, "bob")
	s.answered, s.toRole = h.asks(t, "alice", s.asked, "bob"), h.asks(t, "alice", s.asked, "role:tester")
	s.expired = h.send(t, "alice", &sendRequest{
		ChannelId: s.untouched, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Second),
	})
	h.asks(t, "alice", s.lapsed, "bob")
	_, err := h.tryRead(as("bob"), s.both, s.openRead.GetId())
	require.NoError(t, err)
	h.reply(t, "bob", s.asked, s.answered.GetId(), "")
	h.closeChannel(t, s.closed)
	h.clock.Advance(time.Minute)
	return s
}

// requireDeparted checks what a finished departure of bob's leaves behind.
func (h *house) requireDeparted(t require.TestingT, s scene) {
	for _, id := range []string{s.listing, s.both, s.closed, s.lapsed} {
		require.Equal(t, []string{"alice", "carol"}, h.channel(t, id).GetMembers())
	}
	for id, times := range map[string]int{s.listing: 1, s.asked: 1, s.both: 1, s.untouched: 0, s.closed: 0, s.lapsed: 0} {
		require.Equal(t, times, h.departures(t, id, "bob"), h.channel(t, id).GetName())
	}
	require.Equal(t, 3, h.rows(t, "messages", "ended_at IS NOT NULL AND target = 'bob' AND expires_at IS NULL"))
	require.Zero(t, h.rows(t, "pending_work", "kind = 'departure'"))
	require.Zero(t, h.rows(t, "members", "agent_id = 'bob'"))
	require.Equal(t, delivered, h.get(t, s.asked, s.toRole.GetId()).GetStatus(), "a request to a role waits for another holder")
	require.Equal(t, delivered, h.get(t, s.asked, s.answered.GetId()).GetStatus())
}

func TestDepartureReachesTheChannelsConcerned(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		s := h.sceneOf(t)
		follower := h.follow(t, "carol", s.listing, nil)
		h.deregister(t, "bob")
		h.requireDeparted(t, s)
		require.Equal(t, caller.System, follower.next(t).GetMessage().GetSender(), "who follows is told")
		require.Equal(t, expired, h.get(t, s.asked, s.open.GetId()).GetStatus())
		require.Equal(t, expired, h.get(t, s.both, s.openRead.GetId()).GetStatus())
		for range 2 {
			h.sweep(t)
			h.requireDeparted(t, s)
		}
		h.requireChain(t, s.listing)
	})
}

// interrupted deregisters bob and loses everything that was to follow.
func (h *house) interrupted(t require.TestingT, f *faults) {
	commits := 0
	f.set(func() error {
		if commits++; commits > 1 {
			return errInjected
		}
		return nil
	}, nil)
	h.deregister(t, "bob")
	f.set(nil, nil)
	require.Greater(t, commits, 1)
	require.NotZero(t, h.rows(t, "pending_work", "kind = 'departure'"))
}

// Whether or not the departure's work has been done, readers decide by the departure.
func TestDepartureCountsBeforeItsWorkIsDone(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		s := h.sceneOf(t)
		h.interrupted(t, f)
		check := func() {
			for _, m := range []*wireMessage{s.open, s.openRead} {
				require.Equal(t, expired, h.get(t, m.GetChannelId(), m.GetId()).GetStatus())
				_, err := h.tryReply(asOperator(), m.GetChannelId(), m.GetId(), "")
				faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
				got, err := h.messaging.AwaitResponses(as("alice"), &awaitRequest{
					ChannelId: m.GetChannelId(), MessageId: m.GetId(), WaitSeconds: ptr(600.0),
				})
				require.NoError(t, err)
				require.Empty(t, got.GetResponses())
			}
			_, err := h.messaging.SendMessage(as("bob"), &sendRequest{ChannelId: s.both})
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
			_, err = h.messaging.ListMessages(as("bob"), &listRequest{ChannelId: s.both})
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
			_, err = h.tryFollow(as("bob"), s.both, nil)
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
			_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: s.both, To: ptr("bob")})
			faulttest.Require(t, err, fault.Denied, "TARGET_NOT_A_MEMBER")
			_, err = h.tryReply(as("bob"), s.asked, s.open.GetId(), "")
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
			_, err = h.tryRead(as("bob"), s.asked, s.open.GetId())
			faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
			_, err = h.messaging.SendMessage(as("bob"), under(s.asked, s.open.GetId(), "late"))
			faulttest.RequireBadField(t, err, "parent_id")
			require.False(t, h.sees(t, "bob", s.open))
			require.True(t, h.sees(t, "alice", s.open))
		}
		check()
		h.clock.Advance(time.Second)
		h.register(t, "bob", "tester")
		check()

		after := h.asks(t, "alice", s.asked, "bob")
		h.addMember(t, s.listing, "bob")
		h.say(t, "bob", s.listing, "a member again")
		h.sweep(t)
		require.Equal(t, delivered, h.get(t, s.asked, after.GetId()).GetStatus(), "what came after stays")
		require.Equal(t, []string{"alice", "carol", "bob"}, h.channel(t, s.listing).GetMembers())
		require.Equal(t, []string{"alice", "carol"}, h.channel(t, s.both).GetMembers())
		for _, m := range []*wireMessage{s.open, s.openRead} {
			require.Equal(t, 1, h.rows(t, "messages", "id = ? AND ended_at IS NOT NULL", m.GetId()))
		}
		require.Equal(t, 1, h.departures(t, s.asked, "bob"))
		require.Equal(t, 1, h.departures(t, s.both, "bob"))
		h.sweep(t)
		require.Equal(t, 1, h.departures(t, s.both, "bob"))
		h.reply(t, "bob", s.asked, after.GetId(), "here again")
	})
}

func TestInterruptedDepartureIsFinishedBySweeping(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		s := h.sceneOf(t)
		h.interrupted(t, f)
		f.set(failing, nil)
		require.Error(t, h.messaging.Sweep(context.Background()))
		f.set(nil, times(1))
		h.messaging.Sweep(context.Background()) //nolint:errcheck // an acknowledgement is lost
		f.set(nil, nil)
		h.sweep(t)
		h.requireDeparted(t, s)
	})
}

// An asker does not wait for somebody who left. An answer that was given before still reaches it.
func TestDepartureEndsAsking(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "")
		asking := h.askMeanwhile(as("alice"), t, id, 600)
		h.clock.Advance(time.Second)
		h.deregister(t, "bob")
		requireTimeout(t, asking.result(t), asking.request)
		require.Equal(t, 1, h.departures(t, id, "bob"))
		require.Equal(t, expired, h.get(t, id, asking.request.GetId()).GetStatus())
	})
}

// The request that a departure expires is reported to its channel, though its time runs out before the work is done.
func TestDepartureIsToldOfAfterTheDeadline(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.open(t)
		h.register(t, "bob", "")
		request := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(openintentv1.MessageType_MESSAGE_TYPE_REQUEST),
			Payload: content("?"), ExpiresAt: h.in(30 * time.Second),
		})
		h.clock.Advance(time.Second)
		h.interrupted(t, f)
		h.clock.Advance(time.Minute)
		h.sweep(t)
		require.Equal(t, expired, h.get(t, id, request.GetId()).GetStatus())
		require.Equal(t, 1, h.departures(t, id, "bob"))
		require.Zero(t, h.rows(t, "open_requests", "1 = 1"))
	})
}

// After a step of the clock back, a departure has the time of what it ends, which is ahead of the clock. A request whose time runs out
// between the two was open when its addressee left, so its channel is told.
func TestADepartureAheadOfTheClockIsToldOf(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, start := h.open(t), h.clock.Now()
		h.register(t, "bob", "")
		h.clock.Set(start.Add(time.Hour))
		h.say(t, "alice", id, "in the future")
		h.clock.Set(start.Add(time.Second))
		request := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(openintentv1.MessageType_MESSAGE_TYPE_REQUEST),
			Payload: content("?"), ExpiresAt: h.in(30 * time.Second),
		})
		h.clock.Advance(time.Second)
		h.deregister(t, "bob")
		require.Equal(t, expired, h.get(t, id, request.GetId()).GetStatus())
		require.Equal(t, 1, h.departures(t, id, "bob"))
		require.Zero(t, h.rows(t, "open_requests", "1 = 1"))
	})
}

func TestDeadAgentKeepsItsMemberships(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		s := h.sceneOf(t)
		for range 40 { // ten seconds at a time, because what the sweep sleeps through is no silence
			h.clock.Advance(10 * time.Second)
			require.NoError(t, h.agents.Sweep(t.Context()))
		}
		agent, err := h.agents.GetAgent(asOperator(), &openintentv1.GetAgentRequest{AgentId: "bob"})
		require.NoError(t, err)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_DEAD, agent.GetStatus())
		h.sweep(t)
		require.Equal(t, []string{"alice", "bob", "carol"}, h.channel(t, s.both).GetMembers())
		require.Zero(t, h.departures(t, s.both, "bob"))
		h.reply(t, "bob", s.asked, s.open.GetId(), "late")
		_, err = h.tryReply(as("bob"), s.asked, s.toRole.GetId(), "")
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
	})
}
