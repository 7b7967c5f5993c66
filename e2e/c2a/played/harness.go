package c2a

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/google/jsonschema-go/jsonschema"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

const (
	june2  = "2026-06-02"
	june24 = "2026-06-24"
)

// object is a value whose form a test does not spell out.
type object = map[string]any

// frame is a message of JSON-RPC.
type frame struct {
	ID     any             `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
		Data    struct {
			Reason string `json:"reason"`
		} `json:"data"`
	} `json:"error"`
}

// script is a harness that a test plays.
type script struct {
	draft string
	write func(text []byte) error
	// came are the requests and notifications of the door, and answers the answers to this side's requests.
	came, answers chan frame
	// over is closed when the connection is, and why says how.
	over  chan struct{}
	why   error
	leave func()

	mutex sync.Mutex
	last  int
}

// every is what a harness declares that takes all there is.
var every = object{
	"injection": object{"immediate": true, "buffered": true, "notify": true, "tool_mailbox": true, "digest": true, "interrupt": false},
	"utilities": object{"progress": true, "cancellation": true},
}

// dial opens a WebSocket at a server's door as an agent, and sends nothing.
func dial(t *testing.T, h *harness.Clients, key, agent string) *script {
	t.Helper()
	header := http.Header{"X-Api-Key": {key}}
	if agent != "" {
		header.Set("X-Agent-Id", agent)
	}
	connection, response, err := websocket.Dial(t.Context(), h.BaseURL()+"/c2a", &websocket.DialOptions{HTTPClient: h.HTTP, HTTPHeader: header})
	if err == nil {
		connection.SetReadLimit(-1)
	}
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	require.NoError(t, err)
	s := newScript(func(text []byte) error { return connection.Write(context.Background(), websocket.MessageText, text) })
	s.leave = func() { _ = connection.CloseNow() }
	t.Cleanup(func() {
		s.leave()
		<-s.over
	})
	go s.read(func() ([]byte, error) {
		_, text, err := connection.Read(context.Background())
		return text, err
	})
	return s
}

func newScript(write func([]byte) error) *script {
	return &script{write: write, came: make(chan frame, 1000), answers: make(chan frame, 1000), over: make(chan struct{})}
}

// read hands over what comes until the connection is over.
func (s *script) read(next func() ([]byte, error)) {
	defer close(s.over)
	for {
		text, err := next()
		if err != nil {
			s.why = err
			return
		}
		var f frame
		if err := json.Unmarshal(text, &f); err != nil {
			s.why = fmt.Errorf("%w in %s", err, text)
			return
		}
		if f.Method == "" {
			s.answers <- f
		} else {
			s.came <- f
		}
	}
}

// connect opens a WebSocket and agrees on a draft.
func connect(t *testing.T, h *harness.Clients, agent, draft string, capabilities object) *script {
	t.Helper()
	s := dial(t, h, harness.Key, agent)
	s.initialize(t, draft, capabilities)
	return s
}

// initialize agrees on a draft and returns the door's answer.
func (s *script) initialize(t *testing.T, draft string, capabilities object) object {
	t.Helper()
	answer := s.call(t, "initialize", object{
		"protocolVersion": draft, "clientInfo": object{"name": "script", "version": "1"}, "capabilities": capabilities,
	})
	require.Nil(t, answer.Error)
	var said object
	require.NoError(t, json.Unmarshal(answer.Result, &said))
	s.draft, _ = said["protocolVersion"].(string)
	return said
}

// say sends a value.
func (s *script) say(t *testing.T, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, s.write(text))
}

// call sends a request and returns its answer.
func (s *script) call(t *testing.T, method string, params any) frame {
	t.Helper()
	s.mutex.Lock()
	s.last++
	id := s.last
	s.mutex.Unlock()
	s.say(t, object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	answer := take(t, s, s.answers, "no answer to "+method)
	require.EqualValues(t, id, answer.ID)
	return answer
}

// take waits for a frame.
func take(t *testing.T, s *script, from chan frame, complaint string) frame {
	t.Helper()
	select {
	case f := <-from:
		return f
	default:
	}
	select {
	case f := <-from:
		return f
	case <-s.over:
		require.Fail(t, complaint, "the connection is over: %v", s.why)
	case <-time.After(harness.Patience):
		require.Fail(t, complaint)
	}
	return frame{}
}

// tool calls a tool that must succeed.
func (s *script) tool(t *testing.T, name string, arguments object) object {
	t.Helper()
	said, isError := s.tried(t, name, arguments)
	require.False(t, isError, "%s %v: %v", name, arguments, said)
	return said
}

// refused calls a tool that must be refused, and returns the reason.
func (s *script) refused(t *testing.T, name string, arguments object) string {
	t.Helper()
	said, isError := s.tried(t, name, arguments)
	require.True(t, isError, "%s %v: %v", name, arguments, said)
	require.NotEmpty(t, said["message"])
	reason, _ := said["refused"].(string)
	return reason
}

func (s *script) tried(t *testing.T, name string, arguments object) (said object, isError bool) {
	t.Helper()
	answer := s.call(t, "tools/call", object{"name": name, "arguments": arguments})
	require.Nil(t, answer.Error, "%s %v", name, arguments)
	var result struct {
		Content []struct {
			Type, Text string
		}
		StructuredContent object
		IsError           bool
	}
	require.NoError(t, json.Unmarshal(answer.Result, &result))
	require.Len(t, result.Content, 1)
	var same object
	require.NoError(t, json.Unmarshal([]byte(result.Content[0].Text), &same))
	require.Equal(t, result.StructuredContent, same)
	return same, result.IsError
}

// delivered is one chat/deliver.
type delivered struct {
	id     any
	params object
	text   string
}

// next waits for the next delivery, and holds it to its draft's schema.
func (s *script) next(t *testing.T) delivered {
	t.Helper()
	return s.asDelivery(t, s.incoming(t, "nothing is delivered"))
}

// accepted are the events that a script has acknowledged, by their keys, which name the agent. As a harness must, it does nothing when such
// an event comes again, as after a connection that was lost with its last acknowledgements, but acknowledge it again.
var accepted sync.Map

// incoming waits for a request or a notification, past events that were acknowledged.
func (s *script) incoming(t *testing.T, complaint string) frame {
	t.Helper()
	for {
		f := take(t, s, s.came, complaint)
		var named struct {
			Reliability struct{ IdempotencyKey string }
		}
		require.NoError(t, json.Unmarshal(f.Params, &named))
		if _, known := accepted.Load(named.Reliability.IdempotencyKey); f.Method != "chat/deliver" || !known {
			return f
		}
		s.accept(t, s.asDelivery(t, f))
	}
}

func (s *script) asDelivery(t *testing.T, f frame) delivered {
	t.Helper()
	require.Equal(t, "chat/deliver", f.Method, "%s", f.Params)
	d := delivered{id: f.ID, text: string(f.Params)}
	require.NoError(t, json.Unmarshal(f.Params, &d.params))
	require.NoError(t, schemaOf(t, s.draft).Validate(d.params), "%s", f.Params)
	require.Equal(t, "deliver-"+d.event(), d.id)
	return d
}

// cancelled waits for a cancellation, and returns the event.
func (s *script) cancelled(t *testing.T) (event, reason string) {
	t.Helper()
	f := s.incoming(t, "nothing is cancelled")
	require.Equal(t, "notifications/cancelled", f.Method, "%s", f.Params)
	var said struct{ RequestID, EventID, Reason string }
	require.NoError(t, json.Unmarshal(f.Params, &said))
	require.Equal(t, "deliver-"+said.EventID, said.RequestID)
	return said.EventID, said.Reason
}

// accept acknowledges a delivery.
func (s *script) accept(t *testing.T, d delivered) {
	t.Helper()
	accepted.Store(d.at("reliability.idempotencyKey"), true)
	s.say(t, object{"jsonrpc": "2.0", "id": d.id, "result": object{"accepted": true}})
}

func (d delivered) event() string {
	id, _ := d.params["eventId"].(string)
	return id
}

// at returns a value in a delivery by its path, such as "injection.mode".
func (d delivered) at(path string) any {
	var value any = d.params
	for _, name := range strings.Split(path, ".") {
		members, _ := value.(object)
		value = members[name]
	}
	return value
}

// holds checks values in a delivery by their paths.
func (d delivered) holds(t *testing.T, expected object) {
	t.Helper()
	for path, value := range expected {
		require.Equal(t, value, d.at(path), path)
	}
}

// content returns the texts of a delivery.
func (d delivered) content() (texts []string) {
	if alone, isText := d.params["content"].(string); isText {
		return []string{alone}
	}
	parts, _ := d.params["content"].([]any)
	for _, part := range parts {
		text, _ := part.(object)["text"].(string)
		texts = append(texts, text)
	}
	return texts
}

var schemas sync.Map

// schemaOf returns the schema of a draft's deliveries.
func schemaOf(t *testing.T, draft string) *jsonschema.Resolved {
	t.Helper()
	if known, ok := schemas.Load(draft); ok {
		return known.(*jsonschema.Resolved)
	}
	text, err := os.ReadFile("../../doors/c2a/schema/" + draft + ".json")
	require.NoError(t, err)
	var schema jsonschema.Schema
	require.NoError(t, json.Unmarshal(text, &schema))
	resolved, err := schema.Resolve(nil)
	require.NoError(t, err)
	schemas.Store(draft, resolved)
	return resolved
}
