package console

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// A session is its key's on every server, until somebody signs out on any.
func TestASessionHoldsOnEveryServer(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		b := h.first().SignIn(t, withKey(harness.BoundKey))
		require.Equal(t, harness.SignedIn{AgentID: harness.BoundAgent, Secret: b.Secret}, b.SignedIn)
		for _, one := range h.servers {
			at := b.At(&one.Clients)
			shown := at.REST(t, "GET", "/console/session", "")
			require.Equal(t, 200, shown.Status)
			require.JSONEq(t, `{"agent_id":"bound-agent","human":false,"operator":false,"read_only":false}`, string(shown.Body))
			require.Equal(t, "no-store", shown.Header.Get("Cache-Control"))
			require.Contains(t, string(at.REST(t, "GET", "/v1/whoami", "").Body), `"agent_id":"bound-agent"`)
			made := at.REST(t, "POST", "/v1/intents", `{"title":"Mine"}`)
			require.Equal(t, 201, made.Status, "%s", made.Body)
			require.Contains(t, string(made.Body), `"created_by":"bound-agent"`)
		}
		gone := *b
		require.Equal(t, 204, b.At(&h.last().Clients).REST(t, "DELETE", "/console/session", "").Status)
		h.requireOver(t, &gone)
		requireRefused(t, gone.REST(t, "DELETE", "/console/session", ""), 401, "SESSION_ENDED")
	})
}

// The cookie is the browser's alone, and goes nowhere else.
func TestTheCookieIsForThisServerAlone(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	b := h.Browser()
	answer := b.SignIn(t, withKey(harness.BoundKey))
	require.Len(t, b.Cookies, 1)
	require.Equal(t, b.PlainCookie(), b.Cookies[0].Name)
	require.Regexp(t, `^openintent_session_\d+=[\w-]{64}; Path=/; Max-Age=604800; HttpOnly; SameSite=Strict$`, answer.Header.Get("Set-Cookie"))
	require.NotContains(t, string(answer.Body), b.Cookies[0].Value)
	require.NotContains(t, h.Log(), b.Cookies[0].Value)
	require.NotContains(t, h.Log(), b.Secret)

	other := h.Browser()
	answer = other.SignIn(t, withKey(harness.BoundKey), "Origin", "https://"+strings.TrimPrefix(h.BaseURL(), "http://"))
	require.Regexp(t, `^__Host-openintent_session=[\w-]{64}; Path=/; Max-Age=604800; HttpOnly; Secure; SameSite=Strict$`,
		answer.Header.Get("Set-Cookie"), "a proxy has ended TLS")
	require.Equal(t, 200, other.REST(t, "GET", "/v1/whoami", "").Status)
	require.Contains(t, other.REST(t, "DELETE", "/console/session", "").Header.Get("Set-Cookie"), "__Host-openintent_session=; Path=/; Max-Age=0")
	require.Empty(t, other.Cookies)
}

