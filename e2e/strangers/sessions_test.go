package strangers

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const secretHeader = "X-OpenIntent-Console"

var sessionEnded = unauthenticated("SESSION_ENDED")

// aliceSignedIn is alice's browser, and the pair of a cookie and a secret that counts.
func (w *world) aliceSignedIn(t *testing.T) *harness.Browser {
	t.Helper()
	return w.SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"alice"}`)
}

// cookieOf returns a browser's cookie as a header.
func cookieOf(b *harness.Browser) string { return b.Cookies[0].Name + "=" + b.Cookies[0].Value }

// Neither of the two secrets counts alone, nor with that of another session, nor in another place.
func TestHalfASessionIsNone(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		alice, other := w.aliceSignedIn(t), w.SignIn(t, `{"api_key":"`+harness.BoundKey+`"}`)
		before := w.ledger(t)
		cookie, name := cookieOf(alice), alice.Cookies[0].Name
		shortened := strings.TrimSuffix(alice.Cookies[0].Value, alice.Cookies[0].Value[40:])
		attempts := map[string]struct {
			headers []string
			refused refusal
		}{
			"a cookie without a secret":        {[]string{"Cookie", cookie}, unauthenticated("API_KEY_MISSING")},
			"a cookie and an empty secret":     {[]string{"Cookie", cookie, secretHeader, ""}, sessionEnded},
			"a secret without a cookie":        {[]string{secretHeader, alice.Secret}, sessionEnded},
			"another session's secret":         {[]string{"Cookie", cookie, secretHeader, other.Secret}, sessionEnded},
			"another session's cookie":         {[]string{"Cookie", cookieOf(other), secretHeader, alice.Secret}, sessionEnded},
			"two secrets":                      {[]string{"Cookie", cookie, secretHeader, alice.Secret, secretHeader, alice.Secret}, sessionEnded},
			"the word of signing in":           {[]string{"Cookie", cookie, secretHeader, "sign-in"}, sessionEnded},
			"the cookie in the secret's place": {[]string{"Cookie", cookie, secretHeader, alice.Cookies[0].Value}, sessionEnded},
			"the secret in the cookie's place": {[]string{"Cookie", name + "=" + alice.Secret, secretHeader, alice.Secret}, sessionEnded},
			"a shortened cookie":               {[]string{"Cookie", name + "=" + shortened, secretHeader, alice.Secret}, sessionEnded},
			"a lengthened cookie":              {[]string{"Cookie", cookie + "A", secretHeader, alice.Secret}, sessionEnded},
			"a cookie of another port":         {[]string{"Cookie", "openintent_session_1=" + alice.Cookies[0].Value, secretHeader, alice.Secret}, sessionEnded},
			"the secret as a key":              {[]string{"Cookie", cookie, "X-API-Key", alice.Secret}, unauthenticated("API_KEY_UNKNOWN")},
			"the cookie as a key":              {[]string{"X-API-Key", alice.Cookies[0].Value}, unauthenticated("API_KEY_UNKNOWN")},
			"a key besides":                    {[]string{"Cookie", cookie, secretHeader, alice.Secret, "X-API-Key", harness.Key}, unauthenticated("SESSION_AND_KEY")},
			"a wrong key besides":              {[]string{"Cookie", cookie, secretHeader, alice.Secret, "Authorization", "Bearer x"}, unauthenticated("SESSION_AND_KEY")},
			"another agent":                    {[]string{"Cookie", cookie, secretHeader, alice.Secret, "X-Agent-ID", "bob"}, denied("AGENT_NOT_ALLOWED")},
			"two agents":                       {[]string{"Cookie", cookie, secretHeader, alice.Secret, "X-Agent-ID", "alice", "X-Agent-ID", "bob"}, denied("AGENT_NOT_ALLOWED")},
			"the server's own name":            {[]string{"Cookie", cookie, secretHeader, alice.Secret, "X-Agent-ID", "system"}, denied("AGENT_NOT_ALLOWED")},
		}
		t.Run("each", func(t *testing.T) { // at the same time, because refusals of streams are held back
			for what, r := range attempts {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					for _, call := range []string{"GET /v1/whoami", "POST /v1/intents", "GET /v1/subscribe/agents/alice"} {
						method, path, _ := strings.Cut(call, " ")
						answer := h.Browser().Send(t, method, path, `{"title":"forged"}`, r.headers...)
						r.refused.check(t, answer)
					}
				})
			}
		})
		require.Equal(t, 200, alice.REST(t, "GET", "/v1/whoami", "").Status)
		require.Equal(t, before, w.ledger(t), "a refused call was written")
		w.goesOn(t)
	})
}

// Whatever path of the API is called in whatever way, a cookie alone is nobody's, and a secret alone is that of no session.
func TestHalfASessionOpensNoPath(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		alice := w.aliceSignedIn(t)
		before := w.ledger(t)
		var document struct{ Paths map[string]map[string]any }
		h.As("alice").REST(t, "GET", "/openapi.json", "").Decode(t, &document)
		document.Paths["/console/session"] = map[string]any{"get": nil, "delete": nil}
		closed := 0
		t.Run("each", func(t *testing.T) { // at the same time, because refusals of streams are held back
			for path, verbs := range document.Paths {
				alone := unauthenticated("API_KEY_MISSING")
				if path == "/console/session" {
					alone = sessionEnded
				}
				for verb := range verbs {
					method, filled := strings.ToUpper(verb), w.fillAny(path)
					if h.Browser().Send(t, method, filled, "{}").Status < 300 {
						continue // it needs no key
					}
					closed++
					t.Run(method+" "+path, func(t *testing.T) {
						t.Parallel()
						alone.check(t, h.Browser().Send(t, method, filled, "{}", "Cookie", cookieOf(alice)))
						sessionEnded.check(t, h.Browser().Send(t, method, filled, "{}", secretHeader, alice.Secret))
					})
				}
			}
		})
		require.Greater(t, closed, 100, "the document lists the calls")
		require.Equal(t, 200, alice.REST(t, "GET", "/console/session", "").Status)
		require.Equal(t, before, w.ledger(t), "a refused call was written")
		w.goesOn(t)
	})
}

// pathField is a field in a path of the document.
var pathField = regexp.MustCompile(`\{([a-z_]+)\}`)

// fillAny fills in the fields of a path, with ids of the world as far as it has them.
func (w *world) fillAny(path string) string {
	places := map[string]string{
		"intent_id": "intent", "channel_id": "room", "message_id": "request", "subscription_id": "subscription", "task_id": "task", "entry_id": "entry",
		"coordinator_id": "coordinator", "event_id": "event",
	}
	return pathField.ReplaceAllStringFunc(path, func(field string) string {
		if id := w.places[places[field[1:len(field)-1]]]; id != "" {
			return id
		}
		return "alice"
	})
}

// A foreign page gets nothing from a browser in which somebody is signed in, even if it has learnt the secret.
func TestForeignPagesGetNothingFromASession(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.EachWith(t, func(cfg *server.Config) { cfg.CORSOrigins = listedOrigin }, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		alice := w.aliceSignedIn(t)
		before := w.ledger(t)
		foreign := denied("ORIGIN_NOT_ALLOWED")
		pages := map[string][]string{
			"a foreign origin":       {"Origin", "https://evil.example"},
			"another port":           {"Origin", "http://127.0.0.1:1"},
			"no origin at all":       {"Origin", "null"},
			"an empty origin":        {"Origin", ""},
			"an origin that is ours": {"Origin", listedOrigin},
			"two origins":            {"Origin", alice.Origin(), "Origin", listedOrigin},
			"another site":           {"Sec-Fetch-Site", "cross-site"},
			"another port's page":    {"Sec-Fetch-Site", "same-site"},
			"nobody's page":          {"Sec-Fetch-Site", "none"},
			"both, and one is ours":  {"Sec-Fetch-Site", "same-site", "Origin", alice.Origin()},
		}
		t.Run("each", func(t *testing.T) {
			for what, headers := range pages {
				t.Run(what, func(t *testing.T) {
					t.Parallel()
					for _, call := range []string{
						"GET /v1/whoami", "POST /v1/intents", "GET /v1/subscribe/agents/alice", "GET /console/session", "DELETE /console/session",
					} {
						method, path, _ := strings.Cut(call, " ")
						foreign.check(t, h.Browser().Send(t, method, path, `{"title":"forged"}`, append(headers, "Cookie", cookieOf(alice), secretHeader, alice.Secret)...))
					}
					foreign.check(t, h.Browser().SignIn(t, `{"api_key":"`+harness.BoundKey+`"}`, headers...))
				})
			}
		})
		for _, headers := range [][]string{{"Sec-Fetch-Site", "same-origin"}, {"Origin", alice.Origin()}, {"Sec-Fetch-Site", "same-origin", "Origin", alice.Origin()}} {
			require.Equal(t, 200, alice.REST(t, "GET", "/v1/whoami", "", headers...).Status)
			require.Equal(t, 201, h.Browser().SignIn(t, `{"api_key":"`+harness.BoundKey+`"}`, headers...).Status)
		}
		preflight := h.Browser().Send(t, "OPTIONS", "/v1/whoami", "", "Origin", listedOrigin, "Access-Control-Request-Method", "GET",
			"Access-Control-Request-Headers", "x-openintent-console")
		require.Empty(t, preflight.Header.Get("Access-Control-Allow-Headers"))
		require.Empty(t, preflight.Header.Get("Access-Control-Allow-Origin"))
		answer := h.Browser().Send(t, "GET", "/docs", "", "Origin", listedOrigin)
		require.Equal(t, listedOrigin, answer.Header.Get("Access-Control-Allow-Origin"))
		require.Empty(t, answer.Header.Get("Access-Control-Allow-Credentials"))
		require.Equal(t, before, w.ledger(t), "a refused call was written")
		w.goesOn(t)
	})
}

// What a page can send without a header of its own signs nobody in, and reads nothing.
func TestPlainRequestsOfPages(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		alice := w.aliceSignedIn(t)
		before := w.ledger(t)
		for _, form := range []string{"application/x-www-form-urlencoded", "text/plain", "multipart/form-data", "application/json"} {
			denied("CONSOLE_HEADER_MISSING").check(t, alice.Send(t, "POST", "/console/session", `{"api_key":"`+harness.BoundKey+`"}`, "Content-Type", form))
			unauthenticated("API_KEY_MISSING").check(t, alice.Send(t, "POST", "/v1/intents", `{"title":"forged"}`, "Content-Type", form))
		}
		denied("CONSOLE_HEADER_MISSING").check(t, alice.Send(t, "POST", "/console/session", `{}`, secretHeader, alice.Secret))
		denied("CONSOLE_HEADER_MISSING").check(t, alice.Send(t, "POST", "/console/invite", `{}`))
		unauthenticated("API_KEY_MISSING").check(t, alice.Send(t, "GET", "/v1/subscribe/agents/alice", "", "Accept", "text/event-stream"))
		unauthenticated("API_KEY_MISSING").check(t, alice.Send(t, "GET", "/v1/subscribe/agents/alice?secret="+alice.Secret, ""))
		sessionEnded.check(t, alice.Send(t, "GET", "/console/session", ""))
		sessionEnded.check(t, alice.Send(t, "DELETE", "/console/session", ""))
		for _, method := range []string{"PUT", "PATCH", "OPTIONS"} {
			wrongMethod.check(t, alice.REST(t, method, "/console/session", ""))
		}
		for _, path := range []string{"/console/session/", "/console/%73ession", "/console/session/x"} {
			answer := alice.REST(t, "GET", path, "")
			require.Contains(t, answer.Header.Get("Content-Type"), "text/html", "a page, as for everybody")
			wrongMethod.check(t, alice.REST(t, "DELETE", path, ""))
		}
		require.Equal(t, 200, alice.REST(t, "GET", "/v1/whoami", "").Status)
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

// The doors, their WebSockets and gRPC know no sessions.
func TestSessionsCountOverRESTAlone(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		alice := w.aliceSignedIn(t)
		upgrade := []string{
			"Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Version", "13", "Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ==",
		}
		for _, call := range []struct {
			method, path, body string
			headers            []string
		}{
			{"POST", "/mcp", listTools, []string{"Accept", "application/json, text/event-stream"}},
			{"GET", "/c2a", "", upgrade},
			{"POST", "/c2a", "{}", nil},
			{"GET", "/agent-channel/x", "", nil},
			{"POST", "/v1/repomesh/tools/post_message", "{}", nil},
		} {
			answer := alice.REST(t, call.method, call.path, call.body, append(call.headers, "Origin", alice.Origin())...)
			require.Equal(t, 401, answer.Status, "%s: %s", call.path, answer.Body)
		}
		for _, pairs := range [][]string{
			{"cookie", cookieOf(alice), "x-openintent-console", alice.Secret},
			{"cookie", cookieOf(alice), "x-openintent-console", alice.Secret, "x-agent-id", "alice"},
		} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), pairs...)
			_, err := w.With("", "").Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{})
			require.Equal(t, "API_KEY_MISSING", harness.Reason(err))
		}
		w.goesOn(t)
	})
}

// A session does no more than its key: a scoped one stays in its scope, a guest's in its channel, and an expired one ends.
func TestASessionIsKeptToItsKey(t *testing.T) {
	onClock(t, func(t *testing.T, w *world, clock *ahead) {
		scoped := w.SignIn(t, `{"api_key":"`+w.issue(t, w.fill(`{"label":"one","agents":["alice"],"channels":["{other_room}"]}`)).Secret+`"}`)
		guest := w.SignIn(t, `{"invite":"`+w.invites(t, "other_room", `{}`).Secret+`","name":"gus"}`)
		before := w.ledger(t)
		for _, b := range []*harness.Browser{scoped, guest} {
			require.Equal(t, 200, b.REST(t, "GET", w.fill("/v1/channels/{other_room}/messages"), "").Status)
			denied("OUT_OF_SCOPE").check(t, b.REST(t, "GET", w.fill("/v1/channels/{room}/messages"), ""))
			denied("OUT_OF_SCOPE").check(t, b.REST(t, "GET", w.fill("/v1/intents/{intent}"), ""))
			denied("OUT_OF_SCOPE").check(t, b.REST(t, "POST", "/v1/intents", `{"title":"mine"}`))
			denied("NOT_OPERATOR").check(t, b.REST(t, "GET", "/v1/keys", ""))
			denied("AGENT_NOT_ALLOWED").check(t, b.REST(t, "GET", "/v1/keys", "", "X-Agent-ID", "operator"))
			denied("AGENT_NOT_ALLOWED").check(t, b.REST(t, "GET", "/v1/whoami", "", "X-Agent-ID", "guest-other"))
		}
		require.Equal(t, before, w.ledger(t))
		end := clock.now().Add(5 * time.Minute).UTC().Format(time.RFC3339)
		short := w.SignIn(t, `{"api_key":"`+w.issue(t, `{"label":"short","agents":["alice"],"expires_at":"`+end+`"}`).Secret+`"}`)
		require.Equal(t, 200, short.REST(t, "GET", "/v1/whoami", "").Status)
		clock.pass(5 * time.Minute)
		sessionEnded.check(t, short.REST(t, "GET", "/v1/whoami", ""))
		w.goesOn(t)
	})
}

// A wrong key, or a body of a wrong form, begins no session and says what is wrong.
func TestNobodySignsInWithAnythingElse(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		secret := w.invites(t, "other_room", `{}`).Secret
		before := w.ledger(t)
		for body, refused := range map[string]refusal{
			``:                 badField("body"),
			`null`:             badField("api_key"),
			`{}`:               badField("api_key"),
			`[]`:               badField("body"),
			`"x"`:              badField("body"),
			`{"api_key":7}`:    badField("body"),
			`{"api_key":""}`:   badField("api_key"),
			`{"api_key":null}`: badField("api_key"),
			`{"api_key":"test-key"}{"api_key":"test-key"}`:                badField("body"),
			`{"api_key":"test-key","api_key":"test-key"}`:                 badField("body"),
			`{"api_key":"test-key","key":"test-key"}`:                     badField("body"),
			"{\"api_key\":\"test-key\",\"agent_id\":\"\xff\"}":            badField("body"),
			`{"api_key":"test-key","invite":"` + secret + `"}`:            badField("invite"),
			`{"code":"x","invite":"` + secret + `"}`:                      badField("invite"),
			`{"api_key":"test-key","name":"anna"}`:                        badField("name"),
			`{"api_key":"` + secret + `"}`:                                badField("api_key"),
			`{"invite":"test-key"}`:                                       badField("invite"),
			`{"invite":"` + secret + `","agent_id":"guest-anna"}`:         badField("agent_id"),
			`{"invite":"` + secret + `","name":"a/b"}`:                    badField("name"),
			`{"invite":"` + secret + `","name":"guest-"}`:                 badField("name"),
			`{"invite":"` + secret + `","name":"a\u0000"}`:                badField("body"),
			`{"invite":"` + secret + `","name":"` + longText(300) + `"}`:  badField("name"),
			`{"api_key":"test-key","agent_id":"operator"}`:                badField("agent_id"),
			`{"api_key":"test-key","agent_id":"system"}`:                  badField("agent_id"),
			`{"api_key":"test-key","agent_id":"guest-anna"}`:              badField("agent_id"),
			`{"api_key":"test-key","agent_id":"a/b"}`:                     badField("agent_id"),
			`{"api_key":"test-key","agent_id":"` + longText(300) + `"}`:   badField("agent_id"),
			`{"api_key":"nobody's"}`:                                      unauthenticated("API_KEY_UNKNOWN"),
			`{"api_key":"${OPENINTENT_API_KEY}"}`:                         unauthenticated("API_KEY_UNKNOWN"),
			`{"invite":"oi_` + longText(49) + `"}`:                        unauthenticated("API_KEY_UNKNOWN"),
			`{"code":"x"}`:                                                unauthenticated("CODE_UNKNOWN"),
			`{"code":"ocs_` + longText(43) + `"}`:                         unauthenticated("CODE_UNKNOWN"),
			`{"api_key":"test-key-bound","agent_id":"alice"}`:             denied("AGENT_NOT_ALLOWED"),
			`{"api_key":"test-key","agent_id":"` + longText(40_000) + `"`: bodyTooLarge,
		} {
			t.Run(body[:min(len(body), 60)], func(t *testing.T) {
				b := h.Browser()
				refused.check(t, b.SignIn(t, body))
				require.Empty(t, b.Cookies)
			})
		}
		badField("invite").check(t, h.Browser().Send(t, "POST", "/console/invite", `{"invite":"test-key"}`, secretHeader, "sign-in"))
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

// Over TLS only the cookie counts that nobody but this server can have set.
func TestOverTLSTheCookieIsTheServersOwn(t *testing.T) {
	databasetest.OneEngineOf(t)
	withAuthority(t, func(t *testing.T, w *world, _ *harness.Authority, _ *ahead) {
		b := w.SignIn(t, `{"api_key":"`+harness.Key+`","agent_id":"bob"}`)
		require.Equal(t, "__Host-openintent_session", b.Cookies[0].Name)
		require.True(t, b.Cookies[0].Secure)
		who := func(b *harness.Browser) string { return string(b.REST(t, "GET", "/v1/whoami", "").Body) }
		require.Contains(t, who(b), `"agent_id":"bob"`, "and not alice, whose certificate the connection shows")
		tossed := *b
		tossed.Cookies = []*http.Cookie{{Name: b.PlainCookie(), Value: b.Cookies[0].Value}}
		sessionEnded.check(t, tossed.REST(t, "GET", "/v1/whoami", ""))
	})
}

// longText is a text of so many letters.
func longText(length int) string { return strings.Repeat("a", length) }
