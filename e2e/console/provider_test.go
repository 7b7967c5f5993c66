package console

import (
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/oidc/oidctest"
)

// eachProvider runs a test on both engines, with an identity provider that knows the servers.
func eachProvider(t *testing.T, run func(t *testing.T, h *house, issuer *oidctest.Issuer)) {
	t.Helper()
	issuers := make(map[string]*oidctest.Issuer)
	issuer := func(t *testing.T) *oidctest.Issuer {
		if issuers[t.Name()] == nil {
			issuers[t.Name()] = oidctest.Start(t)
		}
		return issuers[t.Name()]
	}
	eachIn(t, func(t *testing.T, cfg *serverConfig) {
		cfg.OIDCIssuer, cfg.OIDCAudience = issuer(t).URL, oidctest.Audience
		cfg.OIDCClientID, cfg.OIDCClientSecret, cfg.OIDCScopes = "console", "client-secret", "offline_access"
		cfg.OIDCAgentClaim, cfg.OIDCRolesClaim, cfg.OIDCHumanClaim = "agents", "roles", "person"
	}, func(t *testing.T, h *house) {
		issuer(t).Now = h.clock.Now
		issuer(t).Client("console", "client-secret", h.first().BaseURL()+"/console/sign-in/callback")
		issuer(t).Comes(oidctest.Claims{"agents": "paula", "roles": []string{"reviewer"}, "person": true})
		run(t, h, issuer(t))
	})
}

// leave begins to sign in by the identity provider, and returns where that leads.
func leave(t *testing.T, b *harness.Browser) string {
	t.Helper()
	answer := b.Send(t, "GET", "/console/sign-in", "")
	require.Equal(t, 302, answer.Status, "%s", answer.Body)
	require.Equal(t, "no-store", answer.Header.Get("Cache-Control"))
	return answer.Header.Get("Location")
}

// agree signs in at the identity provider, and returns the path and the query by which it leads back.
func agree(t *testing.T, address string) string {
	t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Get(address)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusFound, response.StatusCode)
	back, err := url.Parse(response.Header.Get("Location"))
	require.NoError(t, err)
	return back.RequestURI()
}

// comeBack comes back from the identity provider, and returns what the page finds in its address.
func comeBack(t *testing.T, b *harness.Browser, path string) url.Values {
	t.Helper()
	answer := b.Send(t, "GET", path, "", "Sec-Fetch-Site", "cross-site")
	require.Equal(t, 303, answer.Status, "%s", answer.Body)
	require.Equal(t, "no-referrer", answer.Header.Get("Referrer-Policy"))
	address, fragment, _ := strings.Cut(answer.Header.Get("Location"), "#")
	require.True(t, strings.HasSuffix(address, "/console"), address)
	found, err := url.ParseQuery(fragment)
	require.NoError(t, err)
	return found
}

// byProvider signs somebody in by the identity provider.
func byProvider(t *testing.T, h *house) *harness.Browser {
	t.Helper()
	b := h.first().Browser()
	code := comeBack(t, b, agree(t, leave(t, b))).Get("code")
	answer := b.SignIn(t, `{"code":"`+code+`"}`)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	return b
}

func TestSigningInByAnIdentityProvider(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		b := h.first().Browser()
		require.JSONEq(t, `{"api_key":true,"provider":true,"you":false}`, string(b.Send(t, "GET", "/console/ways", "").Body))
		away := leave(t, b)
		asked, err := url.Parse(away)
		require.NoError(t, err)
		require.Equal(t, "openid offline_access", asked.Query().Get("scope"))
		require.Equal(t, "S256", asked.Query().Get("code_challenge_method"))
		require.Regexp(t, `^openintent_sign_in_\d+$`, b.Cookies[0].Name)
		require.Equal(t, "/console/sign-in", b.Cookies[0].Path)
		require.Equal(t, http.SameSiteLaxMode, b.Cookies[0].SameSite)
		require.Equal(t, 600, b.Cookies[0].MaxAge)
		require.True(t, b.Cookies[0].HttpOnly)

		code := comeBack(t, b, agree(t, away)).Get("code")
		require.Len(t, b.Cookies, 1, "the way is over, and the session awaits its page")
		thief := *b
		thief.Secret = code
		requireRefused(t, thief.REST(t, "GET", "/v1/whoami", ""), 401, "SESSION_ENDED")
		requireRefused(t, h.first().Browser().SignIn(t, `{"code":"`+code+`"}`), 401, "CODE_UNKNOWN")

		answer := b.At(&h.last().Clients).SignIn(t, `{"code":"`+code+`"}`)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		answer.Decode(t, &b.SignedIn)
		b.Secret = b.SignedIn.Secret
		require.Equal(t, harness.SignedIn{AgentID: "paula", Human: true, Secret: b.Secret}, b.SignedIn)
		h.requireLasts(t, b)
		require.Equal(t, "human", kindOfSender(t, b))
		require.Contains(t, string(b.REST(t, "GET", "/v1/whoami", "").Body), `"roles":["reviewer"]`)
		requireRefused(t, b.SignIn(t, `{"code":"`+code+`"}`), 401, "CODE_UNKNOWN")
		requireRefused(t, b.SignIn(t, withKey(issuer.Token(t, oidctest.Claims{"agents": "paula"}))), 400, "INVALID_FIELD")
		h.requireLasts(t, b)
		harness.RequireWhole(t, h.first().DatabaseURL)
	})
}

