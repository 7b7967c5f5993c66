package strangers

import (
	"crypto/tls"
	"crypto/x509"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// withAuthority runs a test on both engines, on a server that knows an authority's client certificates. Its own clients all show
// alice's, and most of their calls a key besides.
func withAuthority(t *testing.T, test func(t *testing.T, w *world, authority *harness.Authority, clock *ahead)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		authority, clock := harness.NewAuthority(t), &ahead{}
		certificate, key := authority.Server(t)
		h := harness.Start(t, harness.Options{
			URL: url, TLS: authority.Trust(authority.Client(t, "alice", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(5 * time.Minute) })),
			Configure: func(cfg *server.Config) {
				cfg.Clock, cfg.TLSCert, cfg.TLSKey, cfg.TLSClientCA = clock.now, certificate, key, authority.File(t)
				cfg.CORSOrigins = listedOrigin
			},
		})
		w := newWorld(t, h)
		w.readInbox(t)
		test(t, w, authority, clock)
	})
}

// listedOrigin is the origin of pages that may call the server, with a key.
const listedOrigin = "https://console.example"

// showing returns clients of the world that show a certificate.
func (w *world) showing(t *testing.T, authority *harness.Authority, certificate tls.Certificate) *harness.Clients {
	t.Helper()
	return w.OverTLS(t, authority.Trust(certificate))
}

// refusesCall checks that a call without a key is refused over both faces.
func (w *world) refusesCall(t *testing.T, clients *harness.Clients, refused refusal) {
	t.Helper()
	_, err := clients.With("", "").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
	require.Equal(t, refused.reason, harness.Reason(err))
	refused.check(t, clients.With("", "").REST(t, "GET", "/v1/intents", ""))
}

// refusesHandshake checks that no connection comes about on either port.
func (w *world) refusesHandshake(t *testing.T, clients *harness.Clients) {
	t.Helper()
	_, err := clients.As("alice").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
	require.Equal(t, "Unavailable", harness.Code(err).String(), "%v", err)
	request, err := clients.As("alice").Request(t.Context(), "GET", "/v1/intents", "")
	require.NoError(t, err)
	response, err := clients.HTTP.Do(request)
	if err == nil {
		_ = response.Body.Close()
	}
	require.Error(t, err)
}

func TestACertificateActsAsItsAgentAndAsNobodyElse(t *testing.T) {
	databasetest.OneEngineOf(t)
	withAuthority(t, func(t *testing.T, w *world, _ *harness.Authority, _ *ahead) {
		w.opens(t, "")
		isKnownAs(t, w.With("", ""), `{"agent_id":"alice"}`)
		alone := w.With("", "")
		answer := alone.REST(t, "POST", "/v1/intents", `{"title":"By certificate"}`)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		require.Contains(t, string(answer.Body), `"created_by":"alice"`)
		require.Equal(t, 200, w.With("", "alice").REST(t, "GET", "/v1/intents", "").Status)

		denied("AGENT_NOT_ALLOWED").check(t, w.With("", "bob").REST(t, "GET", "/v1/intents", ""))
		denied("AGENT_RESERVED").check(t, w.With("", "operator").REST(t, "GET", "/v1/intents", ""))
		denied("NOT_OPERATOR").check(t, alone.REST(t, "POST", "/v1/keys", `{"label":"x","operator":true}`))
		denied("ROLE_NOT_ALLOWED").check(t, alone.REST(t, "POST", "/v1/agents", `{"agent_id":"alice","role_id":"reviewer"}`))

		unauthenticated("API_KEY_UNKNOWN").check(t, w.With("nope", "").REST(t, "GET", "/v1/intents", ""))
		answer = w.As("bob").REST(t, "POST", "/v1/intents", `{"title":"By key"}`)
		require.Contains(t, string(answer.Body), `"created_by":"bob"`, "a key counts more than the certificate")
		for header, value := range map[string]string{"Origin": listedOrigin, "Sec-Fetch-Site": "cross-site"} {
			page := alone.REST(t, "POST", "/v1/intents", `{"title":"By a page"}`, header, value)
			unauthenticated("API_KEY_MISSING").check(t, page)
		}
	})
}

func TestCertificatesThatAreNotAccepted(t *testing.T) {
	databasetest.OneEngineOf(t)
	withAuthority(t, func(t *testing.T, w *world, authority *harness.Authority, _ *ahead) {
		before := w.ledger(t)
		none := w.OverTLS(t, authority.Trust())
		w.refusesCall(t, none, unauthenticated("API_KEY_MISSING"))
		require.Equal(t, 200, none.As("alice").REST(t, "GET", "/v1/intents", "").Status, "a key needs no certificate")
		require.Equal(t, 200, none.With("", "").REST(t, "GET", "/readyz", "").Status)
		for what, name := range map[string]string{
			"the operator's name": "operator", "the system's": "system", "everybody's": "*", "a role": "role:reviewer", "none": "", "a slash": "a/b",
		} {
			t.Run(what, func(t *testing.T) {
				w.refusesCall(t, w.showing(t, authority, authority.Client(t, name, nil)), unauthenticated("CERTIFICATE_NAME_INVALID"))
			})
		}
		for what, certificate := range map[string]tls.Certificate{
			"another authority's": harness.NewAuthority(t).Client(t, "alice", nil),
			"expired":             authority.Client(t, "alice", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) }),
			"not yet valid":       authority.Client(t, "alice", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Minute) }),
			"a server's":          authority.Client(t, "alice", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} }),
		} {
			t.Run(what, func(t *testing.T) { w.refusesHandshake(t, w.showing(t, authority, certificate)) })
		}
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

func TestAnExpiredCertificateEndsWhatItBegan(t *testing.T) {
	withAuthority(t, func(t *testing.T, w *world, _ *harness.Authority, clock *ahead) {
		begun := w.begin(t, "")
		clock.pass(3 * time.Minute)
		w.opens(t, "")
		begun.goOn(t)
		clock.pass(3 * time.Minute)
		begun.endWith(t, "CERTIFICATE_EXPIRED", "CERTIFICATE_EXPIRED")
		w.refusesCall(t, &w.Clients, unauthenticated("CERTIFICATE_EXPIRED"))
		w.goesOn(t)
	})
}
