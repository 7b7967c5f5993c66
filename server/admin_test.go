package server

import (
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// adminPaths are those of the admin address that answer at once.
func adminPaths() (paths []string) {
	for _, name := range []string{"allocs", "block", "goroutine", "heap", "mutex", "symbol", "threadcreate"} {
		paths = append(paths, profiles+name)
	}
	return append(paths, "/", "/healthz", "/readyz", "/metrics", profiles+"trace?seconds=0.01", profiles+"profile?seconds=1")
}

func TestTheAdminAddressTellsHowTheServerIs(t *testing.T) {
	cfg := testConfig(t)
	cfg.AdminAddr = "127.0.0.1:0"
	server := start(t, cfg)
	defer server.stop(t)
	for _, path := range adminPaths() {
		got := asked(t, server.Admin, http.MethodGet, path, server.Admin)
		require.Equal(t, http.StatusOK, got.status, "%s: %s", path, got.body)
		require.NotEmpty(t, got.body, path)
	}
	require.Contains(t, asked(t, server.Admin, http.MethodGet, "/", "").body, "/debug/pprof/heap\n")
	require.Contains(t, asked(t, server.HTTP, http.MethodGet, "/metrics", "").body, "openintent_streams_open", "it stays on the REST port")
	require.NotContains(t, cfg.Log.(*lockedBuffer).String(), "other machines may reach the admin address")
}

// What a stranger on the network or in a page can try at the admin address.
func TestTheAdminAddressGivesStrangersNothing(t *testing.T) {
	cfg := testConfig(t)
	cfg.AdminAddr = "127.0.0.1:0"
	server := start(t, cfg)
	defer server.stop(t)
	for _, path := range adminPaths() {
		for _, foreign := range []struct{ host, origin, reason string }{
			{"attacker.example", "", "HOST_NOT_ALLOWED"},
			{"attacker.example", "http://attacker.example", "HOST_NOT_ALLOWED"},
			{"10.0.0.1", "", "HOST_NOT_ALLOWED"},
			{server.Admin, "https://attacker.example", "ORIGIN_NOT_ALLOWED"},
			{server.Admin, "null", "ORIGIN_NOT_ALLOWED"},
		} {
			got := asked(t, server.Admin, http.MethodGet, path, foreign.host, "Origin", foreign.origin)
			if foreign.origin == "" {
				got = asked(t, server.Admin, http.MethodGet, path, foreign.host)
			}
			require.Equal(t, foreign.reason, problemOf(t, got, http.StatusForbidden)["reason"], "%s %s", path, foreign)
		}
		for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodDelete, http.MethodOptions} {
			require.Equal(t, http.StatusMethodNotAllowed, asked(t, server.Admin, verb, path, server.Admin).status, "%s %s", verb, path)
		}
		if strings.HasPrefix(path, profiles) {
			require.Equal(t, http.StatusNotFound, asked(t, server.HTTP, http.MethodGet, path, "").status, "the REST port has no profiles")
		}
	}
	for _, path := range []string{
		profiles + "cmdline", profiles, profiles + "../healthz", "//healthz", "/v1/intents", "/docs", "/mcp", "/openapi.json", profiles + "heap/",
	} {
		got := asked(t, server.Admin, http.MethodGet, path, server.Admin, "X-API-Key", DevelopmentKey)
		require.Equal(t, "ROUTE_NOT_FOUND", problemOf(t, got, http.StatusNotFound)["reason"], path)
	}
}

// Where other machines reach the admin address, a page could still make its own name mean it. It cannot make that an IP address.
func TestTheAdminAddressOfOthersAnswersUnderAddressesAndToldNames(t *testing.T) {
	cfg := testConfig(t)
	cfg.AdminAddr, cfg.APIKeys, cfg.AllowedHosts, cfg.CORSOrigins = "0.0.0.0:0", "mine", "monitor.example", "https://console.example"
	server := start(t, cfg)
	defer server.stop(t)
	_, port, err := net.SplitHostPort(server.Admin)
	require.NoError(t, err)
	address := net.JoinHostPort("127.0.0.1", port)
	for host, status := range map[string]int{
		"10.1.2.3:8001": http.StatusOK, "[2001:db8::1]:8001": http.StatusOK, "localhost:8001": http.StatusOK,
		"monitor.example:8001": http.StatusOK, "attacker.example:8001": http.StatusForbidden, "10.1.2.3.attacker.example": http.StatusForbidden,
	} {
		got := asked(t, address, http.MethodGet, "/metrics", host)
		require.Equal(t, status, got.status, host)
		if status == http.StatusForbidden {
			problem := problemOf(t, got, status)
			require.Equal(t, "HOST_NOT_ALLOWED", problem["reason"])
			require.Contains(t, problem["detail"], "needs no key")
		}
	}
	page := asked(t, address, http.MethodGet, "/metrics", "10.1.2.3:8001", "Origin", "https://console.example")
	require.Equal(t, "ORIGIN_NOT_ALLOWED", problemOf(t, page, http.StatusForbidden)["reason"], "a console's page gets no profiles")
	require.Contains(t, cfg.Log.(*lockedBuffer).String(), "other machines may reach the admin address")
}

// Whoever watches the admin address sees the server stop: it says so until the last call has ended.
func TestTheAdminAddressAnswersWhileTheServerStops(t *testing.T) {
	server, services, outcomes := startStubborn(t, patience)
	stopped := make(chan error, 1)
	go func() { stopped <- server.stop() }()
	require.Eventually(t, func() bool {
		got := asked(t, services.admin, http.MethodGet, "/readyz", "")
		return got.status == http.StatusServiceUnavailable
	}, patience, time.Millisecond)
	close(services.finish)
	require.NoError(t, <-outcomes)
	require.NoError(t, <-outcomes)
	require.NoError(t, <-stopped)
	_, err := net.Dial("tcp", services.admin)
	require.Error(t, err)
}

func TestAnAdminPortThatIsTakenIsARefusalToStart(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer func() { _ = taken.Close() }()
	cfg := testConfig(t)
	cfg.AdminAddr = taken.Addr().String()
	cfg.Log = io.Discard
	require.ErrorContains(t, Run(t.Context(), cfg, nil), "the admin port cannot be opened")
}
