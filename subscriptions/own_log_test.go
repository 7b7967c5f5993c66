package subscriptions

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging"
	"openintent/subscriptions/delivering"
)

// toldOwn formats a delivery of an agent's own log.
func toldOwn(d *wireOwn) string {
	mark := ""
	if d.GetBackfill() {
		mark = "+"
	}
	switch {
	case d.GetCaughtUp():
		return fmt.Sprintf("%d caught up", d.GetPosition())
	case d.GetEvent() != nil:
		return fmt.Sprintf("%d !%s", d.GetPosition(), d.GetEvent().GetEventType())
	}
	return fmt.Sprintf("%d%s %s", d.GetPosition(), mark, textOf(d.GetMessage()))
}

func requireNext(t *testing.T, s *stream[wireOwn], wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		require.Equal(t, want, toldOwn(s.next(t)))
	}
}

func TestAgentScopeCarriesWhatReachesTheAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		mine, others := h.intent(t), h.intent(t)
		talk, away := h.open(t, mine, "talk"), h.open(t, others, "away")
		h.register(t, "bob", "smith")
		h.send(t, "ann", talk, "bob", "before")

		s := h.follow(t, "bob", nil)
		require.Equal(t, []string{"0"}, s.accepted.Get(messaging.PositionHeader))
		requireNext(t, s, "0 caught up")
		h.send(t, "ann", talk, "bob", "direct")
		requireNext(t, s, "1 direct")
		h.send(t, "ann", talk, "eve", "to eve")
		h.send(t, "ann", away, "role:smith", "to the role")
		requireNext(t, s, "2 to the role")
		h.send(t, "ann", away, "*", "where bob takes no part")
		h.send(t, "ann", away, "role:smith", "again")
		requireNext(t, s, "3 again")
		h.send(t, "bob", away, "ann", "own")
		requireNext(t, s, "4 own")
		h.send(t, "ann", away, "*", "where bob has sent")
		requireNext(t, s, "5 where bob has sent")
		_, err := h.intents.AssignAgent(as("creator"), &openintentv1.AssignAgentRequest{IntentId: mine, AgentId: "bob"})
		require.NoError(t, err)
		requireNext(t, s, "6 !agent_assigned")
		h.send(t, "ann", talk, "*", "where bob is assigned")
		last := s.next(t)
		require.Equal(t, "7 where bob is assigned", toldOwn(last))
		require.Equal(t, mine, last.GetIntentId())
		require.Equal(t, "talk", last.GetChannelName())

		s.cancel()
		require.ErrorIs(t, s.end(t), context.Canceled)
		h.send(t, "ann", away, "bob", "meanwhile")
		resumed := h.follow(t, "bob", ptr(int64(5)))
		require.Equal(t, []string{"5"}, resumed.accepted.Get(messaging.PositionHeader))
		requireNext(t, resumed, "6 !agent_assigned", "7 where bob is assigned", "8 meanwhile", "8 caught up")
		anew := h.follow(t, "bob", nil)
		requireNext(t, anew, "8 caught up")
		h.send(t, "ann", away, "bob", "both")
		requireNext(t, resumed, "9 both")
		requireNext(t, anew, "9 both")
	})
}

func TestAgentScopeFiltersForEachStream(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		all := h.follow(t, "bob", nil)
		requireNext(t, all, "0 caught up")
		asked := h.asks(t, "bob", channel, "ann", "question")
		h.send(t, "ann", channel, "bob", "chat")
		_, err := h.messaging.ReplyMessage(as("ann"), &openintentv1.ReplyMessageRequest{
			ChannelId: channel, MessageId: asked.GetId(), Payload: content("answer"),
		})
		require.NoError(t, err)
		requireNext(t, all, "1 question", "2 chat", "3 answer")
		answers, err := begin(as("bob"), t, func(s *stream[wireOwn]) error {
			return h.messaging.Subscribe(&openintentv1.SubscribeRequest{
				Scope:         &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"},
				AfterPosition: ptr(int64(0)), CorrelationId: &asked.Id,
			}, s)
		})
		require.NoError(t, err)
		requireNext(t, answers, "3 answer", "3 caught up")
	})
}

