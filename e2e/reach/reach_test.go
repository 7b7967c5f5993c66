package reach

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/coder/websocket"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

const (
	none     = openintentv1.ReachLevel_REACH_LEVEL_NONE
	wakeable = openintentv1.ReachLevel_REACH_LEVEL_WAKEABLE
	live     = openintentv1.ReachLevel_REACH_LEVEL_LIVE
)

// Each way counts on every server while it is open, and on none afterwards.
func TestEachWayToAnAgent(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		p.level(t, none)
		for name, hear := range p.hears(t) {
			kind, _, _ := strings.Cut(name, ":")
			for _, h := range p.servers {
				ctx, end := context.WithCancel(t.Context())
				ended := make(chan error, 1)
				go func() { ended <- hear(ctx, h) }()
				p.level(t, live, kind)
				end()
				require.Error(t, <-ended, name)
				p.level(t, none)
			}
		}
	})
}

// What follows a place without attention, or somebody else's inbox, hears nothing for the agent. Neither does a call that does not wait.
func TestWhatIsNoWayToAnAgent(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		stream, err := h.As("bob").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: p.channel},
		})
		require.NoError(t, err)
		_, err = stream.Recv() // it has begun
		require.NoError(t, err)
		operator, err := h.Operator().Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"},
		})
		require.NoError(t, err)
		_, err = operator.Recv()
		require.NoError(t, err)
		_, err = h.As("bob").Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "bob"})
		require.NoError(t, err)
		issued := h.Operator().REST(t, http.MethodPost, "/v1/keys", `{"label":"two","agents":["bob","carol"]}`)
		require.Equal(t, 201, issued.Status, "%s", issued.Body)
		other, err := h.With(decoded(t, issued.Body)["secret"].(string), "carol").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"},
		})
		require.NoError(t, err)
		_, err = other.Recv()
		require.NoError(t, err)
		require.Empty(t, reachOf(t, h.Operator(), "carol").GetPaths(), "carol follows what reaches bob")
		require.Equal(t, none, reachOf(t, h.As("alice"), "bob").GetLevel())
	})
}

// Of two streams of the same deliveries one is active. The one that stands by is no way to the agent, until the other one ends.
func TestAStreamThatStandsByDoesNotCount(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h, sub := p.servers[0], p.subscribe(t)
		begin := func() (end func()) {
			ctx, cancel := context.WithCancel(t.Context())
			stream, err := h.As("bob").Subscriptions.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{
				SubscriptionId: sub, AnnounceActive: proto.Bool(true),
			})
			require.NoError(t, err)
			_, err = stream.Recv() // it says that it is active, or stands by
			require.NoError(t, err)
			return cancel
		}
		endFirst := begin()
		since := reachOf(t, h.As("alice"), "bob").GetPaths()[0].GetSince().AsTime()
		endSecond := begin()
		endFirst()
		require.Eventually(t, func() bool {
			paths := reachOf(t, h.As("alice"), "bob").GetPaths()
			return len(paths) == 1 && paths[0].GetSince().AsTime().After(since)
		}, harness.Patience, tick, "the second one began to count when it became active")
		endSecond()
		p.level(t, none)
	})
}

// A client that is killed, and one that is frozen and answers no ping, is no way to its agent any more within thirty seconds. A frozen
// client that goes on is one again.
func TestAClientThatDiesOrFreezes(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		killed := program(t, p.servers[0], "inbox", "--wait", "10m")
		p.level(t, live, "wait")
		require.NoError(t, killed.Process.Kill())
		p.level(t, none)

		frozen := program(t, p.servers[len(p.servers)-1], "inbox", "--wait", "10m")
		p.level(t, live, "wait")
		begun := time.Now()
		require.NoError(t, frozen.Process.Signal(syscall.SIGSTOP))
		p.level(t, none)
		require.Less(t, time.Since(begun), 30*time.Second)
		require.NoError(t, frozen.Process.Signal(syscall.SIGCONT))
		p.level(t, live, "wait") // it tries again by itself
	})
}

