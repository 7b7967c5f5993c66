package server

import (
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const console = "https://console.example:8443"

// preflight asks what a browser asks before a call.
func preflight(t *testing.T, address, path, origin, verb, headers string) reply {
	t.Helper()
	return asked(t, address, http.MethodOptions, path, address,
		"Origin", origin, "Access-Control-Request-Method", verb, "Access-Control-Request-Headers", headers)
}

func TestWithoutASettingNoPageOfAnotherOriginIsAllowed(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeys, cfg.HTTPAddr = "mine", "0.0.0.0:0"
	server := start(t, cfg)
	defer server.stop(t)
	address := strings.Replace(server.HTTP, "[::]", "127.0.0.1", 1)
	for _, got := range []reply{
		preflight(t, address, "/v1/intents", console, "POST", "x-api-key"),
		asked(t, address, http.MethodGet, "/docs", address, "Origin", console),
	} {
		require.Empty(t, got.header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, got.header.Get("Vary"))
	}
}

func TestListedOriginsMayCallEveryRouteAndReadItsAnswer(t *testing.T) {
	cfg := testConfig(t)
	cfg.CORSOrigins = "http://localhost:5173, " + console
	server := start(t, cfg)
	defer server.stop(t)
	headers := "authorization,content-type,idempotency-key,if-match,last-event-id,traceparent,x-agent-id,x-api-key," +
		"x-openintent-compat,x-request-id"
	for _, route := range everyRoute(t) {
		if route[0] == http.MethodTrace || route[0] == http.MethodOptions {
			continue
		}
		got := preflight(t, server.HTTP, route[1], console, route[0], headers)
		require.Equal(t, http.StatusNoContent, got.status, "%s: %s", route, got.body)
		require.Equal(t, console, got.header.Get("Access-Control-Allow-Origin"), route)
		require.Equal(t, route[0], got.header.Get("Access-Control-Allow-Methods"))
		require.Equal(t, headers, got.header.Get("Access-Control-Allow-Headers"))
		require.Equal(t, "600", got.header.Get("Access-Control-Max-Age"))
		require.Contains(t, got.header.Get("Vary"), "Origin")
		require.Empty(t, got.header.Get("Access-Control-Allow-Credentials"))
	}
	for _, path := range []string{"/v1/intents", "/healthz", "/docs", "/nowhere", "/v1/subscribe/channels/some"} {
		got := asked(t, server.HTTP, http.MethodGet, path, server.HTTP, "Origin", console)
		require.Equal(t, console, got.header.Get("Access-Control-Allow-Origin"), path)
		require.Equal(t, "Allow, Etag, Link, Location, Retry-After, Www-Authenticate, X-Events-Removed-Through, X-Openintent-Cause, X-Request-Id",
			got.header.Get("Access-Control-Expose-Headers"))
		require.Equal(t, "Origin", got.header.Get("Vary"))
		require.Empty(t, got.header.Get("Access-Control-Allow-Credentials"))
	}
	require.Equal(t, http.StatusUnauthorized,
		asked(t, server.HTTP, http.MethodGet, "/v1/intents", server.HTTP, "Origin", console).status, "the origin is no key")
	require.Equal(t, "Origin", asked(t, server.HTTP, http.MethodGet, "/docs", server.HTTP).header.Get("Vary"))
}

func TestAnUnlistedOriginMethodOrHeaderIsNotAllowed(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeys, cfg.CORSOrigins, cfg.HTTPAddr = "mine", console, "0.0.0.0:0"
	server := start(t, cfg)
	defer server.stop(t)
	address := strings.Replace(server.HTTP, "[::]", "127.0.0.1", 1)
	for name, got := range map[string]reply{
		"origin":    preflight(t, address, "/v1/intents", "https://console.example", "POST", "x-api-key"),
		"subdomain": preflight(t, address, "/v1/intents", "https://evil.console.example:8443", "POST", "x-api-key"),
		"null":      preflight(t, address, "/v1/intents", "null", "POST", "x-api-key"),
		"method":    preflight(t, address, "/v1/intents", console, "CONNECT", "x-api-key"),
		"header":    preflight(t, address, "/v1/intents", console, "POST", "x-forwarded-for"),
		"answer":    asked(t, address, http.MethodGet, "/docs", address, "Origin", "https://console.example"),
	} {
		require.Empty(t, got.header.Get("Access-Control-Allow-Origin"), name)
		require.Contains(t, got.header.Get("Vary"), "Origin", name)
	}
	foreign := preflight(t, address, "/v1/intents", "https://console.example", "POST", "x-api-key")
	require.Equal(t, http.StatusUnauthorized, foreign.status, "only listed origins are answered without a key")
}

func TestOriginsAndHostsMustBeMeant(t *testing.T) {
	const such = "such as https://console.example:8443"
	for origins, problem := range map[string]string{
		"*":                                such,
		"https://*.example":                such,
		"console.example":                  such,
		"null":                             such,
		"https://":                         such,
		"https://console.example:":         such,
		"https://user@console.example":     such,
		"ftp://console.example":            such,
		"https://bücher.example":           such,
		console + ",":                      such,
		console + "/":                      `"` + console + `" instead of`,
		console + "/app?x":                 `"` + console + `" instead of`,
		"HTTPS://Console.example:8443":     `"` + console + `" instead of`,
		"https://console.example:443":      `"https://console.example" instead of`,
		"http://console.example:80":        `"http://console.example" instead of`,
		console + " https://other.example": such,
	} {
		cfg := DefaultConfig()
		cfg.CORSOrigins = origins
		err := cfg.validate()
		require.ErrorContains(t, err, "OPENINTENT_CORS_ORIGINS", origins)
		require.ErrorContains(t, err, problem, origins)
	}
	for _, hosts := range []string{"*", "https://api.example", "api.example:443", "api.example/", "a b", "api.example,", "[::1]", "é.example"} {
		cfg := DefaultConfig()
		cfg.AllowedHosts = hosts
		require.ErrorContains(t, cfg.validate(), "OPENINTENT_ALLOWED_HOSTS must list names", hosts)
	}
	cfg := DefaultConfig()
	cfg.CORSOrigins, cfg.AllowedHosts = console+", http://localhost:5173,http://[::1]:3000", "api.example, ::1,my_host,192.0.2.1"
	require.NoError(t, cfg.validate())
}
