package agentchannel

import (
	"encoding/json"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// What came to the channel over REST is an event, and an event is a message.
func TestWhatCameAnotherWayIsAnEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Mixed")
		channel := text(t, ann.does(t, 200, "GET", "/"+id, ""), "channel_id")
		bob := ann.invited(t, h, id, `{}`)
		asked := ann.REST(t, "POST", "/v1/channels/"+channel+"/messages", `{"message_type": "request", "to": "`+bob.Agent+`", "payload": {"q": 1}}`)
		require.Equal(t, 403, asked.Status, "the guest has not come yet: %s", asked.Body)
		posted := bob.posts(t, id, "finding", `{"n": 1}`)
		asked = ann.REST(t, "POST", "/v1/channels/"+channel+"/messages", `{"message_type": "request", "to": "`+bob.Agent+`", "payload": {"q": 1}}`)
		require.Equal(t, 201, asked.Status, "%s", asked.Body)
		event := list(t, bob.does(t, 200, "GET", "/"+id+"/events", ""), "events")[0]
		require.Equal(t, "comms", event["kind"])
		require.Equal(t, "request", event["type"])
		require.Equal(t, bob.Agent, event["to"])
		message := ann.REST(t, "GET", "/v1/channels/"+channel+"/messages/"+posted, "")
		require.Contains(t, string(message.Body), `"kind":"finding"`)
	})
}

// A channel is there again after its server was.
func TestAChannelOutlivesItsServer(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Lasting")
		state := ann.posts(t, id, "state", `{"handoff": "ann"}`)
		require.NoError(t, h.Stop())
		h.Start(t)
		require.Equal(t, state, ann.does(t, 200, "GET", "/"+id+"/state", "")["id"])
	})
}

// The tools of the MCP profile do what the routes do.
func TestTheToolsAreTheRoutes(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
		session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
			Endpoint: h.BaseURL() + "/mcp?tools=agent-channel", HTTPClient: h.As("ann").HTTPClient(), DisableStandaloneSSE: true,
		}, nil)
		require.NoError(t, err)
		t.Cleanup(func() { _ = session.Close() })
		tools, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		var names []string
		for _, tool := range tools.Tools {
			names = append(names, tool.Name)
		}
		require.ElementsMatch(t, []string{
			"channel.create", "channel.list", "channel.read", "channel.state", "channel.spec", "channel.events", "channel.post", "channel.close",
		}, names)
		call := func(tool string, given object) (answer object) {
			t.Helper()
			result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: given})
			require.NoError(t, err)
			require.NoError(t, json.Unmarshal([]byte(result.Content[0].(*sdk.TextContent).Text), &answer))
			return answer
		}
		id := text(t, call("channel.create", object{"title": "By tools"}), "id")
		state := text(t, call("channel.post", object{"channel": id, "kind": "state", "payload": object{"handoff": "ann"}}), "id")
		call("channel.post", object{"channel": id, "kind": "spec", "payload": "the charter"})
		require.Equal(t, state, call("channel.state", object{"channel": "http://elsewhere/agent-channel/" + id + "?x#y"})["id"])
		require.Equal(t, object{"text": "the charter"}, call("channel.spec", object{"channel": id})["payload"])
		require.Equal(t, "DOCUMENT_CHANGED", call("channel.post", object{"channel": id, "kind": "state", "payload": object{}, "if_match": "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"})["refused"])
		page := call("channel.read", object{"channel": id})
		require.Equal(t, "By tools", page["title"])
		require.Len(t, list(t, page, "recent_events"), 2)
		require.NotContains(t, page, "how_to_take_part", "the tools are how")
		require.Equal(t, []any{"spec"}, kinds(list(t, call("channel.events", object{"channel": id, "limit": 1}), "events")))
		require.Len(t, list(t, call("channel.list", nil), "channels"), 1)
		require.Equal(t, "closed", call("channel.close", object{"channel": id})["status"])
		require.Equal(t, "CHANNEL_CLOSED", call("channel.post", object{"channel": id, "kind": "log"})["refused"])
		require.Empty(t, list(t, call("channel.list", nil), "channels"))
		require.Len(t, list(t, call("channel.list", object{"include_closed": true}), "channels"), 1)

		open := call("channel.create", object{"title": "Open", "open": true})
		require.Equal(t, true, open["open"])
		beside := call("channel.create", object{"title": "Beside", "intent_id": open["intent_id"]})
		require.Equal(t, open["intent_id"], beside["intent_id"])
		logged := object{"channel": open["id"], "kind": "log", "payload": object{"n": 1}, "key": "k"}
		first := call("channel.post", logged)["id"]
		require.Equal(t, first, call("channel.post", logged)["id"], "the same key is the same event")
		call("channel.post", object{"channel": open["id"], "kind": "comms", "payload": "hello"})
		require.Equal(t, []any{"comms"}, kinds(list(t, call("channel.events", object{"channel": open["id"], "after": first}), "events")))
		require.Equal(t, []any{"log"}, kinds(list(t, call("channel.events", object{"channel": open["id"], "kind": "log"}), "events")))
	})
}
