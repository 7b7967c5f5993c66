package search

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/agents"
	"openintent/channels"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/messaging"
	"openintent/tasks"
)

// house consists of the rooms up to this one on a fresh database, with a clock that the test moves, and one intent with one channel.
type house struct {
	url    string
	now    func() time.Time
	clock  *databasetest.Clock
	faults databasetest.CommitFaults
	rooms
	intent  *openintentv1.Intent
	channel *openintentv1.Channel
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
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			clock := databasetest.NewClock()
			h := newHouse(t, engine, clock.Now)
			h.clock = clock
			run(t, h)
		})
	}
}

func newHouse(tb testing.TB, engine database.Engine, now func() time.Time) *house {
	tb.Helper()
	h := &house{url: databasetest.URL(tb, engine), now: now}
	h.rooms = h.replica(tb, false)
	h.intent = h.newIntent(tb)
	h.channel = h.newChannel(tb, &openintentv1.CreateChannelRequest{Name: "talk"})
	return h
}

// replica opens the house's database once more, where that is possible, and builds rooms on it.
func (h *house) replica(tb testing.TB, off bool) rooms {
	tb.Helper()
	db := databasetest.Open(tb, database.Config{URL: h.url, Clock: h.now, Hooks: h.faults.Hooks()})
	r := rooms{db: db, intents: intents.New(intents.Config{DB: db}), agents: agents.New(agents.Config{DB: db})}
	work := tasks.New(tasks.Config{DB: db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: db, Intents: r.intents, Tasks: work})
	r.talk = messaging.New(messaging.Config{
		DB: db, Intents: r.intents, Agents: r.agents, Channels: r.channels, LookAgain: time.Hour, Notifications: true,
	})
	r.Service = New(Config{DB: db, Intents: r.intents, Channels: r.channels, Messaging: r.talk, Off: off})
	r.talk.Start()
	tb.Cleanup(r.talk.Stop)
	return r
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{
		Agent: agent, KeyID: "key-" + agent, KeyAgents: []string{agent}, KeyRoles: []string{caller.AnyRole},
	})
}

func asOperator() context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

// newIntent makes an intent that the agent creator owns. It is open to everybody as long as nobody restricts it.
func (h *house) newIntent(tb testing.TB) *openintentv1.Intent {
	tb.Helper()
	intent, err := h.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: pointer(openintentv1.IntentStatus_INTENT_STATUS_ACTIVE),
	})
	require.NoError(tb, err)
	return intent
}

func (h *house) newChannel(tb testing.TB, req *openintentv1.CreateChannelRequest) *openintentv1.Channel {
	tb.Helper()
	if req.IntentId == "" {
		req.IntentId = h.intent.GetId()
	}
	channel, err := h.channels.CreateChannel(as("creator"), req)
	require.NoError(tb, err)
	return channel
}

// say sends a notify in the house's channel, to somebody or to everyone, with a text.
func (h *house) say(t *testing.T, agent, to, text string) *openintentv1.Message {
	t.Helper()
	return h.send(t, agent, &openintentv1.SendMessageRequest{To: &to, Payload: payload(t, map[string]any{"text": text})})
}

func (h *house) send(t *testing.T, agent string, req *openintentv1.SendMessageRequest) *openintentv1.Message {
	t.Helper()
	if req.ChannelId == "" {
		req.ChannelId = h.channel.GetId()
	}
	kind := openintentv1.MessageType_MESSAGE_TYPE_NOTIFY
	if to := req.GetTo(); to == "" || to == caller.Broadcast {
		kind = openintentv1.MessageType_MESSAGE_TYPE_BROADCAST
	}
	if req.MessageType == nil {
		req.MessageType = &kind
	}
	m, err := h.talk.SendMessage(as(agent), req)
	require.NoError(t, err)
	return m
}

func payload(tb testing.TB, fields map[string]any) *structpb.Struct {
	tb.Helper()
	object, err := structpb.NewStruct(fields)
	require.NoError(tb, err)
	return object
}

// index brings the index up to date. The first run may find that something was stored since the one before, and leave to the next one what
// nobody has searched.
func (r rooms) index(t *testing.T) {
	t.Helper()
	require.NoError(t, r.Index(context.Background()))
	require.NoError(t, r.Index(context.Background()))
}

// ids are those of the messages that an agent finds, by pages of two.
func (r rooms) ids(t *testing.T, ctx context.Context, req *openintentv1.SearchMessagesRequest) (ids []string) { //nolint:revive // t comes first in tests
	t.Helper()
	req.Limit = pointer(int32(2))
	for {
		page, err := r.SearchMessages(ctx, req)
		require.NoError(t, err)
		require.LessOrEqual(t, len(page.GetMessages()), 2)
		for _, found := range page.GetMessages() {
			ids = append(ids, found.GetMessage().GetId())
		}
		if page.NextCursor == nil {
			return ids
		}
		req.Cursor = page.NextCursor
	}
}

// finds requires that an agent finds these messages, the newest first, by a query.
func (h *house) finds(t *testing.T, agent, q string, messages ...*openintentv1.Message) {
	t.Helper()
	var wanted []string
	for _, m := range messages {
		wanted = append(wanted, m.GetId())
	}
	require.Equal(t, wanted, h.ids(t, as(agent), &openintentv1.SearchMessagesRequest{Q: q}), "%s looks for %s", agent, q)
}

// sayMany sends many messages, a multiple of 32.
func (h *house) sayMany(t *testing.T, count int, agent, to, text string) {
	t.Helper()
	said := payload(t, map[string]any{"text": text})
	var sending sync.WaitGroup
	for range 32 {
		sending.Go(func() {
			for range count / 32 {
				_, err := h.talk.SendMessage(as(agent), &openintentv1.SendMessageRequest{
					ChannelId: h.channel.GetId(), To: &to, MessageType: pointer(openintentv1.MessageType_MESSAGE_TYPE_NOTIFY), Payload: said,
				})
				assert.NoError(t, err)
			}
		})
	}
	sending.Wait()
}

// lose removes the newest message of the house's intent as if it had never been stored.
func (h *house) lose(t *testing.T, m *openintentv1.Message) {
	t.Helper()
	require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE intent_heads SET last_position = last_position - 1 WHERE intent_no = (SELECT intent_no FROM messages WHERE id = ?)",
			Args: []any{m.GetId()},
		}, database.Statement{SQL: "DELETE FROM messages WHERE id = ?", Args: []any{m.GetId()}})
	}))
}

// documents counts what the index has.
func (h *house) documents(t *testing.T) (count int) {
	t.Helper()
	require.NoError(t, h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValue(&count, "SELECT COUNT(*) FROM search_documents"))
	}))
	return count
}

func requireReason(t *testing.T, err error, kind fault.Kind, reason string) {
	t.Helper()
	require.Error(t, err)
	refusal := fault.From(err)
	require.Equal(t, reason, refusal.Reason, "%v", err)
	require.Equal(t, kind, refusal.Kind)
}

func pointer[T any](value T) *T { return &value }

func agentNo(i int) string { return fmt.Sprintf("agent-%d", i) }