// Who signs in again has one session, and those of other browsers last.
func TestSigningInAgainReplacesTheSessionOfTheBrowser(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		other := h.first().SignIn(t, withKey(harness.BoundKey))
		b := h.first().SignIn(t, withKey(harness.BoundKey))
		before := *b
		require.Equal(t, 201, b.SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"alice"}`).Status)
		h.requireOver(t, &before)
		h.requireLasts(t, b)
		h.requireLasts(t, other)
		require.Equal(t, 403, b.SignIn(t, `{"api_key":"`+harness.BoundKey+`","agent_id":"alice"}`).Status)
		h.requireLasts(t, b)
	})
}

// A session ends 12 hours after its last use, which another server may have seen.
func TestASessionEndsWithTime(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		idle, used := h.first().SignIn(t, withKey(harness.BoundKey)), h.first().SignIn(t, withKey(harness.Key))
		h.clock.Advance(12*time.Hour - time.Minute)
		h.requireLasts(t, used)
		h.noted(t)
		h.clock.Advance(time.Minute)
		h.requireOver(t, idle)
		h.requireLasts(t, used)
		h.clock.Advance(7 * 24 * time.Hour)
		h.requireOver(t, used)
		eventually(t, "sessions that are over are removed", func() bool { return h.sessions(t) == 0 })
	})
}

// A key that is revoked, or has another secret, ends its sessions at once, with what streams under them.
func TestASessionEndsWithItsKey(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		for what, end := range map[string]func(id string){
			"revoked": func(id string) {
				_, err := h.first().Operator().Keys.RevokeKey(t.Context(), &openintentv1.RevokeKeyRequest{KeyId: id})
				require.NoError(t, err)
			},
			"rotated": func(id string) {
				_, err := h.first().Operator().Keys.RotateKey(t.Context(), &openintentv1.RotateKeyRequest{KeyId: id})
				require.NoError(t, err)
			},
		} {
			t.Run(what, func(t *testing.T) {
				secret, id := h.issue(t, `{"label":"bob's","agents":["bob"]}`)
				b := h.first().SignIn(t, withKey(secret))
				h.requireLasts(t, b)
				stream := follow(t, b.At(&h.last().Clients), "/v1/subscribe/agents/bob")
				end(id)
				requireRefused(t, b.REST(t, "GET", "/v1/whoami", ""), 401, "SESSION_ENDED")
				require.Contains(t, stream.rest(t), "API_KEY_REMOVED")
				h.requireOver(t, b)
			})
		}
	})
}

// What streams under a session ends with it, wherever that is.
func TestStreamsEndWithTheirSession(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		for _, one := range h.servers {
			b := h.first().SignIn(t, withKey(harness.BoundKey))
			stays := follow(t, h.first().SignIn(t, withKey(harness.BoundKey)), "/v1/subscribe/agents/bound-agent")
			stream := follow(t, b.At(&one.Clients), "/v1/subscribe/agents/bound-agent")
			require.Equal(t, 204, b.REST(t, "DELETE", "/console/session", "").Status)
			require.Contains(t, stream.rest(t), "SESSION_ENDED")
			stays.leave()
		}
		b := h.first().SignIn(t, withKey(harness.BoundKey))
		stream := follow(t, b.At(&h.last().Clients), "/v1/subscribe/agents/bound-agent")
		h.clock.Advance(12 * time.Hour)
		require.Contains(t, stream.rest(t), "SESSION_ENDED", "a stream is no use")
	})
}

// One session more than a key may have ends the oldest.
func TestAKeyHasABoundedNumberOfSessions(t *testing.T) {
	each(t, func(cfg *serverConfig) { cfg.MaxSessionsPerKey = 3 }, func(t *testing.T, h *house) {
		stays := h.first().SignIn(t, withKey(harness.Key))
		var all []*harness.Browser
		for range 5 {
			all = append(all, h.first().SignIn(t, withKey(harness.BoundKey)))
			h.clock.Advance(time.Second)
		}
		h.requireOver(t, all[0])
		h.requireOver(t, all[1])
		for _, b := range append(all[2:], stays) {
			h.requireLasts(t, b)
		}
		harness.RequireWhole(t, h.first().DatabaseURL)
	})
}

// An unbound key's session acts as the agent that it names, or as the operator.
func TestAnUnboundKeyChoosesItsName(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	operator := h.SignIn(t, withKey(harness.Key))
	require.Equal(t, harness.SignedIn{AgentID: "operator", Operator: true, Secret: operator.Secret}, operator.SignedIn)
	require.Equal(t, 200, operator.REST(t, "GET", "/v1/keys", "").Status)

	b := h.SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"alice"}`)
	require.Equal(t, harness.SignedIn{AgentID: "alice", Operator: true, Secret: b.Secret}, b.SignedIn)
	requireRefused(t, b.REST(t, "GET", "/v1/keys", ""), 403, "NOT_OPERATOR")
	require.Equal(t, 200, b.REST(t, "GET", "/v1/keys", "", "X-Agent-ID", "operator").Status, "as its key might")
	require.Equal(t, 200, b.REST(t, "GET", "/v1/whoami", "", "X-Agent-ID", "alice").Status)
	requireRefused(t, b.REST(t, "GET", "/v1/whoami", "", "X-Agent-ID", "bob"), 403, "AGENT_NOT_ALLOWED")

	bound := h.SignIn(t, `{"api_key":"`+harness.BoundKey+`","agent_id":"bound-agent"}`)
	requireRefused(t, bound.REST(t, "GET", "/v1/keys", "", "X-Agent-ID", "operator"), 403, "AGENT_NOT_ALLOWED")
	requireRefused(t, h.Browser().SignIn(t, `{"api_key":"`+harness.BoundKey+`","agent_id":"alice"}`), 403, "AGENT_NOT_ALLOWED")
	requireRefused(t, h.Browser().SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"role:reviewer"}`), 400, "INVALID_FIELD")
}

// A session can do what its key can: a read-only one reads, and a person's speaks for the person.
func TestASessionIsWhatItsKeyIs(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		reader, _ := h.issue(t, `{"label":"reader","agents":["rita"],"read_only":true}`)
		b := h.first().SignIn(t, withKey(reader))
		require.True(t, b.SignedIn.ReadOnly)
		requireRefused(t, b.REST(t, "POST", "/v1/intents", `{"title":"No"}`), 403, "KEY_READ_ONLY")

		person, _ := h.issue(t, `{"label":"paula","agents":["paula"],"human":true}`)
		b = h.first().SignIn(t, withKey(person))
		require.True(t, b.SignedIn.Human)
		require.Equal(t, "human", kindOfSender(t, b))
		require.Empty(t, kindOfSender(t, h.first().SignIn(t, withKey(harness.BoundKey))))

		until := h.clock.Now().Add(time.Hour)
		short, _ := h.issue(t, `{"label":"short","agents":["sue"],"expires_at":"`+until.UTC().Format(time.RFC3339)+`"}`)
		b = h.first().SignIn(t, withKey(short))
		h.requireLasts(t, b)
		h.clock.Advance(time.Hour)
		h.requireOver(t, b)
	})
}

// The person at a machine where nothing is configured is a person, and nobody else with that key is.
func TestThePersonAtThisMachine(t *testing.T) {
	each(t, func(cfg *serverConfig) { cfg.APIKeys = "" }, func(t *testing.T, h *house) {
		you := h.first().SignIn(t, `{"api_key":"dev-key-001","agent_id":"you"}`)
		require.Equal(t, harness.SignedIn{AgentID: "you", Human: true, Operator: true, Secret: you.Secret}, you.SignedIn)
		require.Equal(t, "human", kindOfSender(t, you))
		require.Equal(t, "human", kindOfSender(t, you.At(&h.last().Clients)))
		require.Empty(t, kindOfSender(t, you, "X-Agent-ID", "operator"), "the operator is no person")
		other := h.first().SignIn(t, `{"api_key":"dev-key-001","agent_id":"alice"}`)
		require.False(t, other.SignedIn.Human)
		require.Empty(t, kindOfSender(t, other))
		answer := h.first().With("dev-key-001", "you").REST(t, "GET", "/v1/whoami", "")
		require.Contains(t, string(answer.Body), `"human":false`, "only the console knows the person")
		require.JSONEq(t, `{"api_key":true,"provider":false,"you":true}`, string(h.first().Browser().Send(t, http.MethodGet, "/console/ways", "").Body))
	})
}

func TestWithoutTheDevelopmentKeyThereIsNobodyAtThisMachine(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	b := h.SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"you"}`)
	require.False(t, b.SignedIn.Human)
	require.JSONEq(t, `{"api_key":true,"provider":false,"you":false}`, string(b.Send(t, http.MethodGet, "/console/ways", "").Body))
}

// Without the console there are no sessions.
func TestTheConsoleCanBeTakenAway(t *testing.T) {
	each(t, nil, func(t *testing.T, h *house) {
		b := h.first().SignIn(t, withKey(harness.BoundKey))
		without := harness.Start(t, harness.Options{URL: otherThan(t, h), Configure: func(cfg *serverConfig) { cfg.Console = false }})
		requireRefused(t, without.Browser().SignIn(t, withKey(harness.BoundKey)), 404, "ROUTE_NOT_FOUND")
		requireRefused(t, b.At(&without.Clients).REST(t, "GET", "/v1/whoami", ""), 401, "API_KEY_MISSING")
		requireRefused(t, b.At(&without.Clients).REST(t, "GET", "/console/session", ""), 404, "ROUTE_NOT_FOUND")
	})
}
