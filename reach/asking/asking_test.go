package asking_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/reach"
	"openintent/reach/asking"
	"openintent/tasks"
)

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves.
type house struct {
	*asking.Service
	clock    *databasetest.Clock
	intents  *intents.Service
	agents   *agents.Service
	channels *channels.Service
	here     *reach.Here
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			h := &house{clock: databasetest.NewClock()}
			db := databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine), Clock: h.clock.Now})
			h.here = reach.New(reach.Config{DB: db})
			h.intents = intents.New(intents.Config{DB: db})
			h.agents = agents.New(agents.Config{DB: db, Reach: h.here})
			jobs := tasks.New(tasks.Config{DB: db, Intents: h.intents})
			h.channels = channels.New(channels.Config{DB: db, Intents: h.intents, Tasks: jobs})
			talk := messaging.New(messaging.Config{
				DB: db, Intents: h.intents, Agents: h.agents, Channels: h.channels, LookAgain: time.Hour, Reach: h.here,
			})
			talk.Start()
			t.Cleanup(talk.Stop)
			h.Service = asking.New(asking.Config{DB: db, Here: h.here, Intents: h.intents, Messaging: talk})
			run(t, h)
		})
	}
}

func as(agent string, scope *caller.Scope) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key-" + agent, Scope: scope, IsOperator: agent == caller.Operator})
}

// knows reports whether a caller gets the reach of an agent. Otherwise it must get the refusal that everybody gets.
func (h *house) knows(ctx context.Context, t *testing.T, agent string) bool {
	t.Helper()
	found, err := h.GetReach(ctx, &openintentv1.GetReachRequest{AgentId: agent})
	if err != nil {
		require.ErrorIs(t, err, agents.ErrNotFound)
		return false
	}
	require.Equal(t, agent, found.GetAgentId())
	return true
}

// Whoever may read an agent's record may know its reach. Of an agent without a record only those may that share a list of members with it,
// as long as both are members.
func TestWhoMayKnowHowAnAgentIsReached(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		intent, err := h.intents.CreateIntent(as("alice", nil), &openintentv1.CreateIntentRequest{Title: "Reach"})
		require.NoError(t, err)
		channel := func(name string, members ...string) string {
			made, err := h.channels.CreateChannel(as("alice", nil), &openintentv1.CreateChannelRequest{
				IntentId: intent.GetId(), Name: name, Members: members,
				MemberPolicy: openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(),
			})
			require.NoError(t, err)
			return made.GetId()
		}
		shared := channel("shared", "alice", "data", "bob")
		channel("apart", "carol")
		for _, name := range []string{"registered", "leaver"} {
			_, err := h.agents.RegisterAgent(as(name, nil), &openintentv1.RegisterAgentRequest{AgentId: &name})
			require.NoError(t, err)
		}
		h.here.Of("data").Note("data", h.here.Now())

		for _, name := range []string{"data", "bob", "alice", caller.Operator} {
			require.True(t, h.knows(as(name, nil), t, "data"), name)
		}
		require.False(t, h.knows(as("carol", nil), t, "data"))
		require.False(t, h.knows(as("carol", nil), t, "never"), "what was never here is refused in the same words")
		require.True(t, h.knows(as("carol", nil), t, "registered"))

		only := &caller.Scope{Channels: []string{shared}}
		require.True(t, h.knows(as("bob", only), t, "data"), "the channel is its own")
		require.False(t, h.knows(as("bob", only), t, "registered"), "a channel's key does not show records")
		require.False(t, h.knows(as("bob", &caller.Scope{Channels: []string{"chan_other"}}), t, "data"))
		require.True(t, h.knows(as("bob", &caller.Scope{Intents: []string{intent.GetId()}}), t, "data"))

		h.clock.Advance(time.Second)
		_, err = h.channels.RemoveChannelMember(as("alice", nil), &openintentv1.RemoveChannelMemberRequest{ChannelId: shared, AgentId: "bob"})
		require.NoError(t, err)
		require.False(t, h.knows(as("bob", nil), t, "data"), "bob has left")
		_, err = h.channels.AddChannelMembers(as("alice", nil), &openintentv1.AddChannelMembersRequest{ChannelId: shared, Members: []string{"leaver"}})
		require.NoError(t, err)
		require.True(t, h.knows(as("leaver", nil), t, "data"))
		h.clock.Advance(time.Second)
		_, err = h.agents.DeregisterAgent(as("leaver", nil), &openintentv1.DeregisterAgentRequest{AgentId: "leaver"})
		require.NoError(t, err)
		require.False(t, h.knows(as("leaver", nil), t, "data"), "a departure ends memberships")
		require.NoError(t, h.DB.Write(t.Context(), func(tx *database.Tx) error { // as long as nobody has removed their rows
			return tx.Pipeline(database.Statement{
				SQL: "INSERT INTO members (intent_no, channel_no, agent_id, place, added_at)" +
					" SELECT intent_no, channel_no, 'leaver', 99, created_at FROM channels WHERE id = ?",
				Args: []any{shared},
			})
		}))
		require.False(t, h.knows(as("leaver", nil), t, "data"), "the row is from before the departure")
		_, err = h.channels.DeleteChannel(as("alice", nil), &openintentv1.DeleteChannelRequest{ChannelId: shared})
		require.NoError(t, err)
		require.False(t, h.knows(as("alice", nil), t, "data"))
	})
}

// What waits is for the agent itself and the operator.
func TestWhoSeesWhatWaits(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, name := range []string{"data", "bob"} {
			_, err := h.agents.RegisterAgent(as(name, nil), &openintentv1.RegisterAgentRequest{AgentId: proto.String(name)})
			require.NoError(t, err)
		}
		for name, sees := range map[string]bool{"data": true, caller.Operator: true, "bob": false} {
			found, err := h.GetReach(as(name, nil), &openintentv1.GetReachRequest{AgentId: "data"})
			require.NoError(t, err)
			require.Equal(t, sees, found.GetWaiting() != nil, name)
		}
		_, err := h.GetReach(as("bob", nil), &openintentv1.GetReachRequest{AgentId: "a\x00b"})
		require.Error(t, err)
	})
}

// An intent's administrator may probe its participants. An agent is none because somebody writes to it there.
func TestAMessageToAnAgentLetsNobodyProbeIt(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.agents.RegisterAgent(as("bob", nil), &openintentv1.RegisterAgentRequest{AgentId: proto.String("bob")})
		require.NoError(t, err)
		intent, err := h.intents.CreateIntent(as("carol", nil), &openintentv1.CreateIntentRequest{Title: "Reach"})
		require.NoError(t, err)
		channel, err := h.channels.CreateChannel(as("carol", nil), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
		require.NoError(t, err)
		send := func(from, to string) {
			_, err := h.Messaging.SendMessage(as(from, nil), &openintentv1.SendMessageRequest{ChannelId: channel.GetId(), To: &to})
			require.NoError(t, err)
		}
		send("carol", "bob")
		_, err = h.ProbeAgent(as("carol", nil), &openintentv1.ProbeAgentRequest{AgentId: "bob"})
		require.Equal(t, "NOT_AGENT_OWNER", fault.From(err).Reason)
		send("bob", "carol")
		_, err = h.ProbeAgent(as("carol", nil), &openintentv1.ProbeAgentRequest{AgentId: "bob"})
		require.NoError(t, err)
	})
}
