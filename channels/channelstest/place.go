// Package channelstest sets up the rooms up to channels on a database, for tests of the rooms above them.
package channelstest

import (
	"context"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/tasks"
)

// Creator is the agent that creates the intents and channels of a Place.
const Creator = "creator"

// Place is a fresh database with the rooms up to channels, and a clock that the test moves.
type Place struct {
	Clock    *databasetest.Clock
	DB       *database.DB
	Intents  *intents.Service
	Agents   *agents.Service
	Tasks    *tasks.Service
	Channels *channels.Service
}

// Each runs a test in a Place on each engine, in parallel with other tests.
func Each(t *testing.T, run func(t *testing.T, p *Place)) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			run(t, New(t, engine))
		})
	}
}

// New makes a Place on a database of the engine.
func New(t *testing.T, engine database.Engine) *Place {
	p := &Place{Clock: databasetest.NewClock()}
	logger := slog.New(slog.DiscardHandler)
	p.DB = databasetest.Open(t, database.Config{URL: databasetest.URL(t, engine), Clock: p.Clock.Now})
	p.Intents = intents.New(intents.Config{DB: p.DB, Logger: logger})
	p.Agents = agents.New(agents.Config{DB: p.DB, Logger: logger})
	p.Tasks = tasks.New(tasks.Config{DB: p.DB, Logger: logger, Intents: p.Intents})
	p.Channels = channels.New(channels.Config{DB: p.DB, Logger: logger, Intents: p.Intents, Tasks: p.Tasks})
	return p
}

// Intent makes an active intent without access control.
func (p *Place) Intent(t require.TestingT) string {
	active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
	intent, err := p.Intents.CreateIntent(as(Creator), &openintentv1.CreateIntentRequest{Title: "A goal", Status: &active})
	require.NoError(t, err)
	return intent.GetId()
}

// Close closes an intent to everyone except the given agents, which get read access.
func (p *Place) Close(t require.TestingT, intentID string, agentIDs ...string) {
	entries := make([]*openintentv1.AccessEntryInput, len(agentIDs))
	for i, agent := range agentIDs {
		entries[i] = &openintentv1.AccessEntryInput{PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_READ}
	}
	_, err := p.Intents.SetAccessControl(as(Creator), &openintentv1.SetAccessControlRequest{
		IntentId: intentID, DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED, Entries: entries,
	})
	require.NoError(t, err)
}

// Channel creates a channel, on a new intent unless the request names one, and returns its id and its key.
func (p *Place) Channel(t require.TestingT, req *openintentv1.CreateChannelRequest) (id string, key channels.Key) {
	if req.IntentId == "" {
		req.IntentId = p.Intent(t)
	}
	if req.Name == "" {
		req.Name = "talk"
	}
	channel, err := p.Channels.CreateChannel(as(Creator), req)
	require.NoError(t, err)
	require.NoError(t, p.DB.Read(context.Background(), func(tx *database.Tx) error {
		key, err = p.Channels.Locate(tx, channel.GetId())
		return err
	}))
	return channel.GetId(), key
}

// Explicit creates a channel for the given members on a new intent.
func (p *Place) Explicit(t require.TestingT, members ...string) (id string, key channels.Key) {
	policy := openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT
	return p.Channel(t, &openintentv1.CreateChannelRequest{MemberPolicy: &policy, Members: members})
}

// AddMember adds an agent to a channel.
func (p *Place) AddMember(t require.TestingT, channelID, agent string) {
	_, err := p.Channels.AddChannelMembers(as(Creator), &openintentv1.AddChannelMembersRequest{
		ChannelId: channelID, Members: []string{agent},
	})
	require.NoError(t, err)
}

// Register registers an agent with a role.
func (p *Place) Register(t require.TestingT, agent, role string) {
	_, err := p.Agents.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{AgentId: &agent, RoleId: &role})
	require.NoError(t, err)
}

// as returns a context in which the agent calls.
func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}
