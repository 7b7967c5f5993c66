package main

import (
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

func TestHealthAsksTheServerOfThisEnvironment(t *testing.T) {
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.AdminAddr = "127.0.0.1:0" }})
	rest := strings.TrimPrefix(h.BaseURL(), "http://")
	ready := func(arguments ...string) {
		t.Helper()
		did := at(t, "", append([]string{"health"}, arguments...)...)
		require.Equal(t, exitOK, did.exit, did.stderr)
		require.Equal(t, "ready\n", did.stdout)
	}
	clearEnvironment(t)
	ready(rest)
	ready("http://" + rest)
	ready("http://" + rest + "/")
	t.Setenv("OPENINTENT_HTTP_ADDR", rest)
	ready()
	_, port, err := net.SplitHostPort(rest)
	require.NoError(t, err)
	t.Setenv("OPENINTENT_HTTP_ADDR", ":"+port)
	ready()
	t.Setenv("OPENINTENT_HTTP_ADDR", "")
	t.Setenv("OPENINTENT_SETTINGS_FILE", file(t, "http-addr: 0.0.0.0:"+port))
	ready()
	t.Setenv("OPENINTENT_SETTINGS_FILE", file(t, "http-addr: 127.0.0.1:1\nadmin-addr: 127.0.0.1:"+port))
	ready()

	require.NoError(t, h.Stop())
	did := at(t, "", "health", rest, "--timeout", "2s")
	require.Equal(t, exitUnavailable, did.exit)
	require.Contains(t, did.stderr, "the server at http://"+rest+" does not answer")
}

func TestHealthOfAServerThatIsNotReady(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct {
		status int
		body   string
		says   string
	}{
		{503, `{"status": 503, "detail": "The server is stopping; try again elsewhere."}`, "is not ready: The server is stopping; try again elsewhere."},
		{200, `{"status": "ok"}`, "is not ready: it answers 200 OK, as no server of openintent does"},
		{200, `<html>`, "is not ready: it answers 200 OK, as no server of openintent does"},
		{302, ``, "is not ready: it answers 302 Found, as no server of openintent does"},
	} {
		away := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(test.status)
			_, _ = w.Write([]byte(test.body))
		}))
		did := at(t, "", "health", away.URL)
		away.Close()
		require.Equal(t, exitUnavailable, did.exit, test.body)
		require.Contains(t, did.stderr, test.says)
	}
}

// On this machine any certificate will do, because certificates rarely name loopback. Elsewhere it must be right.
func TestHealthOverTLS(t *testing.T) {
	clearEnvironment(t)
	ready := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/readyz" {
			_, _ = w.Write([]byte(`{"status": "ready"}`))
		}
	}))
	defer ready.Close()
	did := at(t, "", "health", ready.URL)
	require.Equal(t, exitOK, did.exit, did.stderr)
	plain := strings.Replace(ready.URL, "https", "http", 1)
	did = at(t, "", "health", plain)
	require.Equal(t, exitUnavailable, did.exit)
	require.Contains(t, did.stderr, "the server at "+plain+" is not ready: it speaks TLS; ask "+ready.URL)
	for host, here := range map[string]bool{"127.0.0.1": true, "[::1]": true, "localhost": true, "10.1.2.3": false, "localhost.example": false} {
		trust := asker(&url.URL{Scheme: "https", Host: host + ":8000"}).Transport.(*http.Transport).TLSClientConfig
		require.Equal(t, here, trust != nil && trust.InsecureSkipVerify, host)
	}
}

func TestHealthNeedsAnAddress(t *testing.T) {
	for _, address := range []string{"http://", "ftp://a:1", "http://a:1/path", "a b"} {
		clearEnvironment(t)
		did := at(t, "", "health", address)
		require.Equal(t, exitUsage, did.exit, "%s: %s", address, did.stderr)
		require.Contains(t, did.stderr, "it must be host:port")
	}
	clearEnvironment(t)
	t.Setenv("OPENINTENT_HTTP_ADDR", "127.0.0.1:0")
	require.Contains(t, at(t, "", "health").stderr, "name its address")
	t.Setenv("OPENINTENT_RETENTION", "soon")
	require.Equal(t, exitUsage, at(t, "", "health").exit)
}

func TestWhereAServerOfTheseSettingsListensOnThisMachine(t *testing.T) {
	for _, test := range []struct{ http, admin, cert, want string }{
		{"127.0.0.1:8000", "", "", "http://127.0.0.1:8000"},
		{"0.0.0.0:8000", "", "", "http://127.0.0.1:8000"},
		{":8000", "", "c.pem", "https://127.0.0.1:8000"},
		{"[::]:8000", "", "", "http://[::1]:8000"},
		{"10.1.2.3:8000", "", "", "http://10.1.2.3:8000"},
		{"0.0.0.0:8000", "0.0.0.0:8001", "c.pem", "http://127.0.0.1:8001"},
	} {
		address, err := addressOnThisMachine(server.Config{HTTPAddr: test.http, AdminAddr: test.admin, TLSCert: test.cert})
		require.NoError(t, err)
		require.Equal(t, test.want, address)
	}
}
