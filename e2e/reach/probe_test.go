package reach

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// probes probes bob, and returns what each kind of path did: whether it was offered the probe, and whether it confirmed it. A replica hears a
// moment later that another one's probe is over; until then it refuses the call, which is made again after the second that the refusal names.
func probes(t *testing.T, c *harness.Caller) (found []string) {
	t.Helper()
	answer, err := c.Reach.ProbeAgent(t.Context(), &openintentv1.ProbeAgentRequest{AgentId: "bob"})
	if harness.Reason(err) == "PROBE_RUNNING" {
		<-time.After(time.Second)
		answer, err = c.Reach.ProbeAgent(t.Context(), &openintentv1.ProbeAgentRequest{AgentId: "bob"})
	}
	require.NoError(t, err)
	require.Equal(t, "bob", answer.GetReach().GetAgentId())
	for _, path := range answer.GetPaths() {
		found = append(found, fmt.Sprint(path.GetKind(), " ", path.GetOfferedAt() != nil, " ", path.GetConfirmedAt() != nil))
	}
	slices.Sort(found)
	return found
}

// An agent of the SDK confirms a probe on its stream of deliveries, from whichever server it comes, and no handler runs. What waits beside it is
// reported as it stands.
func TestAnAgentOfTheSDKConfirmsAProbe(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		require.Empty(t, probes(t, p.servers[0].As("bob")))
		last := p.servers[len(p.servers)-1]
		client, err := openintent.Dial(openintent.Options{Server: last.GRPCAddress(), APIKey: harness.Key, AgentID: "bob"})
		require.NoError(t, err)
		defer func() { _ = client.Close() }()
		ctx, end := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		agent := client.Agent(openintent.AgentOptions{})
		agent.OnMessage("", func(context.Context, *openintent.Message) (any, error) {
			t.Error("a handler runs")
			return nil, nil
		})
		go func() { ended <- agent.Run(ctx) }()
		p.level(t, live, "stream")
		for _, h := range p.servers {
			require.Equal(t, []string{"stream true true"}, probes(t, h.As("bob")))
		}
		require.Equal(t, []string{"stream true true"}, probes(t, p.servers[0].Operator()))
		end()
		require.NoError(t, <-ended)
	})
}

// Over REST a stream that asks for it gets an event, and whoever reads it confirms it by a call.
func TestAProbeOverREST(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h, other := p.servers[0], p.servers[len(p.servers)-1]
		request, err := h.As("bob").Request(t.Context(), http.MethodGet, "/v1/subscribe/agents/bob?probes=true", "")
		require.NoError(t, err)
		response, err := h.HTTP.Do(request)
		require.NoError(t, err)
		defer func() { _ = response.Body.Close() }()
		p.level(t, live, "stream")
		confirmed := make(chan int, 1)
		go func() {
			lines := bufio.NewScanner(response.Body)
			for lines.Scan() {
				if data, probe := strings.CutPrefix(lines.Text(), `data: {"probe_id":"`); probe {
					id, _, _ := strings.Cut(data, `"`)
					confirmed <- h.As("bob").REST(t, http.MethodPost, "/v1/agents/bob/probe/"+id, "").Status
					return
				}
			}
		}()
		require.Equal(t, []string{"stream true true"}, probes(t, other.As("bob")))
		require.Equal(t, 200, <-confirmed)
		gone := h.As("bob").REST(t, http.MethodPost, "/v1/agents/bob/probe/probe_over", "")
		require.Equal(t, 404, gone.Status)
		require.Contains(t, string(gone.Body), "PROBE_NOT_FOUND")
	})
}

// Who neither is the agent nor administers an intent in which it takes part may not probe it. A key begins six probes in a minute.
func TestWhoMayProbe(t *testing.T) {
	each(t, inProcess, func(t *testing.T, p *place) {
		h := p.servers[0]
		refused := h.As("carol").REST(t, http.MethodPost, "/v1/agents/bob/probe", "")
		require.Equal(t, 403, refused.Status)
		sent := h.As("bob").REST(t, http.MethodPost, "/v1/channels/"+p.channel+"/messages", `{"payload":{}}`) // now it takes part
		require.Equal(t, 201, sent.Status)
		require.Equal(t, 403, h.As("carol").REST(t, http.MethodPost, "/v1/agents/bob/probe", "").Status)
		for range 6 {
			require.Equal(t, 200, h.As("alice").REST(t, http.MethodPost, "/v1/agents/bob/probe", "").Status, "alice made the intent")
		}
		refused = h.As("alice").REST(t, http.MethodPost, "/v1/agents/bob/probe", "")
		require.Equal(t, 429, refused.Status)
		require.Contains(t, string(refused.Body), "TOO_MANY_PROBES")
		require.NotEmpty(t, refused.Header.Get("Retry-After"))
	})
}
