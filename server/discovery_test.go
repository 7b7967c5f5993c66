package server

import (
	"encoding/json"
	"os"
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
