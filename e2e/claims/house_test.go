package claims

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/agents"
	"openintent/caller"
	"openintent/channels"
	"openintent/conversation"
	"openintent/database"
	"openintent/database/databasetest"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/messaging"
	"openintent/tasks"
)

// house is a database with one channel, and the replicas on it.
type house struct {
	replicas []*replica
	channel  string
}

// replica is the domain's services as one server has them, with a clock of its own and commits that may lose their acknowledgement.
type replica struct {
	db       *database.DB
	clock    *databasetest.Clock
	losses   atomic.Int64
	intents  *intents.Service
	agents   *agents.Service
	channels *channels.Service
	talk     *messaging.Service
	claims   *conversation.Service
}

func newHouse(t *testing.T, engine database.Engine) *house {
	t.Helper()
	h, url := &house{}, databasetest.URL(t, engine)
	count := 2
	if engine == database.SQLite {
		count = 1
	}
	for range count {
		h.replicas = append(h.replicas, newReplica(t, url))
	}
	r := h.replicas[0]
	intent, err := r.intents.CreateIntent(as("creator"), &openintentv1.CreateIntentRequest{
		Title: "T", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
	})
	require.NoError(t, err)
	channel, err := r.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "desk"})
	require.NoError(t, err)
	h.channel = channel.GetId()
	return h
}

func newReplica(t *testing.T, url string) *replica {
	r := &replica{clock: databasetest.NewClock()}
	r.db = databasetest.Open(t, database.Config{URL: url, Clock: r.clock.Now, Hooks: database.Hooks{
		AfterCommit: func(context.Context) error {
			if r.losses.Load() <= 0 || r.losses.Add(-1) < 0 {
				return nil
			}
			return errors.New("the acknowledgement is lost")
		},
	}})
	r.intents, r.agents = intents.New(intents.Config{DB: r.db}), agents.New(agents.Config{DB: r.db})
	work := tasks.New(tasks.Config{DB: r.db, Intents: r.intents})
	r.channels = channels.New(channels.Config{DB: r.db, Intents: r.intents, Tasks: work})
	r.talk = messaging.New(messaging.Config{DB: r.db, Intents: r.intents, Agents: r.agents, Channels: r.channels, LookAgain: time.Hour})
	r.claims = conversation.New(conversation.Config{DB: r.db, Intents: r.intents, Agents: r.agents, Messaging: r.talk})
	r.talk.Start()
	t.Cleanup(r.talk.Stop)
	return r
}

func as(agent string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{Agent: agent, KeyID: "key", KeyRoles: []string{caller.AnyRole}})
}

// revive registers an agent as a worker, or lets a dead one live again.
func (h *house) revive(t *testing.T, agent string) {
	t.Helper()
	role := "worker"
	_, err := h.replicas[0].agents.UpsertAgent(as(agent), &openintentv1.RegisterAgentRequest{AgentId: &agent, RoleId: &role})
	require.NoError(t, err)
}

// kill makes an agent dead, as missed heartbeats do.
func (h *house) kill(t *testing.T, agent string) {
	t.Helper()
	err := h.replicas[0].db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "UPDATE agents SET status = 'dead', version = version + 1 WHERE agent_id = ?",
			Args: []any{agent},
		})
	})
	require.NoError(t, err)
}

// ask sends the workers a request that takes so many answers and expires after a time.
func (h *house) ask(t *testing.T, wanted int, within time.Duration) string {
	t.Helper()
	collect := structpb.NewStringValue("one")
	if wanted > 1 {
		collect = structpb.NewStructValue(&structpb.Struct{Fields: map[string]*structpb.Value{
			"quorum": structpb.NewNumberValue(float64(wanted)),
		}})
	}
	target, request, r := "role:worker", openintentv1.MessageType_MESSAGE_TYPE_REQUEST, h.replicas[0]
	sent, err := r.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{
		ChannelId: h.channel, To: &target, MessageType: &request, Collect: collect,
		ExpiresAt: timestamppb.New(r.clock.Now().Add(within)),
	})
	require.NoError(t, err)
	return sent.GetId()
}

// sweep lets a replica store what time has decided.
func (r *replica) sweep(t *testing.T) {
	t.Helper()
	require.NoError(t, r.talk.Sweep(context.Background()))
	require.NoError(t, r.claims.SweepClaims(context.Background()))
}

// history reads what the log says of a request. The log tells no fences, so those of the claims come from the claimants, in the
// order in which they got them, and those of the answers are in the answers.
func (h *house) history(t *testing.T, requestID string, wanted int, fences map[string][]int64) History {
	t.Helper()
	found := History{Wanted: wanted}
	err := h.replicas[0].db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(
			database.Statement{
				SQL: `SELECT e.kind, e.agent, e.details FROM (
					SELECT a.position AS position, a.annotation_type AS kind, a.agent_id AS agent, a.details AS details FROM annotations a
					JOIN messages q ON q.intent_no = a.intent_no AND q.position = a.message_position WHERE q.id = ?
					UNION ALL SELECT m.position, 'answered', m.sender, m.payload FROM messages m WHERE m.correlation_id = ?) AS e
					ORDER BY e.position`,
				Args: []any{requestID, requestID},
				Scan: func(row database.Row) error { return found.scan(row, fences) },
			},
			database.Statement{
				SQL: "SELECT m.ended_at IS NOT NULL FROM messages m WHERE m.id = ?", Args: []any{requestID},
				Scan: func(row database.Row) error { return row.Scan(&found.Expired) },
			})
	})
	require.NoError(t, err)
	return found
}

func (h *History) scan(row database.Row, fences map[string][]int64) error {
	var kind, agent string
	var text []byte
	if err := row.Scan(&kind, &agent, &text); err != nil {
		return err
	}
	var details struct {
		Reason string
		Fence  int64 `json:"fence,string"`
	}
	if err := json.Unmarshal(text, &details); err != nil {
		return err
	}
	entry := Entry{Agent: agent, Fence: details.Fence, Reason: details.Reason}
	switch kind {
	case "message_claimed":
		entry.Kind = Claimed
		if len(fences[agent]) == 0 {
			return fmt.Errorf("%s does not know of its claim", agent)
		}
		entry.Fence, fences[agent] = fences[agent][0], fences[agent][1:]
	case "claim_released":
		entry.Kind = Released
	case "answered":
		entry.Kind = Answered
	}
	h.Entries = append(h.Entries, entry)
	return nil
}