// A server that dies takes its paths with it: the others count them for fifteen seconds at most.
func TestAServerThatDiesOrFreezes(t *testing.T) {
	each(t, process, func(t *testing.T, p *place) {
		dying, other := p.servers[len(p.servers)-1], p.servers[0]
		follow := func() {
			stream, err := dying.As("bob").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
				Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"},
			})
			require.NoError(t, err)
			_, err = stream.Recv()
			require.NoError(t, err)
		}
		follow()
		p.level(t, live, "stream")
		if dying == other { // alone, it knows of no way after its restart
			dying.Kill()
			dying.Start(t)
			require.Empty(t, reachOf(t, dying.As("alice"), "bob").GetPaths())
			return
		}
		remaining := &place{servers: []*harness.Server{other}}
		dying.Freeze(t)
		remaining.level(t, none)
		dying.Thaw(t)
		p.level(t, live, "stream")
		begun := time.Now()
		dying.Kill()
		remaining.level(t, none)
		require.Less(t, time.Since(begun), 30*time.Second)
		dying.Start(t)
	})
}

// A webhook makes its agent wakeable until a post of it fails.
func TestAWebhookMakesWakeable(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		failing := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) }))
		defer failing.Close()
		_, err := p.servers[0].As("bob").Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
			ChannelId: &p.channel, WebhookUrl: proto.String(failing.URL),
		})
		require.NoError(t, err)
		p.level(t, wakeable, "webhook")
		_, err = p.servers[0].As("alice").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
			ChannelId: p.channel, To: proto.String("bob"), Payload: &structpb.Struct{},
		})
		require.NoError(t, err)
		p.level(t, none)
	})
}

// A webhook to an address that the agent's record does not have, or of a key that has ended, wakes nobody.
func TestAWebhookThatPostsNothingWakesNobody(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		made := h.As("bob").REST(t, http.MethodPost, "/v1/subscriptions", `{"channel_id":"`+p.channel+`","use_endpoint":true}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		p.level(t, none)
		issued := h.Operator().REST(t, http.MethodPost, "/v1/keys", `{"label":"hooks","agents":["bob"]}`)
		require.Equal(t, 201, issued.Status, "%s", issued.Body)
		key := decoded(t, issued.Body)
		made = h.With(key["secret"].(string), "").REST(t, http.MethodPost, "/v1/subscriptions",
			`{"channel_id":"`+p.channel+`","name":"hook","webhook_url":"http://127.0.0.1:9/"}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		p.level(t, wakeable, "webhook")
		revoked := h.Operator().REST(t, http.MethodPost, "/v1/keys/"+key["key"].(map[string]any)["id"].(string)+"/revoke", "")
		require.Less(t, revoked.Status, 300, "%s", revoked.Body)
		p.level(t, none)
	})
}

// A question that shall fail at once if nobody is there does not fail for an agent without a record that listens, and on whose list of members
// the asker is.
func TestWhoListensIsThereWithoutARecord(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		made := h.As("alice").REST(t, http.MethodPost, "/v1/intents/"+p.intent+"/channels", `{"name":"two","members":["alice","carol"]}`)
		require.Equal(t, 201, made.Status, "%s", made.Body)
		ask := func() (reason any) {
			answer := h.As("alice").REST(t, http.MethodPost, "/v1/channels/"+decoded(t, made.Body)["id"].(string)+"/ask",
				`{"to":"carol","payload":{},"timeout_seconds":0.05,"fail_fast":true}`)
			return decoded(t, answer.Body)["reason"]
		}
		require.Equal(t, "NOBODY_THERE", ask())
		stream, err := h.As("carol").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "carol"},
		})
		require.NoError(t, err)
		_, err = stream.Recv()
		require.NoError(t, err)
		require.Equal(t, "MESSAGE_TIMEOUT", ask())
	})
}

// MCP's wait is a wait, and its other calls are no ways. A connection of C2A is one once it has initialized.
func TestDoorsAreWaysToAnAgent(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: h.BaseURL() + "/mcp", HTTPClient: h.As("bob").HTTPClient(), DisableStandaloneSSE: true,
		}, nil)
		require.NoError(t, err)
		defer func() { _ = session.Close() }()
		_, err = session.CallTool(t.Context(), &sdk.CallToolParams{Name: "inbox"})
		require.NoError(t, err)
		require.Equal(t, none, reachOf(t, h.As("alice"), "bob").GetLevel())
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() {
			_, err := session.CallTool(ctx, &sdk.CallToolParams{Name: "wait", Arguments: map[string]any{"for": "inbox", "timeout_s": 50}})
			ended <- err
		}()
		p.level(t, live, "wait")
		end()
		require.Error(t, <-ended)
		p.level(t, none)

		socket, _, err := websocket.Dial(t.Context(), "ws"+strings.TrimPrefix(h.BaseURL(), "http")+"/c2a", //nolint:bodyclose // it has none
			&websocket.DialOptions{HTTPHeader: http.Header{"X-Api-Key": {harness.Key}, "X-Agent-Id": {"bob"}}})
		require.NoError(t, err)
		go func() {
			for reading := error(nil); reading == nil; {
				_, _, reading = socket.Read(t.Context())
			}
		}()
		require.NoError(t, socket.Write(t.Context(), websocket.MessageText, []byte(`{"jsonrpc":"2.0","id":1,"method":"initialize",`+
			`"params":{"protocolVersion":"2026-06-24","clientInfo":{"name":"test","version":"1"},"capabilities":{}}}`)))
		p.level(t, live, "c2a")
		require.NoError(t, socket.Close(websocket.StatusNormalClosure, ""))
		p.level(t, none)
	})
}

