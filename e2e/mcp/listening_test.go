package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// listener is one listen request over HTTP. The SDK's client shows neither the acknowledgement nor the end of one, so the tests speak
// the protocol themselves.
type listener struct {
	close  context.CancelFunc
	status int
	// events are the JSON-RPC messages of the answer; it is closed at the end of the answer.
	events chan rpcMessage
}

// rpcMessage is a message of JSON-RPC.
type rpcMessage struct {
	ID     any    `json:"id"`
	Method string `json:"method"`
	Params struct {
		URI           string `json:"uri"`
		Notifications struct {
			ResourceSubscriptions []string `json:"resourceSubscriptions"`
		} `json:"notifications"`
	} `json:"params"`
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
	Data    struct {
		URI    string `json:"uri"`
		Reason string `json:"reason"`
	} `json:"data"`
}

// listen begins to listen to resources with a key and as an agent.
func listen(t *testing.T, h *house, key, agent string, addresses ...string) *listener {
	t.Helper()
	body, err := json.Marshal(map[string]any{
		"jsonrpc": "2.0", "id": 7, "method": "subscriptions/listen",
		"params": map[string]any{
			"notifications": map[string]any{"resourceSubscriptions": addresses},
			"_meta": map[string]any{
				"io.modelcontextprotocol/protocolVersion":    newest,
				"io.modelcontextprotocol/clientInfo":         map[string]string{"name": "test", "version": "1"},
				"io.modelcontextprotocol/clientCapabilities": map[string]any{},
			},
		},
	})
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.BaseURL()+"/mcp", strings.NewReader(string(body)))
	require.NoError(t, err)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "X-API-Key": key, "X-Agent-ID": agent,
		"Mcp-Protocol-Version": newest, "Mcp-Method": "subscriptions/listen",
	} {
		request.Header.Set(name, value)
	}
	response, err := h.HTTP.Do(request) //nolint:bodyclose // read closes it
	require.NoError(t, err)
	l := &listener{close: cancel, status: response.StatusCode, events: make(chan rpcMessage, 100)}
	go l.read(response.Body)
	return l
}

// read hands on the messages of an answer: one JSON object, or the data of server-sent events.
func (l *listener) read(body io.ReadCloser) {
	defer close(l.events)
	defer body.Close()
	for lines := bufio.NewScanner(body); lines.Scan(); {
		var message rpcMessage
		if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data: ")), &message) == nil {
			l.events <- message
		}
	}
}

// next waits for the next message.
func (l *listener) next(t *testing.T) rpcMessage {
	t.Helper()
	select {
	case message, open := <-l.events:
		require.True(t, open, "the answer ended")
		return message
	case <-time.After(harness.Patience):
		require.FailNow(t, "nothing came")
	}
	return rpcMessage{}
}

// acknowledged waits for the acknowledgement and returns the addresses in it.
func (l *listener) acknowledged(t *testing.T) []string {
	t.Helper()
	first := l.next(t)
	require.Equal(t, "notifications/subscriptions/acknowledged", first.Method, "%+v", first)
	return first.Params.Notifications.ResourceSubscriptions
}

// updated waits for an update and returns the address in it.
func (l *listener) updated(t *testing.T) string {
	t.Helper()
	message := l.next(t)
	require.Equal(t, "notifications/resources/updated", message.Method, "%+v", message)
	return message.Params.URI
}

// ended waits for the end of the answer, and returns the message that ended it, past updates.
func (l *listener) ended(t *testing.T) rpcMessage {
	t.Helper()
	for {
		message := l.next(t)
		if message.Method != "" {
			require.Equal(t, "notifications/resources/updated", message.Method)
			continue
		}
		select {
		case _, open := <-l.events:
			require.False(t, open, "something came after the end")
		case <-time.After(harness.Patience):
			require.FailNow(t, "the answer did not end")
		}
		return message
	}
}
