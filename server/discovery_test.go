package server

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDiscoveryNeedsNoKey(t *testing.T) {
	r := newREST(t)
	read := func(path string) map[string]any {
		got := r.call(t, "GET", path, "", "X-API-Key", "")
		require.Equal(t, 200, got.status)
		require.Equal(t, "application/json", got.header.Get("Content-Type"))
		var document map[string]any
		require.NoError(t, json.Unmarshal([]byte(got.body), &document))
		return document
	}
	discovery := read("/.well-known/openintent.json")
	require.Equal(t, "OpenIntent Coordination Protocol", discovery["protocol"])
	require.Equal(t, "0.1", discovery["version"])
	require.Contains(t, discovery["rfcUrls"], "/rfc/0021")
	require.Contains(t, discovery["capabilities"], "messaging")
	require.Equal(t, "/openapi.json", discovery["openApiUrl"])
	require.Equal(t, []any{
		map[string]any{"name": "mcp", "protocol": "Model Context Protocol", "path": "/mcp", "page": "docs/doors/mcp.md"},
		map[string]any{
			"name": "repomesh", "protocol": "RepoMesh Agent Communication Protocol", "path": "/v1/repomesh", "page": "docs/doors/repomesh.md",
		},
	}, discovery["doors"], "those that are open, and no others")
	require.Equal(t, discovery["doors"], read("/openapi.json")["x-doors"])

	compatibility := read("/.well-known/openintent-compat.json")
	require.Equal(t, "1.2.3", compatibility["version"])
	require.Equal(t, "full", compatibility["rfcCompliance"].(map[string]any)["RFC-0021"])
	require.Equal(t, true, compatibility["features"].(map[string]any)["messaging"])
}

// Every door has a protocol and a page.
func TestEveryDoorCanBeListed(t *testing.T) {
	require.Equal(t, sortedKeys(doorMakers), sortedKeys(protocolsOfDoors))
	for _, listed := range listDoors(sortedKeys(doorMakers)) {
		page, err := os.ReadFile("../" + listed.Page)
		require.NoError(t, err)
		require.Contains(t, string(page), "`"+listed.Path+"`", listed.Page)
	}
	require.Equal(t, []listedDoor{}, listDoors(nil), "a list without entries, and not null")
}

func TestServerConfigNeedsAKey(t *testing.T) {
	r := newREST(t)
	problemOf(t, r.call(t, "GET", "/api/v1/server/config", "", "X-API-Key", ""), 401)
	got := r.call(t, "GET", "/api/v1/server/config", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, `{"protocol_version":"0.1","suspension":{"default_retry_policy":null}}`, got.body)
}

func TestTheRootLeadsToTheDocuments(t *testing.T) {
	r := newREST(t)
	for _, method := range []string{"GET", "HEAD"} {
		got := r.call(t, method, "/", "", "X-API-Key", "")
		require.Equal(t, 302, got.status)
		require.Equal(t, "docs", got.header.Get("Location"))
	}
	problemOf(t, r.call(t, "POST", "/", ""), 405)
}

func TestDocsLoadNothingFromElsewhere(t *testing.T) {
	r := newREST(t)
	got := r.call(t, "GET", "/docs", "", "X-API-Key", "")
	require.Equal(t, 200, got.status)
	require.Equal(t, "text/html; charset=utf-8", got.header.Get("Content-Type"))
	require.Contains(t, got.body, "/openapi.json")
	require.Contains(t, got.body, `api["x-doors"]`, "the doors that are open are listed")
	require.NotContains(t, got.body, "http://")
	require.NotContains(t, got.body, "https://")
	require.NotContains(t, got.body, "innerHTML", "the document's content is inserted as text, never as markup")
}

func TestTheAPIDocumentSaysWhatTheServerDoes(t *testing.T) {
	r := newREST(t)
	got := r.call(t, "GET", "/openapi.json", "", "X-API-Key", "")
	require.Equal(t, 200, got.status)
	var api struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Responses   map[string]any
			Parameters  []struct{ Name, In, Description string }
		}
		Definitions map[string]any
	}
	require.NoError(t, json.Unmarshal([]byte(got.body), &api))
	for path, operations := range api.Paths {
		require.NotContains(t, path, ".id}")
		for verb, operation := range operations {
			require.Contains(t, operation.Responses, "default", path)
			if verb == "delete" {
				require.Contains(t, operation.Responses, statusOfDeletion(path), path)
			}
			for _, parameter := range operation.Parameters {
				if parameter.In == "path" {
					require.Contains(t, path, "{"+parameter.Name+"}")
				}
			}
		}
	}
	require.Contains(t, api.Paths["/v1/tasks"]["post"].Responses, "201")
	require.Contains(t, api.Paths["/v1/channels/{channel_id}/messages"]["post"].Responses, "201")
	require.Contains(t, api.Paths["/v1/channels/{channel_id}/ask"]["post"].Responses, "200")
	require.Contains(t, api.Paths["/v1/channels/{channel_id}"], "patch")
	require.Contains(t, api.Paths["/v1/channels/{channel_id}"], "get")
	require.Contains(t, api.Paths["/v1/subscriptions"]["post"].Responses, "201")
	for path, parameters := range map[string][]string{
		"/v1/subscribe/channels/{channel_id}":           {"event_types", "message_type", "correlation_id", "include"},
		"/v1/subscribe/intents/{intent_id}":             {"event_types", "message_type", "correlation_id", "include"},
		"/v1/intents/{intent_id}/subscribe":             {"event_types", "message_type", "correlation_id", "include"},
		"/v1/subscribe/agents/{agent_id}":               {"event_types", "message_type", "correlation_id", "include"},
		"/v1/agents/{agent_id}/subscribe":               {"event_types", "message_type", "correlation_id", "include"},
		"/v1/subscribe/subscriptions/{subscription_id}": {"max_outstanding"},
	} {
		require.Contains(t, api.Paths[path], "get", path)
		var keys []string
		for _, parameter := range api.Paths[path]["get"].Parameters {
			if parameter.In == "query" && parameter.Name != "last_event_id" {
				keys = append(keys, parameter.Name)
				require.NotEmpty(t, parameter.Description, parameter.Name)
			}
		}
		require.Equal(t, parameters, keys, path)
	}
	require.Contains(t, api.Definitions, "Problem")
	require.Contains(t, got.body, `"urn:openintent:error`[1:])

	table, err := newRoutes()
	require.NoError(t, err)
	for _, route := range table.all {
		path := strings.ReplaceAll("/"+strings.Join(route.segments, "/"), ".id}", "_id}")
		require.Contains(t, api.Paths[path], strings.ToLower(route.verb), path)
	}
}

// statusOfDeletion is the status that DELETE on a path answers with: it has a body only where there is something to
// return.
func statusOfDeletion(path string) string {
	switch path {
	case "/v1/channels/{channel_id}", "/v1/channels/{channel_id}/members/{agent_id}", "/v1/subscriptions/{subscription_id}",
		"/v1/intents/{intent_id}/leases/{lease_id}", "/v1/channels/{channel_id}/messages/{message_id}/claim",
		"/v1/channels/{channel_id}/messages/{message_id}/reactions/{signal}", "/v1/channels/{channel_id}/messages/{message_id}":
		return "200"
	}
	return "204"
}
