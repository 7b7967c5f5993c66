package documents

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"openintent/e2e/harness"
	"openintent/server"
)

// doorPage tells how harnesses reach the server.
const doorPage = "docs/doors/mcp.md"

// entry is how a harness reaches the server: at an address with headers, or by a command that it starts.
type entry struct {
	URL            string            `json:"url"`
	HTTPURL        string            `json:"httpUrl"`
	Headers        map[string]string `json:"headers"`
	HTTPHeaders    map[string]string `json:"http_headers"`
	EnvHTTPHeaders map[string]string `json:"env_http_headers"`
	// Command is a command, or a list with its arguments, which are Args otherwise.
	Command        any      `json:"command"`
	Args           []string `json:"args"`
	RequestOptions struct {
		Headers map[string]string `json:"headers"`
	} `json:"requestOptions"`
}

// words are the command that a harness starts; none if it starts none.
func (e entry) words() (words []string) {
	switch command := e.Command.(type) {
	case string:
		words = append([]string{command}, e.Args...)
	case []any:
		for _, word := range command {
			words = append(words, fmt.Sprint(word))
		}
	}
	return words
}

// Whoever copies an entry of the page into a harness's configuration is the agent that the entry names.
func TestTheEntriesOfHarnessesConnect(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{Flags: []string{"--api-keys="}})
	address := strings.NewReplacer(server.DefaultConfig().HTTPAddr, strings.TrimPrefix(h.BaseURL(), "http://"))
	connected := make(map[string]bool)
	for _, section := range strings.Split(readDocument(t, doorPage), "\n### ")[1:] {
		name, _, _ := strings.Cut(section, "\n")
		for _, b := range blocks(section) {
			found, ok := entryIn(t, b)
			if !ok {
				continue
			}
			connected[name] = true
			if words := found.words(); len(words) > 0 {
				assert.Equal(t, []string{"openintent", "mcp", "--agent", "researcher"}, words, name)
				continue
			}
			assert.Equal(t, "researcher", agentAt(t, address.Replace(found.URL+found.HTTPURL), found.headers()), name)
		}
	}
	for _, name := range []string{"Claude Code", "Codex", "OpenCode", "Cursor", "VS Code", "Gemini CLI and Qwen Code", "Copilot CLI", "Cline",
		"Continue", "Kimi", "Kilo Code", "Any harness that starts a command"} {
		assert.True(t, connected[name], "%s has no entry", name)
	}
}

// entryIn reads the entry in a block, in whatever form the harness keeps it.
func entryIn(t *testing.T, b block) (found entry, ok bool) {
	t.Helper()
	var configuration map[string]any
	switch b.language {
	case "json":
		require.NoError(t, json.Unmarshal([]byte(b.text), &configuration), b.text)
	case "toml":
		require.NoError(t, toml.Unmarshal([]byte(b.text), &configuration), b.text)
	case "yaml":
		require.NoError(t, yaml.Unmarshal([]byte(b.text), &configuration), b.text)
	case "sh":
		return entryAdded(t, b.text)
	default:
		return entry{}, false
	}
	named, ok := memberNamed(configuration, "openintent")
	if !ok {
		return entry{}, false
	}
	text, err := json.Marshal(named)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &found))
	return found, true
}

// memberNamed finds a member of a configuration at any depth.
func memberNamed(configuration map[string]any, name string) (found any, ok bool) {
	if found, ok = configuration[name]; ok {
		return found, true
	}
	for _, member := range configuration {
		if listed, isList := member.([]any); isList {
			for _, one := range listed {
				if object, isObject := one.(map[string]any); isObject && object["name"] == name {
					return object, true
				}
			}
		}
		if below, isObject := member.(map[string]any); isObject {
			if found, ok = memberNamed(below, name); ok {
				return found, true
			}
		}
	}
	return nil, false
}

// entryAdded runs a command that adds an entry, with a shell's function in place of the harness, and reads what the harness would get.
func entryAdded(t *testing.T, commands string) (found entry, ok bool) {
	t.Helper()
	harness, _, adds := strings.Cut(commands, " mcp add ")
	if !adds || strings.ContainsAny(harness, " \n") {
		return entry{}, false
	}
	command := exec.Command("bash", "-c", "OPENINTENT_API_KEY=dev-key-001\n"+harness+"() { printf '%s\\n' \"$@\"; }\n"+commands)
	printed, err := command.Output()
	require.NoError(t, err)
	found.Headers = make(map[string]string)
	words := strings.Split(strings.TrimSpace(string(printed)), "\n")
	for i, word := range words {
		switch {
		case word == "--header":
			name, value, _ := strings.Cut(words[i+1], ": ")
			found.Headers[name] = value
		case strings.HasPrefix(word, "http://"):
			found.URL = word
		}
	}
	return found, true
}

// fromEnvironment matches what harnesses replace by the key.
var fromEnvironment = regexp.MustCompile(`\$\{\{ [\w.]+ \}\}|\$?\{(env:|input:)?[\w-]+\}|\$\w+`)

// headers returns the headers that the harness would send.
func (e entry) headers() http.Header {
	headers := make(http.Header)
	for _, some := range []map[string]string{e.Headers, e.HTTPHeaders, e.RequestOptions.Headers} {
		for name, value := range some {
			headers.Set(name, fromEnvironment.ReplaceAllString(value, "dev-key-001"))
		}
	}
	for name := range e.EnvHTTPHeaders {
		headers.Set(name, "dev-key-001")
	}
	return headers
}

// agentAt connects to the door with headers and returns as whom.
func agentAt(t *testing.T, address string, headers http.Header) string {
	t.Helper()
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: address, HTTPClient: &http.Client{Transport: withHeaders{headers}}, DisableStandaloneSSE: true,
	}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	return agentOf(t, session)
}

// agentOf asks the door who the client is.
func agentOf(t *testing.T, session *sdk.ClientSession) string {
	t.Helper()
	result, err := session.CallTool(t.Context(), &sdk.CallToolParams{Name: "whoami"})
	require.NoError(t, err)
	var who struct{ Agent string }
	require.NoError(t, json.Unmarshal([]byte(result.Content[0].(*sdk.TextContent).Text), &who))
	return who.Agent
}

// withHeaders adds headers to each request.
type withHeaders struct{ headers http.Header }

func (w withHeaders) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	for name, values := range w.headers {
		request.Header[name] = values
	}
	return http.DefaultTransport.RoundTrip(request)
}

// The page lists every tool.
func TestThePageHasEveryTool(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{Flags: []string{"--api-keys="}})
	var documented []string
	for _, row := range table(t, readDocument(t, doorPage), "## Tools") {
		documented = append(documented, row[0])
	}
	client := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: h.BaseURL() + "/mcp", DisableStandaloneSSE: true,
		HTTPClient: &http.Client{Transport: withHeaders{http.Header{"X-Api-Key": {"dev-key-001"}, "X-Agent-Id": {"researcher"}}}},
	}, nil)
	require.NoError(t, err)
	defer func() { _ = session.Close() }()
	listed, err := session.ListTools(t.Context(), nil)
	require.NoError(t, err)
	for _, tool := range listed.Tools {
		assert.Contains(t, documented, tool.Name)
	}
}
