package server

import (
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/internal/oidc/oidctest"
)

// trustingConfig is the configuration of a server with keys that trusts an issuer.
func trustingConfig(t *testing.T) (Config, *oidctest.Issuer) {
	issuer, cfg := oidctest.Start(t), testConfig(t)
	cfg.APIKeys, cfg.OIDCIssuer, cfg.OIDCAudience = "mine", issuer.URL, "https://audience.example"
	return cfg, issuer
}

// publicBase is a public address with a path.
const publicBase = "https://openintent.example/team/agents"

// startPublic starts a server that other machines reach as well, and returns its address.
func startPublic(t *testing.T, cfg Config) string {
	cfg.HTTPAddr = "0.0.0.0:0"
	server := start(t, cfg)
	t.Cleanup(func() { server.stop(t) })
	_, port, err := net.SplitHostPort(server.HTTP)
	require.NoError(t, err)
	return "127.0.0.1:" + port
}

// metadataOf is all that is said of the resource at an address.
func metadataOf(address, query, issuer string) string {
	return `{"resource":"` + address + `/mcp` + query + `","authorization_servers":["` + issuer + `"],"bearer_methods_supported":["header"],` +
		`"resource_name":"openintent","resource_documentation":"` + address + `/docs"}`
}

func TestThePublicAddressIsTheResource(t *testing.T) {
	cfg, issuer := trustingConfig(t)
	cfg.PublicURL = publicBase + "/"
	address := startPublic(t, cfg)
	for _, path := range []string{resourcePath, resourcePath + "/mcp", resourcePath + "/team/agents/mcp"} {
		for _, host := range []string{address, "evil.example", "localhost", ""} {
			got := asked(t, address, "GET", path, host,
				"X-Forwarded-Host", "evil.example", "Forwarded", "host=evil.example;proto=http", "X-Forwarded-Prefix", "/evil")
			require.Equal(t, 200, got.status, path)
			require.Equal(t, metadataOf(publicBase, "", issuer.URL), got.body)
			require.Equal(t, "application/json", got.header.Get("Content-Type"))
			require.Equal(t, "public, max-age=300", got.header.Get("Cache-Control"))
			require.Equal(t, `Bearer realm="openintent", resource_metadata="`+publicBase+resourcePath+`/mcp"`,
				asked(t, address, "POST", "/mcp", host, "X-Forwarded-Host", "evil.example").header.Get("WWW-Authenticate"))
		}
	}
	wrong := asked(t, address, "GET", "/mcp", "", "X-API-Key", issuer.Token(t, oidctest.Claims{"aud": "https://other.example"}))
	require.Equal(t, 401, wrong.status)
	require.Contains(t, wrong.header.Get("WWW-Authenticate"), publicBase)
	require.Contains(t, wrong.body, "TOKEN_INVALID")

	for _, path := range []string{"/v1/intents", "/c2a", "/agent-channel", "/v1/repomesh/messages"} {
		got := asked(t, address, "GET", path, "")
		require.Equal(t, 401, got.status, path)
		require.Equal(t, `Bearer realm="openintent"`, got.header.Get("WWW-Authenticate"), path)
	}
	got := asked(t, address, "GET", "/mcp", "", "X-API-Key", "mine")
	require.Equal(t, 403, got.status)
	require.Empty(t, got.header.Get("WWW-Authenticate"))
}

// An address that asks for other tools is a resource of its own, because clients compare all of it.
func TestTheResourceOfAnAddressThatAsksForTools(t *testing.T) {
	cfg, issuer := trustingConfig(t)
	cfg.PublicURL, cfg.Doors = publicBase, "mcp,c2a"
	address := startPublic(t, cfg)
	for query, resource := range map[string]string{
		"?tools=c2a": "?tools=c2a", "?tools=agent-channel": "?tools=agent-channel", "?tools=": "", "?x=%22&resource=https://evil.example": "",
	} {
		require.Equal(t, metadataOf(publicBase, resource, issuer.URL), asked(t, address, "GET", resourcePath+"/mcp"+query, "").body, query)
		require.Equal(t, `Bearer realm="openintent", resource_metadata="`+publicBase+resourcePath+`/mcp`+resource+`"`,
			asked(t, address, "POST", "/mcp"+query, "").header.Get("WWW-Authenticate"), query)
	}
	for _, query := range []string{"?tools=everything", "?tools=c2a&tools=c2a", "?tools=repomesh", "?tools=%22,%20realm=%22evil"} {
		problemOf(t, asked(t, address, "GET", resourcePath+"/mcp"+query, ""), 404)
		require.Equal(t, `Bearer realm="openintent"`, asked(t, address, "POST", "/mcp"+query, "").header.Get("WWW-Authenticate"), query)
	}
}

func TestTheMetadataIsOnlyReadAndOnlyThere(t *testing.T) {
	cfg, _ := trustingConfig(t)
	cfg.PublicURL = publicBase
	address := startPublic(t, cfg)
	for _, path := range []string{resourcePath, resourcePath + "/mcp"} {
		head := asked(t, address, "HEAD", path, "")
		require.Equal(t, 200, head.status)
		require.Empty(t, head.body)
		for _, method := range []string{"POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			got := asked(t, address, method, path, "")
			problemOf(t, got, 405)
			require.Equal(t, "GET, HEAD", got.header.Get("Allow"))
		}
	}
	for _, path := range []string{
		"/", "/mcp/", "/%6dcp", "//mcp", "/./mcp", "/mcp/..", "/../mcp", "/../../mcp", "/%2e%2e/mcp", "/..%2fmcp", "/mcp%00", "/mcp;x", "/MCP",
		"/c2a", "/v1/intents", "/team/agents", "/team/agents/", "/team/mcp", "/team/agents/../mcp", "/evil/mcp", "/etc/passwd", "-x", "s",
	} {
		got := asked(t, address, "GET", resourcePath+path, "")
		require.Equal(t, "ROUTE_NOT_FOUND", problemOf(t, got, 404)["reason"], path)
	}
	problemOf(t, asked(t, address, "GET", "/team/agents"+resourcePath+"/mcp", ""), 404)
}

