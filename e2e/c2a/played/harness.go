package played

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The drafts of the protocol.
const (
	June2  = "2026-06-02"
	June24 = "2026-06-24"
)

// object is a value whose form a test does not spell out.
type object = map[string]any

// Frame is a message of JSON-RPC.
type Frame struct {
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

// Harness is a harness that a test plays.
type Harness struct {
	draft string
	// Write sends a text as one message.
	Write func(text []byte) error
	// Came are the requests and notifications of the door, and Answers the answers to this side's requests.
	Came, Answers chan Frame
	// Over is closed when the connection is, and Why says how.
	Over chan struct{}
	Why  error
	// Leave ends the connection from this side.
	Leave func()

	mutex sync.Mutex
	last  int
}

// Every is what a harness declares that takes all there is.
var Every = object{
	"injection": object{"immediate": true, "buffered": true, "notify": true, "tool_mailbox": true, "digest": true, "interrupt": false},
	"utilities": object{"progress": true, "cancellation": true},
}

// Dial opens a WebSocket at a server's door as an agent, and sends nothing.
func Dial(t *testing.T, h *harness.Clients, key, agent string) *Harness {
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
	s := New(func(text []byte) error { return connection.Write(context.Background(), websocket.MessageText, text) })
	s.Leave = func() { _ = connection.CloseNow() }
	t.Cleanup(func() {
		s.Leave()
		<-s.Over
	})
	go s.Read(func() ([]byte, error) {
		_, text, err := connection.Read(context.Background())
		return text, err
	})
	return s
}

// New makes a harness on a connection of any kind. Its caller sets Leave, and reads with Read.
func New(write func([]byte) error) *Harness {
	return &Harness{Write: write, Came: make(chan Frame, 1000), Answers: make(chan Frame, 1000), Over: make(chan struct{})}
}

// Read hands over what comes until the connection is over.
func (s *Harness) Read(next func() ([]byte, error)) {
	defer close(s.Over)
	for {
		text, err := next()
		if err != nil {
			s.Why = err
			return
		}
		var f Frame
		if err := json.Unmarshal(text, &f); err != nil {
			s.Why = fmt.Errorf("%w in %s", err, text)
			return
		}
		if f.Method == "" {
			s.Answers <- f
		} else {
			s.Came <- f
		}
	}
}

// Connect opens a WebSocket and agrees on a draft.
func Connect(t *testing.T, h *harness.Clients, agent, draft string, capabilities object) *Harness {
	t.Helper()
	s := Dial(t, h, harness.Key, agent)
	s.Initialize(t, draft, capabilities)
	return s
}

// Initialize agrees on a draft and returns the door's answer.
func (s *Harness) Initialize(t *testing.T, draft string, capabilities object) object {
	t.Helper()
	answer := s.Call(t, "initialize", object{
		"protocolVersion": draft, "clientInfo": object{"name": "script", "version": "1"}, "capabilities": capabilities,
	})
	require.Nil(t, answer.Error)
	var said object
	require.NoError(t, json.Unmarshal(answer.Result, &said))
	s.draft, _ = said["protocolVersion"].(string)
	return said
}

// Say sends a value.
func (s *Harness) Say(t *testing.T, value any) {
	t.Helper()
	text, err := json.Marshal(value)
	require.NoError(t, err)
	require.NoError(t, s.Write(text))
}

// Call sends a request and returns its answer.
func (s *Harness) Call(t *testing.T, method string, params any) Frame {
	t.Helper()
	s.mutex.Lock()
	s.last++
	id := s.last
	s.mutex.Unlock()
	s.Say(t, object{"jsonrpc": "2.0", "id": id, "method": method, "params": params})
	answer := Take(t, s, s.Answers, "no answer to "+method)
	require.EqualValues(t, id, answer.ID)
	return answer
}

// Take waits for a frame.
func Take(t *testing.T, s *Harness, from chan Frame, complaint string) Frame {
	t.Helper()
	select {
	case f := <-from:
		return f
	default:
	}
	select {
	case f := <-from:
		return f
	case <-s.Over:
		require.Fail(t, complaint, "the connection is over: %v", s.Why)
	case <-time.After(harness.Patience):
		require.Fail(t, complaint)
	}
	return Frame{}
}

// Tool calls a tool that must succeed.
func (s *Harness) Tool(t *testing.T, name string, arguments object) object {
	t.Helper()
	said, isError := s.tried(t, name, arguments)
	require.False(t, isError, "%s %v: %v", name, arguments, said)
	return said
}

// Refused calls a tool that must be refused, and returns the reason.
func (s *Harness) Refused(t *testing.T, name string, arguments object) string {
	t.Helper()
	said, isError := s.tried(t, name, arguments)
	require.True(t, isError, "%s %v: %v", name, arguments, said)
	require.NotEmpty(t, said["message"])
	reason, _ := said["refused"].(string)
	return reason
}

func (s *Harness) tried(t *testing.T, name string, arguments object) (said object, isError bool) {
	t.Helper()
	answer := s.Call(t, "tools/call", object{"name": name, "arguments": arguments})
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

// Next waits for the next delivery.
func (s *Harness) Next(t *testing.T) Delivery {
	t.Helper()
	return s.AsDelivery(t, s.Incoming(t, "nothing is delivered"))
}

// accepted are the events that a harness has acknowledged, by their keys, which name the agent. As a harness must, it does nothing when such
// an event comes again, as after a connection that was lost with its last acknowledgements, but acknowledge it again.
var accepted sync.Map

// Incoming waits for a request or a notification, past events that were acknowledged.
func (s *Harness) Incoming(t *testing.T, complaint string) Frame {
	t.Helper()
	for {
		f := Take(t, s, s.Came, complaint)
		var named struct {
			Reliability struct{ IdempotencyKey string }
		}
		require.NoError(t, json.Unmarshal(f.Params, &named))
		if _, known := accepted.Load(named.Reliability.IdempotencyKey); f.Method != "chat/deliver" || !known {
			return f
		}
		s.Accept(t, s.AsDelivery(t, f))
	}
}

// Cancelled waits for a cancellation, and returns the event.
func (s *Harness) Cancelled(t *testing.T) (event, reason string) {
	t.Helper()
	f := s.Incoming(t, "nothing is cancelled")
	require.Equal(t, "notifications/cancelled", f.Method, "%s", f.Params)
	var said struct{ RequestID, EventID, Reason string }
	require.NoError(t, json.Unmarshal(f.Params, &said))
	require.Equal(t, "deliver-"+said.EventID, said.RequestID)
	return said.EventID, said.Reason
}

// Accept acknowledges a delivery.
func (s *Harness) Accept(t *testing.T, d Delivery) {
	t.Helper()
	accepted.Store(d.At("reliability.idempotencyKey"), true)
	s.Say(t, object{"jsonrpc": "2.0", "id": d.ID, "result": object{"accepted": true}})
}