func TestAgentScopeRefuses(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		_, err := h.tryFollow(as("eve"), t, "bob", nil)
		faulttest.Require(t, err, fault.Denied, "NOT_AGENT_OWNER")
		_, err = h.tryFollow(asOperator(), t, "role:smith", nil)
		faulttest.RequireBadField(t, err, "agent_id")
		_, err = h.tryFollow(as("bob"), t, "bob", ptr(int64(1)))
		faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")
		_, err = h.tryFollow(asOperator(), t, "bob", nil)
		require.NoError(t, err)
		bound := caller.NewContext(context.Background(), caller.Caller{Agent: "ann", KeyAgents: []string{"ann", "bob"}})
		_, err = h.tryFollow(bound, t, "bob", nil)
		require.NoError(t, err)
		require.Equal(t, 1, h.rows(t, "subscriptions", "name = 'default'"), "one log for all of them")
	})
}

// A message that was sent to a name before anyone listened under that name is in its inbox, but not in its log.
func TestAgentScopeBeginsWithItsLog(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, second := h.open(t, h.intent(t), "first"), h.open(t, h.intent(t), "second")
		h.send(t, "ann", first, "bob", "before")
		h.send(t, "ann", second, "role:smith", "to a role bob has not")
		h.clock.Advance(afterCommits)
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		h.clock.Advance(afterCommits)
		h.send(t, "ann", second, "role:smith", "to a role bob will have")
		h.asks(t, "ann", second, "role:smith", "asked of a role bob will have")
		h.register(t, "bob", "smith")
		requireNext(t, s, "1 asked of a role bob will have")
	})
}

func TestAgentScopeBackfillsWhatARoleGains(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		first, second := h.open(t, h.intent(t), "first"), h.open(t, h.intent(t), "second")
		h.asks(t, "ann", second, "role:smith", "before the log")
		h.clock.Advance(afterCommits)
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		h.send(t, "ann", first, "bob", "one")
		requireNext(t, s, "1 one")
		h.clock.Advance(time.Second)
		h.asks(t, "ann", first, "role:smith", "behind")
		answered := h.asks(t, "ann", first, "role:smith", "answered")
		h.register(t, "eve", "smith")
		_, err := h.messaging.ReplyMessage(as("eve"), &openintentv1.ReplyMessageRequest{
			ChannelId: first, MessageId: answered.GetId(), Payload: content("x"),
		})
		require.NoError(t, err)
		h.clock.Advance(afterCommits)
		h.asks(t, "ann", second, "role:smith", "ahead") // in an intent that does not reach bob yet
		h.send(t, "ann", first, "bob", "two")           // the log moves past the others
		requireNext(t, s, "2 two")
		h.register(t, "bob", "smith")
		backfilled := map[string]bool{toldOwn(s.next(t)): true, toldOwn(s.next(t)): true}
		require.Equal(t, map[string]bool{"2+ before the log": true, "2+ behind": true}, backfilled)
		requireNext(t, s, "3 ahead")
		h.asks(t, "ann", first, "role:smith", "after")
		requireNext(t, s, "4 after")

		h.register(t, "bob", "idle")
		h.send(t, "ann", first, "bob", "five")
		requireNext(t, s, "5 five")
		h.register(t, "bob", "smith") // what was lost and comes again counts as new
		backfilled = map[string]bool{toldOwn(s.next(t)): true, toldOwn(s.next(t)): true}
		require.Equal(t, map[string]bool{"5+ before the log": true, "5+ behind": true}, backfilled)
	})
}

// A new membership and new access have the same effect as a new role. Requests that the agent could always see are not
// delivered again.
func TestAgentScopeBackfillsWhatMembershipGains(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intent := h.intent(t)
		made, err := h.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{
			IntentId: intent, Name: "members", MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
			Members: []string{"ann"},
		})
		require.NoError(t, err)
		open := h.open(t, intent, "open")
		h.register(t, "bob", "smith")
		h.asks(t, "ann", open, "bob", "before the log")
		h.clock.Advance(afterCommits)
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		h.asks(t, "ann", made.GetId(), "role:smith", "behind")
		h.asks(t, "ann", open, "bob", "seen")
		requireNext(t, s, "1 seen")
		h.open(t, intent, "another") // the rules change, but the agent gains nothing
		_, err = h.channels.AddChannelMembers(asOperator(), &openintentv1.AddChannelMembersRequest{
			ChannelId: made.GetId(), Members: []string{"bob"},
		})
		require.NoError(t, err)
		requireNext(t, s, "1+ behind")
		h.open(t, intent, "yet another")
		h.send(t, "ann", open, "bob", "two")
		requireNext(t, s, "2 two")
	})
}

