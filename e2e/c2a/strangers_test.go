package c2a

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// These may not come in at all.
func TestStrangersAreNotLetIn(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	for what, given := range map[string]struct {
		key, agent string
		headers    []string
		status     int
		reason     string
	}{
		"no key":                 {agent: "bob", status: 401, reason: "API_KEY_MISSING"},
		"an unknown key":         {key: "nope", agent: "bob", status: 401, reason: "API_KEY_UNKNOWN"},
		"another's name":         {key: harness.BoundKey, agent: "bob", status: 403, reason: "AGENT_NOT_ALLOWED"},
		"the nameless operator":  {key: harness.Key, status: 403, reason: "AGENT_NEEDED"},
		"a page of another site": {key: harness.Key, agent: "bob", headers: []string{"Origin", "https://evil.example"}, status: 403, reason: "ORIGIN_NOT_ALLOWED"},
		"no WebSocket":           {key: harness.Key, agent: "bob", headers: []string{"Upgrade", ""}, status: 400, reason: "WEBSOCKET_NEEDED"},
	} {
		t.Run(what, func(t *testing.T) {
			request, err := h.With(given.key, given.agent).Request(t.Context(), http.MethodGet, "/c2a", "")
			require.NoError(t, err)
			for name, value := range map[string]string{
				"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
			} {
				request.Header.Set(name, value)
			}
			for i := 0; i < len(given.headers); i += 2 {
				request.Header.Set(given.headers[i], given.headers[i+1])
			}
			response, err := h.HTTP.Do(request)
			require.NoError(t, err)
			defer response.Body.Close()
			require.Equal(t, given.status, response.StatusCode)
			body, err := io.ReadAll(response.Body)
			require.NoError(t, err)
			require.Contains(t, string(body), `"`+given.reason+`"`)
		})
	}
}

// A stranger with a key of its own is delivered nothing, gets nothing out of the tools, and changes nothing. It is told the same as about
// what is not there.
func TestAStrangerTakesNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		ann := h.As("ann")
		closed, err := ann.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{
			Title: "secret", DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED.Enum(),
		})
		require.NoError(t, err)
		room, err := ann.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: closed.GetId(), Name: "secret room"})
		require.NoError(t, err)
		hidden := &scene{h, closed.GetId(), room.GetId()}
		told := hidden.message(t, "ann", "", "secret", nil)
		direct := s.asks(t, "ann", "bob", "secret")
		before := h.Operator().REST(t, "GET", "/v1/intents/"+s.intent+"/events?limit=1000", "").Body

		stranger := played.Dial(t, &h.Clients, harness.BoundKey, "")
		stranger.Initialize(t, played.June2, played.Every)
		const nobodys = "msg_01ARZ3NDEKTSV4RRFFQ69G5FAV"
		for _, message := range []string{told.GetId(), direct.GetId(), nobodys} {
			for tool, further := range map[string]object{
				"chat.read_thread": {}, "chat.claim": {}, "chat.resolve": {}, "chat.defer": {"reason": "x"}, "chat.react": {"signal": "seen"},
				"chat.send_message": {
					"target": object{"conversationId": s.channel}, "content": "mine", "idempotencyKey": "k", "visibility": "channel", "directedness": "ambient",
				},
			} {
				given := object{"inReplyTo": message}
				for name, value := range further {
					given[name] = value
				}
				require.Equal(t, "MESSAGE_NOT_FOUND", stranger.Refused(t, tool, given), "%s %s", tool, message)
			}
		}
		require.Equal(t, "FORBIDDEN", stranger.Refused(t, "chat.read_thread", object{"conversationId": room.GetId()}))
		require.Equal(t, "FORBIDDEN", stranger.Refused(t, "chat.send_message", object{
			"target": object{"conversationId": room.GetId()}, "content": "mine", "idempotencyKey": "k", "visibility": "channel", "directedness": "ambient",
		}))
		require.Empty(t, stranger.Tool(t, "chat.list_events", nil)["events"])
		require.Empty(t, stranger.Came)
		require.Equal(t, string(before), string(h.Operator().REST(t, "GET", "/v1/intents/"+s.intent+"/events?limit=1000", "").Body))
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		require.Equal(t, direct.GetId(), bob.Next(t).Event(), "its addressee has it all the same")
	})
}

// What is no frame is refused with a reason, and the connection goes on. What is too large ends it.
func TestFramesOfStrangers(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	bob := played.Dial(t, &h.Clients, harness.Key, "bob")
	require.Equal(t, "NOT_INITIALIZED", bob.Call(t, "tools/list", nil).Error.Data.Reason)
	require.Equal(t, "INVALID_FIELD", bob.Call(t, "initialize", object{"protocolVersion": 5}).Error.Data.Reason)
	require.Equal(t, "INVALID_FIELD", bob.Call(t, "initialize", nil).Error.Data.Reason)
	bob.Initialize(t, played.June2, played.Every)
	for text, reason := range map[string]string{
		"hello": "INVALID_JSON", "[]": "BATCH_NOT_ALLOWED", "{}": "INVALID_REQUEST", `{"jsonrpc":"2.0","id":{},"method":"ping"}`: "INVALID_REQUEST",
	} {
		require.NoError(t, bob.Write([]byte(text)))
		answer := played.Take(t, bob, bob.Answers, text)
		require.Nil(t, answer.ID)
		require.Equal(t, reason, answer.Error.Data.Reason, text)
	}
	require.Equal(t, "METHOD_UNKNOWN", bob.Call(t, "chat/steal", nil).Error.Data.Reason)
	require.Equal(t, "TOOL_UNKNOWN", bob.Call(t, "tools/call", object{"name": "chat.steal"}).Error.Data.Reason)
	require.Equal(t, "INVALID_FIELD", bob.Call(t, "tools/call", []int{1}).Error.Data.Reason)
	bob.Say(t, object{"jsonrpc": "2.0", "id": "deliver-nothing", "result": object{}})
	bob.Say(t, object{"jsonrpc": "2.0", "method": "notifications/progress", "params": object{"progress": 2, "total": 5, "message": "half"}})
	bob.Say(t, object{"jsonrpc": "2.0", "method": "notifications/unknown"})
	require.Nil(t, bob.Call(t, "ping", nil).Error)

	_ = bob.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"` + strings.Repeat("x", 4<<20) + `"}`)) // it may be cut off meanwhile
	<-bob.Over
	require.Equal(t, websocket.StatusMessageTooBig, websocket.CloseStatus(bob.Why), "%v", bob.Why)
}