// A call with the header of a wake opens that path and no other, over both faces.
func TestAWakeIsAPath(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		h.As("bob").REST(t, http.MethodGet, "/v1/whoami", "", "X-OpenIntent-Wake", "1")
		p.level(t, wakeable, "wake")
		ctx, end := context.WithCancel(t.Context())
		request, err := h.As("bob").Request(ctx, http.MethodGet, "/v1/subscribe/agents/bob", "")
		require.NoError(t, err)
		request.Header.Set("X-OpenIntent-Wake", "1")
		response, err := h.HTTP.Do(request)
		require.NoError(t, err)
		p.level(t, wakeable, "wake")
		end()
		_ = response.Body.Close()
	})
}

// What the server knows of the ways to an agent stands where it is asked for: in records, with what waits for the agent itself, in the
// explanation of a silence, and beside what became of a message.
func TestWhereReachIsSaid(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		alice, bob := h.As("alice"), h.As("bob")
		answer := alice.REST(t, http.MethodPost, "/v1/channels/"+p.channel+"/ask", `{"to":"bob","payload":{},"timeout_seconds":0.001}`)
		require.Equal(t, 408, answer.Status)
		refused := decoded(t, answer.Body)
		require.Equal(t, "none", refused["reach"])
		require.NotEmpty(t, refused["last_heard_at"])
		require.Contains(t, refused["detail"], "nothing of it listens now; it was last heard of at 20")

		asked := alice.REST(t, http.MethodPost, "/v1/channels/"+p.channel+"/messages", `{"to":"bob","message_type":"request","payload":{}}`)
		require.Equal(t, 201, asked.Status)
		id := decoded(t, asked.Body)["id"].(string)
		waiting := decoded(t, bob.REST(t, http.MethodGet, "/v1/agents/bob/reach", "").Body)["waiting"].(map[string]any)
		require.EqualValues(t, 1, waiting["count"])
		require.NotEmpty(t, waiting["oldest_at"])
		require.NotContains(t, decoded(t, alice.REST(t, http.MethodGet, "/v1/agents/bob/reach", "").Body), "waiting")
		require.Contains(t, decoded(t, h.Operator().REST(t, http.MethodGet, "/v1/agents/bob/reach", "").Body), "waiting")

		record := decoded(t, alice.REST(t, http.MethodGet, "/v1/agents/bob?include=reach", "").Body)
		require.Equal(t, "none", record["reach"].(map[string]any)["level"])
		require.NotContains(t, decoded(t, alice.REST(t, http.MethodGet, "/v1/agents/bob", "").Body), "reach")
		list := decoded(t, alice.REST(t, http.MethodGet, "/v1/agents?include=reach", "").Body)["agents"].([]any)
		require.Equal(t, "none", list[1].(map[string]any)["reach"].(map[string]any)["level"])
		var became []map[string]any
		alice.REST(t, http.MethodGet, "/v1/channels/"+p.channel+"/messages/"+id+"/deliveries", "").Decode(t, &became)
		require.Equal(t, "none", became[0]["reach"].(map[string]any)["level"])

		bob.REST(t, http.MethodGet, "/v1/agents/bob/inbox", "")
		require.Eventually(t, func() bool {
			found := reachOf(t, bob, "bob")
			return found.GetWaiting().GetCount() == 0 && found.GetLastOfferedAt() != nil
		}, harness.Patience, tick, "it was handed to bob")
		marked := bob.REST(t, http.MethodPost, "/v1/agents/bob/inbox/surfaced", `{"message_ids":["`+id+`"]}`)
		require.Equal(t, 200, marked.Status, "%s", marked.Body)
		require.Eventually(t, func() bool { return reachOf(t, alice, "bob").GetLastSurfacedAt() != nil }, harness.Patience, tick)
	})
}
