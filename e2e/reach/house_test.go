package reach

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

func TestMain(m *testing.M) { harness.Main(m) }

// tick is how often a test looks again at what must become true.
const tick = 50 * time.Millisecond

// place is an intent with a channel, and the servers on its database: one on SQLite, two on PostgreSQL.
type place struct {
	servers []*harness.Server
	intent  string
	channel string
}

// each runs a test on both engines, side by side, because much of it is waiting.
func each(t *testing.T, start func(t *testing.T, url string) *harness.Server, run func(t *testing.T, p *place)) {
	t.Helper()
	t.Parallel()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		t.Parallel()
		p := &place{servers: []*harness.Server{start(t, url)}}
		if url[:6] != "sqlite" {
			p.servers = append(p.servers, start(t, url))
		}
		alice := p.servers[0].As("alice")
		intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Reach"})
		require.NoError(t, err)
		channel, err := alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "talk"})
		require.NoError(t, err)
		p.intent, p.channel = intent.GetId(), channel.GetId()
		for _, name := range []string{"alice", "bob"} {
			_, err := p.servers[0].As(name).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{AgentId: &name})
			require.NoError(t, err)
		}
		run(t, p)
	})
}

func inProcess(t *testing.T, url string) *harness.Server {
	return harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.WebhookAllowedNetworks = "127.0.0.0/8" }})
}

func process(t *testing.T, url string) *harness.Server {
	return harness.StartProcess(t, harness.Options{URL: url})
}

// level awaits that every server says the same of bob: a level, and the kinds of open paths.
func (p *place) level(t *testing.T, level openintentv1.ReachLevel, kinds ...string) {
	t.Helper()
	for _, h := range p.servers {
		var last *openintentv1.Reach
		require.Eventually(t, func() bool {
			last = reachOf(t, h.As("alice"), "bob")
			return last.GetLevel() == level && slices.Equal(kindsOf(last), kinds)
		}, harness.Patience, tick, "wanted %s %v", level, kinds)
	}
}

func reachOf(t *testing.T, c *harness.Caller, agent string) *openintentv1.Reach {
	t.Helper()
	found, err := c.Reach.GetReach(t.Context(), &openintentv1.GetReachRequest{AgentId: agent})
	require.NoError(t, err)
	return found
}

func kindsOf(found *openintentv1.Reach) (kinds []string) {
	for _, path := range found.GetPaths() {
		kinds = append(kinds, path.GetKind())
	}
	return kinds
}

// subscribe makes a durable subscription of bob's.
func (p *place) subscribe(t *testing.T) string {
	t.Helper()
	made, err := p.servers[0].As("bob").Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{ChannelId: &p.channel})
	require.NoError(t, err)
	return made.GetId()
}

// hears are the ways in which bob can hear, by name: each begins one, and ends with the context.
func (p *place) hears(t *testing.T) map[string]func(ctx context.Context, h *harness.Server) error {
	t.Helper()
	sub := p.subscribe(t)
	asked, err := p.servers[0].As("bob").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: p.channel, To: proto.String("alice"), MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
		Payload: &structpb.Struct{},
	})
	require.NoError(t, err)
	long := proto.Float64(600)
	sse := func(path string) func(context.Context, *harness.Server) error {
		return func(ctx context.Context, h *harness.Server) error {
			request, err := h.As("bob").Request(ctx, http.MethodGet, path, "")
			if err != nil {
				return err
			}
			response, err := h.HTTP.Do(request)
			if err == nil {
				_, err = io.Copy(io.Discard, response.Body)
				_ = response.Body.Close()
			}
			return err
		}
	}
	follow := func(request *openintentv1.SubscribeRequest) func(context.Context, *harness.Server) error {
		return func(ctx context.Context, h *harness.Server) error {
			stream, err := h.As("bob").Messages.Subscribe(ctx, request)
			for err == nil {
				_, err = stream.Recv()
			}
			return err
		}
	}
	return map[string]func(context.Context, *harness.Server) error{
		"stream: of the agent": follow(&openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"}}),
		"stream: of an intent with attention": follow(&openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: p.intent}, Include: []string{"attention"},
		}),
		"stream: of a channel with attention over REST": sse("/v1/subscribe/channels/" + p.channel + "?include=attention"),
		"stream: of the agent over REST":                sse("/v1/subscribe/agents/bob"),
		"stream: of deliveries": func(ctx context.Context, h *harness.Server) error {
			stream, err := h.As("bob").Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{SubscriptionId: sub})
			for err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"wait: for the inbox": func(ctx context.Context, h *harness.Server) error {
			_, err := h.As("bob").Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: "bob", WaitSeconds: long})
			return err
		},
		"wait: for responses": func(ctx context.Context, h *harness.Server) error {
			_, err := h.As("bob").Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
				ChannelId: p.channel, MessageId: asked.GetId(), WaitSeconds: long,
			})
			return err
		},
		"wait: for deliveries": func(ctx context.Context, h *harness.Server) error {
			for { // the channel's own events come first
				_, err := h.As("bob").Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{SubscriptionId: sub, WaitSeconds: long})
				if err != nil {
					return err
				}
			}
		},
	}
}

// program starts the program as a separate process that acts as bob.
func program(t *testing.T, h *harness.Server, arguments ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), harness.Executable(t), arguments...)
	command.Env = []string{
		"HOME=" + t.TempDir(), "OPENINTENT_SERVER=" + h.GRPCAddress(), "OPENINTENT_URL=" + h.BaseURL(), "OPENINTENT_API_KEY=" + harness.Key,
		"OPENINTENT_AGENT_ID=bob",
	}
	command.Stderr = os.Stderr
	require.NoError(t, command.Start())
	t.Cleanup(func() { _ = command.Process.Kill(); _ = command.Wait() })
	return command
}

// decoded reads JSON.
func decoded(t *testing.T, text []byte) (object map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal(text, &object), string(text))
	return object
}
