package conversation

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/messaging"
	"openintent/messaging/message"
	"openintent/tasks"
)

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves, and one channel.
type house struct {
	url   string
	clock *databasetest.Clock
	rooms
	intent, channel string
}

// rooms are the domain's services on one opened database, as one replica has them.
type rooms struct {
	*Service
	db       *database.DB
	intents  *intents.Service
	agents   *agents.Service
	channels *channels.Service
	talk     *messaging.Service
}

func eachHouse(t *testing.T, run func(t *testing.T, h *house)) {
	t.Helper()
	eachFaultyHouse(t, func(t *testing.T, h *house, _ *commits) { run(t, h) })
}

// eachFaultyHouse is eachHouse with a database whose commits can lose their acknowledgements.
func eachFaultyHouse(t *testing.T, run func(t *testing.T, h *house, after *commits)) {
	t.Helper()
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			after := &commits{}
			h := &house{url: databasetest.URL(t, engine), clock: databasetest.NewClock()}
			h.rooms = h.replica(t, after.hooks())
			h.open(t)
			run(t, h, after)
		})
	}
}

// replica opens the house's database once more, where that is possible, and builds rooms on it.
func (h *house) replica(t *testing.T, hooks database.Hooks) rooms {
	t.Helper()
	db := databasetest.Open(t, database.Config{URL: h.url, Clock: h.clock.Now, Hooks: hooks})
	r := rooms{db: db, intents: intents.New(intents.Config{DB: db}), agents: agents.New(agents.Config{DB: db})}
	work := tasks.New(tasks.Config{DB: db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: db, Intents: r.intents, Tasks: work})
	r.talk = messaging.New(messaging.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, LookAgain: time.Hour, Notifications: true,
	})
	r.Service = New(Config{DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, Messaging: r.talk})
	r.talk.Start()
	t.Cleanup(r.talk.Stop)
	return r
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

// open makes an intent and a channel that everybody takes part in.
func (h *house) open(t require.TestingT) {
	intent, err := h.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := h.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "desk"})
	require.NoError(t, err)
	h.intent, h.channel = intent.GetId(), channel.GetId()
}

// hire registers agents with the role of a worker.
func (h *house) hire(t *testing.T, names ...string) {
	t.Helper()
	for _, name := range names {
		role := "worker"
		_, err := h.agents.UpsertAgent(as(name), &openintentv1.RegisterAgentRequest{AgentId: &name, RoleId: &role})
		require.NoError(t, err)
	}
	h.clock.Advance(time.Millisecond)
}

func one() *structpb.Value { return structpb.NewStringValue("one") }

func quorum(n float64) *structpb.Value {
	return structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{"quorum": structpb.NewNumberValue(n)}})
}

// asks sends a request to the workers, without a deadline.
func (h *house) asks(t *testing.T, collect *structpb.Value) string {
	t.Helper()
	return h.asksWithin(t, collect, 0)
}

// asksBob sends a request to bob.
func (h *house) asksBob(t *testing.T, collect *structpb.Value) string {
	t.Helper()
	bob, request := "bob", openintentv1.MessageType_MESSAGE_TYPE_REQUEST
	sent, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{
		ChannelId: h.channel, To: &bob, MessageType: &request, Collect: collect,
	})
	require.NoError(t, err)
	return sent.GetId()
}

// asksWithin sends a request to the workers that expires after a time.
func (h *house) asksWithin(t *testing.T, collect *structpb.Value, within time.Duration) string {
	t.Helper()
	target, request := "role:worker", openintentv1.MessageType_MESSAGE_TYPE_REQUEST
	draft := &openintentv1.SendMessageRequest{ChannelId: h.channel, To: &target, MessageType: &request, Collect: collect}
	if within > 0 {
		draft.ExpiresAt = timestamppb.New(h.clock.Now().Add(within))
	}
	sent, err := h.talk.SendMessage(as("alice"), draft)
	require.NoError(t, err)
	return sent.GetId()
}

func (h *house) claim(agent, messageID string, fence int64) (*openintentv1.Claim, error) {
	req := &openintentv1.ClaimMessageRequest{ChannelId: h.channel, MessageId: messageID}
	if fence != 0 {
		req.Fence = &fence
	}
	return h.ClaimMessage(as(agent), req)
}

func (h *house) claims(t *testing.T, agent, messageID string) *openintentv1.Claim {
	t.Helper()
	got, err := h.claim(agent, messageID, 0)
	require.NoError(t, err)
	return got
}

func (h *house) release(agent, messageID string, fence int64) error {
	_, err := h.ReleaseClaim(as(agent), &openintentv1.ReleaseClaimRequest{ChannelId: h.channel, MessageId: messageID, Fence: fence})
	return err
}

func (h *house) answer(agent, messageID string, fence int64) error {
	req := &openintentv1.ReplyMessageRequest{ChannelId: h.channel, MessageId: messageID}
	if fence != 0 {
		req.Fence = &fence
	}
	_, err := h.talk.ReplyMessage(as(agent), req)
	return err
}

// heard returns what annotations say about claims on a message: type, agent and reason, in order.
func (h *house) heard(t *testing.T, messageID string) (lines []string) {
	t.Helper()
	err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT a.annotation_type, a.agent_id, a.details FROM annotations a" +
				" JOIN messages m ON m.intent_no = a.intent_no AND m.position = a.message_position WHERE m.id = ? ORDER BY a.position",
			Args: []any{messageID},
			Scan: func(row database.Row) error {
				var kind, agent string
				var text []byte
				if err := row.Scan(&kind, &agent, &text); err != nil {
					return err
				}
				details, err := message.DecodeDetails(text)
				line := kind + " " + agent
				if details.Reason != "" {
					line += " " + details.Reason
				}
				require.Equal(t, []string{agent}, details.For)
				require.NotContains(t, string(text), "ence", "nobody is told a fence")
				lines = append(lines, line)
				return err
			},
		})
	})
	require.NoError(t, err)
	return lines
}

// rows counts the claims in the store.
func (h *house) rows(t *testing.T) (count int) {
	t.Helper()
	err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&count, "SELECT count(*) FROM claims"))
	})
	require.NoError(t, err)
	return count
}

func (h *house) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, h.SweepClaims(context.Background()))
}