// Nobody comes back who has not left with the same browser a moment ago, or whom the provider does not vouch for.
func TestComingBackFromNowhere(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		refused := func(b *harness.Browser, path, reason string) {
			t.Helper()
			found := comeBack(t, b, path)
			require.Equal(t, url.Values{"refused": {reason}}, found)
			requireRefused(t, b.REST(t, "GET", "/v1/whoami", "", "X-OpenIntent-Console", "x"), 401, "SESSION_ENDED")
		}
		b := h.first().Browser()
		back := agree(t, leave(t, b))
		refused(h.first().Browser(), back, "SIGN_IN_EXPIRED")
		refused(b, strings.Replace(back, "state=", "state=x", 1), "SIGN_IN_EXPIRED")
		refused(b, back, "SIGN_IN_EXPIRED")

		b = h.first().Browser()
		back = agree(t, leave(t, b))
		h.clock.Advance(10 * time.Minute)
		refused(b, back, "SIGN_IN_EXPIRED")

		b = h.first().Browser()
		back = agree(t, leave(t, b))
		forged := *b.Cookies[0]
		forged.Value = forged.Value[1:] + forged.Value[:1]
		b.Cookies = []*http.Cookie{&forged}
		refused(b, back, "SIGN_IN_EXPIRED")

		b = h.first().Browser()
		refused(b, strings.Replace(agree(t, leave(t, b)), "code=", "code=x", 1), "SIGN_IN_REFUSED")
		b = h.first().Browser()
		state, err := url.Parse(agree(t, leave(t, b)))
		require.NoError(t, err)
		refused(b, state.Path+"?error=access_denied&state="+state.Query().Get("state"), "SIGN_IN_REFUSED")

		for claims, reason := range map[*oidctest.Claims]string{
			{"agents": "operator"}: "TOKEN_CLAIM_INVALID",
			{"agents": nil}:        "TOKEN_CLAIM_INVALID",
			{"agents": []string{"a", "b"}, "person": true}:               "TOKEN_CLAIM_INVALID",
			{"agents": "paula", "nonce": "another"}:                      "SIGN_IN_REFUSED",
			{"agents": "paula", "aud": oidctest.Audience}:                "TOKEN_INVALID",
			{"agents": "paula", "iss": "https://elsewhere.example"}:      "TOKEN_INVALID",
			{"agents": "paula", "azp": "another"}:                        "TOKEN_INVALID",
			{"agents": "paula", "exp": h.clock.Now().Unix() - 3600}:      "TOKEN_EXPIRED",
			{"agents": "paula", "nbf": h.clock.Now().Unix() + 3600}:      "TOKEN_INVALID",
			{"agents": "paula", "sub": strings.Repeat("a", 2000)}:        "TOKEN_INVALID",
			{"agents": "guest-paula", "person": true, "roles": "a role"}: "",
		} {
			issuer.Comes(*claims)
			b = h.first().Browser()
			path := agree(t, leave(t, b))
			if reason != "" {
				refused(b, path, reason)
				continue
			}
			code := comeBack(t, b, path).Get("code")
			requireRefused(t, b.SignIn(t, `{"code":"`+code+`"}`), 403, "AGENT_RESERVED")
		}

		issuer.Leave()
		b = h.first().Browser()
		refused(b, "/console/sign-in/callback?code=x&state=x", "SIGN_IN_EXPIRED")
		issuer.Return()
		b = h.first().Browser()
		back = agree(t, leave(t, b))
		issuer.Leave()
		refused(b, back, "TOKEN_ISSUER_UNAVAILABLE")
		issuer.Return()
	})
}

// A page has two minutes to take its session over.
func TestACodeEnds(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, _ *oidctest.Issuer) {
		b := h.first().Browser()
		code := comeBack(t, b, agree(t, leave(t, b))).Get("code")
		h.clock.Advance(2 * time.Minute)
		requireRefused(t, b.SignIn(t, `{"code":"`+code+`"}`), 401, "CODE_UNKNOWN")
	})
}

// A link elsewhere leads nobody to the provider, because it would replace the session that somebody has.
func TestAForeignLinkSignsNobodyIn(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, _ *oidctest.Issuer) {
		for site, status := range map[string]int{"cross-site": 403, "same-site": 403, "same-origin": 302, "none": 302} {
			require.Equal(t, status, h.first().Browser().Send(t, "GET", "/console/sign-in", "", "Sec-Fetch-Site", site).Status, site)
		}
	})
}

