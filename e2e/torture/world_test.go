package torture

import (
	"context"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// world contains everything that the agents use: replicas, intents, channels and rights.
type world struct {
	*recorder
	t        *testing.T
	seed     uint64
	began    time.Time
	replicas []*harness.Server
	lines    [][]*harness.Line // by replica
	// plain lets agents use only what every release has.
	plain bool

	channels []place
	// intents contains the ids of the plain intent and of the restricted one.
	intents [2]string

	answerers answering
	senders   sync.WaitGroup
	stopping  chan struct{} // closed when senders must finish
	receivers sync.WaitGroup
	accepted  sync.WaitGroup // of receivers
}

// place is a channel that agents send to.
type place struct {
	id, intent, name string
	members          []string // the agents that may send there
}

// These are the agents that only receive. Anna is everywhere. Bert also has a role. Carl is not a member of explicit channels.
// Dora may see only what is open to all, and takes part in nothing. Mona's membership and role come and go.
const (
	anna, bert, carl, dora, mona = "anna", "bert", "carl", "dora", "mona"
	// rude sends to bert, who refuses it now and then.
	rude = "rude"

	solvers = "solver" // the role of the agents that answer together
	guards  = "guard"  // the role that bert always has, and mona sometimes
)

const (
	lineCount   = 4
	senderCount = 5
	askerCount  = 4
)

func senderNames() []string { return numbered("sender", senderCount) }
func askerNames() []string  { return numbered("asker", askerCount) }
func solverNames() []string { return numbered("solver", 2) }

func numbered(name string, count int) (names []string) {
	for i := range count {
		names = append(names, fmt.Sprintf("%s-%d", name, i+1))
	}
	return names
}

const answerer = "answerer"

func participants() []string {
	return slices.Concat([]string{anna, bert, carl, rude, answerer}, senderNames(), askerNames(), solverNames(), comerNames())
}

func members() []string {
	return slices.Concat([]string{anna, bert, answerer}, senderNames(), askerNames(), solverNames())
}

func newWorld(t *testing.T, seed uint64, replicas []*harness.Server) *world {
	w := &world{recorder: newRecorder(), t: t, seed: seed, began: time.Now(), replicas: replicas, stopping: make(chan struct{})}
	w.answerers.known = make(map[string]bool)
	for _, replica := range replicas {
		var lines []*harness.Line
		for range lineCount {
			lines = append(lines, replica.Line(t))
		}
		w.lines = append(w.lines, lines)
	}
	w.build(replicas[0].Operator())
	return w
}

// build creates the intents, channels and agents, and records which agent has which right.
func (w *world) build(operator *harness.Caller) {
	ctx := w.t.Context()
	for i, policy := range []openintentv1.AccessPolicy{
		openintentv1.AccessPolicy_ACCESS_POLICY_OPEN, openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
	} {
		intent, err := operator.Intents.CreateIntent(ctx, &openintentv1.CreateIntentRequest{Title: "torture"})
		require.NoError(w.t, err)
		w.intents[i] = intent.GetId()
		restricted := policy == openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED
		w.history.Intents[intent.GetId()] = Intent{Restricted: restricted}
		var entries []*openintentv1.AccessEntryInput
		for _, agent := range participants() {
			entries = append(entries, &openintentv1.AccessEntryInput{
				PrincipalId: agent, Permission: openintentv1.Permission_PERMISSION_WRITE,
			})
			w.hold(agent, Access, intent.GetId())
			w.hold(agent, Part, intent.GetId())
		}
		_, err = operator.Access.SetAccessControl(ctx, &openintentv1.SetAccessControlRequest{
			IntentId: intent.GetId(), DefaultPolicy: policy, Entries: entries,
		})
		require.NoError(w.t, err)
		w.open(operator, intent.GetId(), "open", false, false)
		w.open(operator, intent.GetId(), "audited", false, true)
		w.open(operator, intent.GetId(), "explicit", true, restricted)
	}
	for _, agent := range append(solverNames(), bert, mona) {
		role := solvers
		if agent == bert {
			role = guards
		}
		if agent == mona {
			role = "none"
		}
		w.register(ctx, operator, agent, role)
		w.hold(agent, Role, role)
	}
}

// hold records a right that an agent has from the beginning to the end.
func (w *world) hold(agent string, kind RightKind, of string) {
	w.history.Rights = append(w.history.Rights, Right{Agent: agent, Kind: kind, Of: of})
}

func (w *world) register(ctx context.Context, operator *harness.Caller, agent, role string) {
	_, err := operator.Agents.UpsertAgent(ctx, registration(agent, role))
	require.NoError(w.t, err)
}

// registration returns a request that registers an agent without expecting heartbeats.
func registration(agent, role string) *openintentv1.RegisterAgentRequest {
	return &openintentv1.RegisterAgentRequest{
		AgentId: &agent, RoleId: &role,
		HeartbeatConfig: &openintentv1.HeartbeatConfig{
			IntervalSeconds: proto.Int32(10_000), UnhealthyAfterSeconds: proto.Int32(100_000), DeadAfterSeconds: proto.Int32(1_000_000),
		},
	}
}

func (w *world) open(operator *harness.Caller, intent, name string, explicit, audited bool) {
	request := &openintentv1.CreateChannelRequest{
		IntentId: intent, Name: name,
		Options: &openintentv1.ChannelOptions{
			Audit: &audited, MaxMessages: proto.Int64(10_000_000), ConversationBudget: proto.Int64(0), // they talk by chance, and for long
		},
	}
	if explicit {
		request.MemberPolicy, request.Members = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum(), members()
	}
	channel, err := operator.Channels.CreateChannel(w.t.Context(), request)
	require.NoError(w.t, err)
	w.history.Channels[channel.GetId()] = Channel{Intent: intent, Explicit: explicit, Audited: audited}
	at := place{id: channel.GetId(), intent: intent, name: name, members: participants()}
	if explicit {
		at.members = members()
		for _, agent := range members() {
			w.hold(agent, Membership, channel.GetId())
		}
	}
	w.channels = append(w.channels, at)
}

// channel returns a channel of an intent by its name.
func (w *world) channel(intent, name string) place {
	index := slices.IndexFunc(w.channels, func(p place) bool { return p.intent == intent && p.name == name })
	return w.channels[index]
}

// intentOf returns a channel's intent.
func (w *world) intentOf(channel string) string {
	index := slices.IndexFunc(w.channels, func(p place) bool { return p.id == channel })
	if index < 0 {
		return "unknown"
	}
	return w.channels[index].intent
}

// client is a program of one agent, which calls any replica.
type client struct {
	*world
	agent  string
	random *rand.Rand
}

// client makes a program for an agent, or for the operator when the name is empty.
func (w *world) client(agent, name string) *client {
	hash := fnv.New64()
	_, _ = hash.Write([]byte(name))
	return &client{world: w, agent: agent, random: rand.New(rand.NewPCG(w.seed, hash.Sum64()))}
}

// caller returns a caller at some replica on some line.
func (c *client) caller() *harness.Caller {
	lines := c.lines[c.random.IntN(len(c.lines))]
	return lines[c.random.IntN(len(lines))].As(c.agent)
}

// httpLine does what caller does, for plain HTTP.
func (c *client) httpLine() (*harness.Line, *harness.Caller) {
	lines := c.lines[c.random.IntN(len(c.lines))]
	line := lines[c.random.IntN(len(lines))]
	return line, line.As(c.agent)
}

// once returns true one time in n.
func (c *client) once(in int) bool { return c.random.IntN(in) == 0 }

// rest waits for a random time between from and to and returns true. If the context ends first, it returns false.
func (c *client) rest(ctx context.Context, from, to time.Duration) bool {
	timer := time.NewTimer(from + time.Duration(c.random.Int64N(int64(to-from))))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// stopped reports whether senders must finish.
func (w *world) stopped() bool {
	select {
	case <-w.stopping:
		return true
	default:
		return false
	}
}

// insist repeats a call, each time on a random line, until it is answered or refused for good, or the context ends.
func insist[A any](
	ctx context.Context, c *client, patience time.Duration, call func(ctx context.Context, as *harness.Caller) (A, error),
) (answer A, attempts int, err error) {
	for attempts = 1; ; attempts++ {
		attempt, cancel := context.WithTimeout(ctx, patience)
		answer, err = call(attempt, c.caller())
		cancel()
		if err == nil || !transient(err) || harness.Reason(err) == messageTimeout || ctx.Err() != nil {
			return answer, attempts, err
		}
		c.rest(ctx, 10*time.Millisecond, 100*time.Millisecond)
	}
}

// messageTimeout is the reason of the error with which an unanswered ask ends.
const messageTimeout = "MESSAGE_TIMEOUT"