// When an agent loses access to an intent, it receives nothing more from it, and still receives everything from other intents.
func TestAgentScopePassesOverWhatIsClosedToIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		closed, stays := h.intent(t), h.intent(t)
		away, talk := h.open(t, closed, "away"), h.open(t, stays, "talk")
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		h.send(t, "ann", away, "bob", "one")
		requireNext(t, s, "1 one")
		h.admit(t, closed, "ann")
		h.send(t, "ann", talk, "bob", "two")
		requireNext(t, s, "2 two")
		again := h.follow(t, "bob", ptr(int64(0)))
		requireNext(t, again, "2 two", "2 caught up")
	})
}

func TestAgentScopeReadsAgainWhatWaitedForASlowClient(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		h.register(t, "bob", "smith")
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		s.cancel()
		for i := range 3 {
			h.send(t, "ann", channel, "role:smith", strconv.Itoa(i))
		}
		h.send(t, "ann", channel, "bob", "direct")
		resumed := h.follow(t, "bob", ptr(int64(0)))
		eventually(t, func() bool { return h.rows(t, "subscription_deliveries", "1 = 1") == 4 }, "")
		// The stream has read all four and waits for its client to receive the first.
		requireNext(t, resumed, "1 0")
		h.register(t, "bob", "cook")
		h.clock.Advance(2 * delivering.FreshFor)
		for d := toldOwn(resumed.next(t)); d != "4 direct"; d = toldOwn(resumed.next(t)) {
			require.Equal(t, "2 1", d, "it delivers only what it was already sending")
		}
	})
}

// The streams of an agent on several replicas are cursors over one log. Each delivers every number once, and all deliver the
// same numbers.
func TestReplicasShareAnAgentsLog(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, restless)
	replicas := []rooms{h.rooms, h.replica(t, restless), h.replica(t, restless)}
	var channelIDs []string
	for range 3 {
		channelIDs = append(channelIDs, h.open(t, h.intent(t), "talk"))
	}
	var streams []*stream[wireOwn]
	for _, r := range replicas {
		s := r.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		streams = append(streams, s)
	}
	const count = 60
	go func() {
		for i := range count {
			r := replicas[i%len(replicas)]
			r.sendAside(t, "ann", channelIDs[i%len(channelIDs)], "bob", strconv.Itoa(i))
		}
	}()
	received := make([][]string, len(streams))
	for i := range count {
		for at, s := range streams {
			d := s.next(t)
			require.Equal(t, int64(i+1), d.GetPosition())
			received[at] = append(received[at], toldOwn(d))
		}
	}
	for _, other := range received[1:] {
		require.Equal(t, received[0], other)
	}
	require.Equal(t, count, h.rows(t, "subscription_deliveries", "1 = 1"))
	require.Equal(t, count, h.rows(t,
		"(SELECT DISTINCT intent_no, position FROM subscription_deliveries) AS places", "1 = 1"), "no place has two numbers")
}

func TestAgentsLogIsSwept(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		s := h.follow(t, "bob", nil)
		requireNext(t, s, "0 caught up")
		h.send(t, "ann", channel, "bob", "old")
		requireNext(t, s, "1 old")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		h.send(t, "ann", channel, "bob", "kept")
		requireNext(t, s, "2 kept")
		require.Equal(t, []string{"1:kept"}, described(h.fetch(t, sub)))
		h.clock.Advance(logKept + time.Second)
		h.send(t, "ann", channel, "bob", "new")
		requireNext(t, s, "3 new")
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "subscription_deliveries", "due_at IS NULL"))
		require.Equal(t, []string{"1:kept", "2:new"}, described(h.fetch(t, sub)), "what waits for a subscription's agent is kept")
		requireNext(t, h.follow(t, "bob", ptr(int64(0))), "3 new", "3 caught up")
	})
}

// When an agent deregisters, its subscriptions end and its own log goes on, because it has no other if it comes back.
func TestAnAgentsOwnLogOutlivesItsRegistration(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "smith")
		own := h.ownLog(t, "bob")
		h.subscribe(t, "bob", &createInput{})
		h.deregister(t, "bob")
		require.Equal(t, 1, h.rows(t, "subscriptions", "ended_at IS NOT NULL"))
		require.Equal(t, 1, h.rows(t, "subscriptions", "ended_at IS NULL AND subscription_no = ?", own.No))
	})
}