// Somebody whom the provider lets act as several agents chooses one.
func TestChoosingAnAgent(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		issuer.Comes(oidctest.Claims{"agents": []string{"alice", "bob"}})
		b := h.first().Browser()
		code := comeBack(t, b, agree(t, leave(t, b))).Get("code")
		answer := b.SignIn(t, `{"code":"`+code+`"}`)
		requireRefused(t, answer, 403, "AGENT_NEEDED")
		require.Contains(t, string(answer.Body), `"agents":"alice, bob"`)
		requireRefused(t, b.SignIn(t, `{"code":"`+code+`","agent_id":"carol"}`), 403, "AGENT_NOT_ALLOWED")
		require.Equal(t, 201, b.SignIn(t, `{"code":"`+code+`","agent_id":"bob"}`).Status)
		require.Equal(t, "bob", b.SignedIn.AgentID)
		require.False(t, b.SignedIn.Human)
	})
}

// A session is renewed at the provider, once for all calls, and says what the provider says then.
func TestASessionIsRenewed(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		b := byProvider(t, h)
		h.clock.Advance(58 * time.Minute)
		h.requireLasts(t, b)
		require.Zero(t, issuer.Renewed())
		issuer.Comes(oidctest.Claims{"agents": []string{"paula", "other"}, "roles": []string{"writer"}})
		h.clock.Advance(time.Hour)
		var calls sync.WaitGroup
		for n := range 10 {
			calls.Go(func() {
				answer := b.At(&h.servers[n%len(h.servers)].Clients).REST(t, "GET", "/v1/whoami", "")
				if answer.Status == 503 { // another server renews
					requireReason(t, answer, "SESSION_RENEWS")
					return
				}
				require.Equal(t, 200, answer.Status, "%s", answer.Body)
			})
		}
		calls.Wait()
		require.Equal(t, 1, issuer.Renewed())
		h.requireLasts(t, b)
		require.Contains(t, string(b.At(&h.last().Clients).REST(t, "GET", "/v1/whoami", "").Body), `"roles":["writer"]`)
		require.Empty(t, kindOfSender(t, b), "the provider does not say any more that it is a person")

		h.clock.Advance(time.Hour)
		h.requireLasts(t, b)
		require.Equal(t, 2, issuer.Renewed())

		issuer.Bare(true) // a renewal need not say again who somebody is
		h.clock.Advance(time.Hour)
		h.requireLasts(t, b)
		require.Equal(t, 3, issuer.Renewed())
		require.Contains(t, string(b.At(&h.last().Clients).REST(t, "GET", "/v1/whoami", "").Body), `"roles":["writer"]`)
	})
}

// A session ends when the provider does not renew it, and goes on as long as it cannot be asked and what it has said holds.
func TestASessionEndsWhenTheProviderSaysNo(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		b, dismissed := byProvider(t, h), byProvider(t, h)
		issuer.Leave()
		h.clock.Advance(time.Hour)
		h.requireLasts(t, b) // the skew
		h.clock.Advance(time.Minute)
		requireRefused(t, b.REST(t, "GET", "/v1/whoami", ""), 503, "TOKEN_ISSUER_UNAVAILABLE")
		issuer.Return()
		requireRefused(t, b.REST(t, "GET", "/v1/whoami", ""), 503, "SESSION_RENEWS")
		h.clock.Advance(15 * time.Second)
		h.requireLasts(t, b)

		issuer.Dismiss()
		h.requireOver(t, dismissed)
		h.requireLasts(t, b)

		issuer.Comes(oidctest.Claims{"agents": "quentin", "person": true})
		other := byProvider(t, h)
		issuer.Comes(oidctest.Claims{"agents": "paula", "person": true})
		h.clock.Advance(time.Hour)
		h.requireOver(t, other)
	})
}

// Without what renews it, a session ends with what the provider has said.
func TestASessionEndsWithItsToken(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		issuer.Lasting(false)
		b := byProvider(t, h)
		stream := follow(t, b, "/v1/subscribe/agents/paula")
		h.clock.Advance(time.Hour)
		h.requireLasts(t, b) // the skew
		h.clock.Advance(30 * time.Second)
		h.requireOver(t, b)
		require.Contains(t, stream.rest(t), "SESSION_ENDED")
		require.Zero(t, issuer.Renewed())
	})
}

// The server hands on its own address only if it knows that.
func TestTheAddressIsTheServersOwn(t *testing.T) {
	eachProvider(t, func(t *testing.T, h *house, _ *oidctest.Issuer) {
		answer := h.first().Browser().Send(t, "GET", "/console/sign-in", "", "Host", "evil.example")
		requireRefused(t, answer, 403, "HOST_NOT_ALLOWED")
	})
	public := func(cfg *serverConfig) {
		cfg.OIDCIssuer, cfg.OIDCAudience, cfg.OIDCClientID = "http://127.0.0.1:1", oidctest.Audience, "console"
		cfg.HTTPAddr = "0.0.0.0:0"
	}
	h := harness.Start(t, harness.Options{Configure: public})
	requireRefused(t, h.Browser().Send(t, "GET", "/console/sign-in", ""), 404, "SIGN_IN_UNAVAILABLE")
	require.Contains(t, string(h.Browser().Send(t, "GET", "/console/ways", "").Body), `"provider":false`)
	require.Contains(t, h.Log(), "OPENINTENT_PUBLIC_URL can name it")
}
