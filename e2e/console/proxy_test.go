package console

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/oidc/oidctest"
)

// Behind a proxy that ends TLS, the public address says which pages are the server's, and that browsers speak TLS.
func TestBehindAProxy(t *testing.T) {
	issuer := oidctest.Start(t)
	const public = "https://openintent.example/agents"
	issuer.Client("console", "client-secret", public+"/console/sign-in/callback")
	h := harness.Start(t, harness.Options{Configure: func(cfg *serverConfig) {
		cfg.HTTPAddr, cfg.PublicURL = "0.0.0.0:0", public
		cfg.OIDCIssuer, cfg.OIDCAudience, cfg.OIDCClientID, cfg.OIDCClientSecret = issuer.URL, oidctest.Audience, "console", "client-secret"
	}})
	direct := func() *harness.Browser { return h.Browser().Named("127.0.0.1:8000") }
	for _, origin := range []string{"https://openintent.example", "http://127.0.0.1:8000"} {
		b := direct()
		require.Equal(t, 201, b.SignIn(t, withKey(harness.BoundKey), "Origin", origin, "Sec-Fetch-Site", "same-origin").Status)
		require.Equal(t, "__Host-openintent_session", b.Cookies[0].Name)
		require.True(t, b.Cookies[0].Secure)
		require.Equal(t, 200, b.REST(t, "GET", "/v1/whoami", "", "Origin", origin).Status)
		requireRefused(t, b.REST(t, "GET", "/v1/whoami", "", "Origin", "https://openintent.example:8443"), 403, "ORIGIN_NOT_ALLOWED")
	}
	b := direct()
	back := agree(t, leave(t, b))
	require.Equal(t, "__Secure-openintent_sign_in", b.Cookies[0].Name)
	require.Equal(t, "/agents/console/sign-in", b.Cookies[0].Path)
	path, found := strings.CutPrefix(back, "/agents")
	require.True(t, found, "the proxy takes its path away")
	answer := b.Send(t, "GET", path, "")
	require.Equal(t, 303, answer.Status)
	require.Regexp(t, `^https://openintent\.example/agents/console#code=ocs_`, answer.Header.Get("Location"))
}
