package mcp

import (
	"context"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

// What waits through the door is counted among the caller's waits. An ask that is refused has asked nothing, and a task waits for
// nothing.
func TestToolsThatWaitAreCounted(t *testing.T) {
	bound := func(cfg *server.Config) { cfg.MaxWaits = 1 }
	harness.EachWith(t, bound, func(t *testing.T, s *harness.Server) {
		h := &house{s}
		channel := openChannel(t, h, forAll).GetId()
		for _, revision := range []string{newest, older} {
			alice := h.connect(t, harness.Key, "alice", revision, nil)
			refused := func() bool {
				return alice.says(t, "wait", arguments{"for": "inbox", "timeout_s": 0.01}).Refused == "TOO_MANY_WAITS"
			}
			for _, held := range []struct {
				tool  string
				given arguments
			}{
				{"wait", arguments{"for": "inbox", "timeout_s": 300}},
				{"wait", arguments{"for": channel, "timeout_s": 300}},
				{"ask", arguments{"channel": channel, "to": "nobody", "text": "?", "timeout_s": 300}},
			} {
				waits := h.connect(t, harness.Key, "alice", revision, nil)
				ctx, stop := context.WithCancel(t.Context())
				var holding sync.WaitGroup
				stored := countOf(t, h, channel)
				holding.Go(func() {
					for ctx.Err() == nil { // the call that asks whether there is room may have the place
						_, _ = waits.CallTool(ctx, &sdk.CallToolParams{Name: held.tool, Arguments: held.given})
					}
				})
				require.Eventually(t, refused, harness.Patience, 5*time.Millisecond, "%s is counted", held.tool)
				if held.tool == "ask" { // which is counted before its question is stored
					require.Eventually(t, func() bool { return countOf(t, h, channel) > stored }, harness.Patience, 5*time.Millisecond)
				}
				before := countOf(t, h, channel)
				answer := alice.says(t, "ask", arguments{"channel": channel, "to": "nobody", "text": "?", "timeout_s": 0.01})
				require.Equal(t, "TOO_MANY_WAITS", answer.Refused)
				require.Equal(t, before, countOf(t, h, channel), "it has asked nothing")
				require.Empty(t, alice.says(t, "wait", arguments{"for": "inbox", "timeout_s": 0}).Refused, "this does not wait")
				_, err := h.As("alice").Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "alice", WaitSeconds: new(0.001)})
				require.Equal(t, "TOO_MANY_WAITS", harness.Reason(err), "it is the same count")
				stop()
				holding.Wait()
				require.Eventually(t, func() bool { return !refused() }, harness.Patience, 5*time.Millisecond, "the place is free again")
			}
		}
	})
}

// countOf counts what is stored on a channel.
func countOf(t *testing.T, h *house, channel string) int64 {
	t.Helper()
	found, err := h.Operator().Channels.GetChannel(t.Context(), &openintentv1.GetChannelRequest{ChannelId: channel})
	require.NoError(t, err)
	return found.GetMessageCount()
}

// A client that takes a task does not wait, so its tasks are not counted, whether it begins them or asks about them.
func TestTasksDoNotWait(t *testing.T) {
	bound := func(cfg *server.Config) { cfg.MaxWaits = 1 }
	harness.EachWith(t, bound, func(t *testing.T, s *harness.Server) {
		h := &house{s}
		channel := openChannel(t, h, forAll).GetId()
		alice := h.takesTasks(t, "alice")
		for range 3 {
			made := alice.begin(t, "ask", arguments{"channel": channel, "to": "nobody", "text": "?", "timeout_s": 300})
			state, err := alice.task(t.Context(), made.ID)
			require.NoError(t, err)
			require.Equal(t, "working", state.Status)
		}
	})
}
