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

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// taskID is what a client says about a task.
type taskID struct {
	sdk.ParamsBase
	ID string `json:"taskId"`
}

// taskState is what the server says about a task.
type taskState struct {
	sdk.ResultBase
	ResultType    string              `json:"resultType"`
	ID            string              `json:"taskId"`
	Status        string              `json:"status"`
	CreatedAt     time.Time           `json:"createdAt"`
	LastUpdatedAt time.Time           `json:"lastUpdatedAt"`
	TTL           int64               `json:"ttlMs"`
	PollInterval  int64               `json:"pollIntervalMs"`
	Result        *sdk.CallToolResult `json:"result"`
}

// acknowledgement is the answer to a call that changes a task.
type acknowledgement struct {
	sdk.ResultBase
	ResultType string `json:"resultType"`
}

// taker is an agent whose client takes tasks.
type taker struct {
	*agent
	house *house
	// declares is what its client declares.
	declares *sdk.ClientCapabilities
}

// takesTasks connects an agent whose client takes tasks.
func (h *house) takesTasks(t *testing.T, name string) *taker {
	t.Helper()
	declares := &sdk.ClientCapabilities{}
	declares.AddExtension("io.modelcontextprotocol/tasks", nil)
	return h.knowsTasks(t, name, newest, declares)
}

// knowsTasks connects an agent whose client calls what there is to call about tasks, whatever it declares.
func (h *house) knowsTasks(t *testing.T, name, revision string, declares *sdk.ClientCapabilities) *taker {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, &sdk.ClientOptions{Capabilities: declares})
	require.NoError(t, sdk.AddSendingCustomMethod[*taskID, *taskState](client, "tasks/get"))
	require.NoError(t, sdk.AddSendingCustomMethod[*taskID, *acknowledgement](client, "tasks/update"))
	require.NoError(t, sdk.AddSendingCustomMethod[*taskID, *acknowledgement](client, "tasks/cancel"))
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.BaseURL() + "/mcp", HTTPClient: h.As(name).HTTPClient(), DisableStandaloneSSE: true,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	require.NoError(t, err)
	t.Cleanup(func() { _ = session.Close() })
	return &taker{&agent{session, h.As(name)}, h, declares}
}

// begin calls a tool by hand, because the official client does not show a task that it gets in place of an answer.
func (k *taker) begin(t *testing.T, name string, given arguments) (made taskState) {
	t.Helper()
	answer := k.post(t, "tools/call", name, map[string]any{"name": name, "arguments": given})
	require.NoError(t, json.Unmarshal(answer.Result, &made), string(answer.Result))
	require.Nil(t, answer.Error)
	return made
}

// response is one of JSON-RPC.
type response struct {
	Result json.RawMessage `json:"result"`
	Error  *struct {
		Code    int             `json:"code"`
		Message string          `json:"message"`
		Data    json.RawMessage `json:"data"`
	} `json:"error"`
}

// post sends a request of the newest revision by hand. name is the header Mcp-Name.
func (k *taker) post(t *testing.T, method, name string, params map[string]any) (answer response) {
	t.Helper()
	params["_meta"] = map[string]any{
		"io.modelcontextprotocol/protocolVersion":    newest,
		"io.modelcontextprotocol/clientCapabilities": map[string]any{"extensions": k.declares.Extensions},
	}
	body, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, k.house.BaseURL()+"/mcp", strings.NewReader(string(body)))
	require.NoError(t, err)
	for header, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"Mcp-Protocol-Version": newest, "Mcp-Method": method, "Mcp-Name": name,
	} {
		request.Header.Set(header, value)
	}
	got, err := k.direct.HTTPClient().Do(request)
	require.NoError(t, err)
	defer func() { _ = got.Body.Close() }()
	lines := bufio.NewScanner(got.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
			require.NoError(t, json.Unmarshal([]byte(data), &answer))
			_, _ = io.Copy(io.Discard, got.Body)
			return answer
		}
	}
	require.Fail(t, "no answer came", "status %d", got.StatusCode)
	return answer
}

// task asks how far a task came.
func (k *taker) task(ctx context.Context, id string) (*taskState, error) {
	return sdk.CallCustomMethod[*taskID, *taskState](ctx, k.ClientSession, "tasks/get", &taskID{ID: id})
}

// outcome asks about a task until it is no longer working.
func (k *taker) outcome(t *testing.T, id string) *taskState {
	t.Helper()
	var latest *taskState
	require.Eventually(t, func() bool {
		var err error
		latest, err = k.task(t.Context(), id)
		return err == nil && latest.Status != "working"
	}, harness.Patience, 20*time.Millisecond)
	return latest
}
