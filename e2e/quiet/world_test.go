package quiet

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"
	"pgregory.net/rapid"

	"openintent/e2e/replica"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/fault"
)

// These are shorter names for types of the contract.
type (
	message = openintentv1.Message
	draft   = openintentv1.SendMessageRequest
)

// agents are those who talk. The first two have subscriptions.
var agents = []string{"bob", "carol", "alice", "dave"}

// roles are the agents' roles.
var roles = map[string]string{"bob": "reviewer", "carol": "reviewer", "dave": "builder"}

// said is a message as the test knows it.
type said struct {
	*message
	obliges bool
	// at is when it was stored, or edited for the last time.
	at time.Time
}

// world is one random conversation, on all servers of a database.
type world struct {
	replicas    []*replica.Replica
	reached     map[string]int
	now         time.Time
	channels    []string
	intents     []string
	subscribers []*subscriber
	messages    []*said
	known       map[string]*said
	// fences are those of the claims that were made, by agent and message.
	fences map[[2]string]int64
	// cause is what happened last.
	cause cause
	calls int
}

// cause is an act that may change what a message asks.
type cause struct{ act, agent, messageID string }

// newWorld begins a conversation. The agents have taken part in both intents for some time when the subscriptions begin.
func newWorld(t *rapid.T, replicas []*replica.Replica, reached map[string]int) *world {
	w := &world{
		replicas: replicas, reached: reached, now: replicas[0].Clock.Now(), known: make(map[string]*said), fences: make(map[[2]string]int64),
	}
	r := w.any()
	for _, budget := range []int64{2, 3, 20} {
		if len(w.channels) != 1 { // the first two channels are in one intent
			intent, err := r.Intents.CreateIntent(r.As("creator"), &openintentv1.CreateIntentRequest{
				Title: "A goal", Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
			})
			require.NoError(t, err)
			w.intents = append(w.intents, intent.GetId())
		}
		channel, err := r.Channels.CreateChannel(r.As("creator"), &openintentv1.CreateChannelRequest{
			IntentId: w.intents[len(w.intents)-1], Name: "talk " + string(rune('a'+len(w.channels))),
			Options: &openintentv1.ChannelOptions{TurnBudget: &budget},
		})
		require.NoError(t, err)
		w.channels = append(w.channels, channel.GetId())
		for _, agent := range agents {
			_, err := r.Messaging.SendMessage(r.As(agent), &draft{ChannelId: channel.GetId(), Payload: content("hello")})
			require.NoError(t, err)
		}
	}
	w.set(w.now.Add(time.Hour)) // so that no brake holds
	w.subscribe(t, "bob", 4)
	w.subscribe(t, "carol", 1)
	return w
}

// register gives all agents records that need no heartbeat.
func register(t *testing.T, r *replica.Replica) {
	t.Helper()
	for _, agent := range agents {
		request := &openintentv1.RegisterAgentRequest{AgentId: &agent, HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: new(int32(5e8)), UnhealthyAfterSeconds: new(int32(1e9)), DeadAfterSeconds: new(int32(2e9)),
		}}
		if role, holds := roles[agent]; holds {
			request.RoleId = &role
		}
		_, err := r.Agents.UpsertAgent(r.As(agent), request)
		require.NoError(t, err)
	}
}

// any returns the servers in turn.
func (w *world) any() *replica.Replica {
	w.calls++
	return w.replicas[w.calls%len(w.replicas)]
}

// set sets the clocks of all servers.
func (w *world) set(now time.Time) {
	w.now = now
	for _, r := range w.replicas {
		r.Clock.Set(now)
	}
}

func asOperator(r *replica.Replica) context.Context {
	return caller.NewContext(r.Life, caller.Caller{Agent: caller.Operator, IsOperator: true, KeyID: "key"})
}

func content(text string) *structpb.Struct {
	return &structpb.Struct{Fields: map[string]*structpb.Value{"text": structpb.NewStringValue(text)}}
}

// accepted reports whether the server did what was drawn. It may refuse that only for what it knows of the message.
func accepted(t *rapid.T, err error) bool {
	if err == nil {
		return true
	}
	var refusal *fault.Fault
	require.ErrorAs(t, err, &refusal)
	require.NotContains(t, []fault.Kind{fault.Internal, fault.Unavailable, fault.Unauthenticated, fault.Quota}, refusal.Kind, "%v", err)
	return false
}

// note adds a message that was stored.
func (w *world) note(m *message, obliges bool) {
	if w.known[m.GetId()] == nil {
		one := &said{message: m, obliges: obliges, at: m.GetCreatedAt().AsTime()}
		w.messages, w.known[m.GetId()] = append(w.messages, one), one
	}
}
