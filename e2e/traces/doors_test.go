package traces

import (
	"encoding/json"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

// A request at a door is a span, and the calls that the door makes for it are below it. An event on an agent channel has a span of its own,
// which says what the event says only if the operator asked for that.
func TestARequestAtADoorHoldsItsCalls(t *testing.T) {
	for name, contents := range map[string]bool{"by default": false, "with contents": true} {
		t.Run(name, func(t *testing.T) {
			collector := StartCollector(t)
			collector.Listen(t)
			d := openDesk(t, harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.TraceContents = contents }}))
			answer := d.As("alice").REST(t, http.MethodPost, "/agent-channel", `{"title": "war room"}`)
			require.Equal(t, http.StatusCreated, answer.Status, string(answer.Body))
			var made struct{ ID string }
			answer.Decode(t, &made)
			trace, span, traceparent := someTrace(1)
			answer = d.As("alice").REST(t, http.MethodPost, "/agent-channel/"+made.ID+"/event",
				`{"kind": "log", "payload": {"text": "`+said+`"}}`, "Traceparent", traceparent)
			require.Equal(t, http.StatusCreated, answer.Status, string(answer.Body))

			door := collector.Await(t, "POST /agent-channel", In(trace))
			require.Equal(t, span, door.Parent)
			require.Equal(t, tracev1.Span_SPAN_KIND_SERVER, door.Kind)
			require.Equal(t, "201", door.Attributes["http.response.status_code"])
			call := collector.Await(t, sendName, Below(door))
			require.Equal(t, tracev1.Span_SPAN_KIND_INTERNAL, call.Kind)
			collector.Await(t, "commit", Below(call))
			event := collector.Await(t, "agent-channel.event.log", Below(door))
			said := map[string]string{
				"session.id": "alice", "agent.id": "alice", "openinference.span.kind": "AGENT", "o2r.channel.id": made.ID,
				"o2r.channel.event.kind": "log",
			}
			if contents {
				said["input.value"] = `{"text":"not for the collector"}`
			} else {
				quiet(t, collector)
			}
			require.Equal(t, said, event.Attributes)
		})
	}
}

// The calls of a tool of MCP are below the request that asked for it.
func TestAToolHoldsItsCalls(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	d := openDesk(t, harness.Start(t, harness.Options{}))
	arguments, err := json.Marshal(map[string]any{"channel": d.channel, "text": said})
	require.NoError(t, err)
	trace, _, traceparent := someTrace(1)
	answer := d.As("alice").REST(t, http.MethodPost, "/mcp",
		`{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "send", "arguments": `+string(arguments)+`}}`,
		"Traceparent", traceparent, "Accept", "application/json, text/event-stream")
	require.Equal(t, http.StatusOK, answer.Status, string(answer.Body))
	door := collector.Await(t, "POST /mcp", In(trace))
	call := collector.Await(t, sendName, In(trace))
	require.Equal(t, door.ID, call.Parent)
	listed, err := d.As("alice").Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: d.channel})
	require.NoError(t, err)
	require.Equal(t, call.Attributes["messaging.message.id"], listed.GetMessages()[0].GetId())
	quiet(t, collector)
}