// On loopback a client finds the address by which it came, if that can only mean this machine.
func TestOnLoopbackTheResourceIsWhereTheClientCame(t *testing.T) {
	cfg, issuer := trustingConfig(t)
	cfg.AllowedHosts, cfg.OIDCScopes = "api.example", "openid, agents:use"
	server := start(t, cfg)
	defer server.stop(t)
	plain := func(got reply) {
		t.Helper()
		require.Equal(t, 401, got.status)
		require.Equal(t, `Bearer realm="openintent"`, got.header.Get("WWW-Authenticate"))
	}
	for _, host := range []string{server.HTTP, "localhost", "LocalHost:9000", "127.8.8.8:80", "[::1]:8000"} {
		got := asked(t, server.HTTP, "GET", resourcePath+"/mcp", host)
		require.Equal(t, 200, got.status, host)
		require.Equal(t, `{"resource":"http://`+host+`/mcp","authorization_servers":["`+issuer.URL+`"],"scopes_supported":["openid","agents:use"],`+
			`"bearer_methods_supported":["header"],"resource_name":"openintent","resource_documentation":"http://`+host+`/docs"}`, got.body)
		require.Equal(t, `Bearer realm="openintent", resource_metadata="http://`+host+resourcePath+`/mcp"`,
			asked(t, server.HTTP, "POST", "/mcp", host).header.Get("WWW-Authenticate"))
	}
	for _, host := range []string{"api.example", "api.example:8000", "localhost:8000000"} {
		problemOf(t, asked(t, server.HTTP, "GET", resourcePath+"/mcp", host), 404)
		plain(asked(t, server.HTTP, "POST", "/mcp", host))
	}
	for _, host := range []string{
		"evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "localhost:", "localhost:a", "localhost:80,evil.example",
		"localhost@evil.example", "localhost:80@evil.example", "[::1]evil.example",
	} {
		got := asked(t, server.HTTP, "GET", resourcePath+"/mcp", host)
		require.GreaterOrEqual(t, got.status, 400, host)
		require.NotContains(t, got.body, issuer.URL, host)
		require.NotContains(t, asked(t, server.HTTP, "POST", "/mcp", host).header.Get("WWW-Authenticate"), "resource_metadata", host)
	}
	encrypted := httptest.NewRequest(http.MethodGet, "https://localhost:8443/mcp", http.NoBody)
	require.Equal(t, "https://localhost:8443", ownAddress("", true, encrypted))
	require.NotContains(t, cfg.Log.(*lockedBuffer).String(), "OPENINTENT_PUBLIC_URL", "nothing is missing")
}

// A proxy on this machine may send the name of this machine as Host.
func TestOnLoopbackThePublicAddressGoesFirst(t *testing.T) {
	cfg, issuer := trustingConfig(t)
	cfg.PublicURL = publicBase
	server := start(t, cfg)
	defer server.stop(t)
	for _, host := range []string{server.HTTP, "localhost"} {
		require.Equal(t, metadataOf(publicBase, "", issuer.URL), asked(t, server.HTTP, "GET", resourcePath+"/mcp", host).body)
	}
}

// Without an issuer, without an address and without the door, nothing is said.
func TestWithoutAnIssuerOrAnAddressThereIsNoResource(t *testing.T) {
	none, _ := trustingConfig(t)
	none.OIDCIssuer, none.OIDCAudience, none.PublicURL = "", "", publicBase
	unnamed, _ := trustingConfig(t)
	for name, cfg := range map[string]Config{"no issuer": none, "no address": unnamed} {
		t.Run(name, func(t *testing.T) {
			address := startPublic(t, cfg)
			for _, host := range []string{address, "localhost", "evil.example"} {
				for _, path := range []string{resourcePath, resourcePath + "/mcp"} {
					require.Equal(t, "ROUTE_NOT_FOUND", problemOf(t, asked(t, address, "GET", path, host), 404)["reason"])
				}
				got := asked(t, address, "POST", "/mcp", host)
				require.Equal(t, 401, got.status)
				require.Equal(t, `Bearer realm="openintent"`, got.header.Get("WWW-Authenticate"))
			}
		})
	}
	require.Contains(t, unnamed.Log.(*lockedBuffer).String(), "OPENINTENT_PUBLIC_URL can name it")
	closed, _ := trustingConfig(t)
	closed.PublicURL, closed.Doors = publicBase, "c2a"
	address := startPublic(t, closed)
	problemOf(t, asked(t, address, http.MethodGet, resourcePath+"/mcp", ""), 404)
}

func TestScopesThatThereCannotBe(t *testing.T) {
	cfg := DefaultConfig()
	cfg.OIDCScopes = "openid"
	require.ErrorContains(t, cfg.validate(), "OPENINTENT_OIDC_SCOPES is set without OPENINTENT_OIDC_ISSUER")
	cfg.OIDCIssuer, cfg.OIDCAudience = "https://id.example.com", "a"
	require.NoError(t, cfg.validate())
	for _, scopes := range []string{"openid profile", "openid,", `a"b`, `a\b`, "ä"} {
		cfg.OIDCScopes = scopes
		require.ErrorContains(t, cfg.validate(), "OPENINTENT_OIDC_SCOPES must list scopes", scopes)
	}
}
