package strangers

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/internal/oidc/oidctest"
	"openintent/server"
)

// trusting returns the settings of a server that accepts an issuer's tokens, and whose clock the test sets forward.
func trusting(issuer *oidctest.Issuer, clock *ahead, further ...func(*server.Config)) func(*server.Config) {
	issuer.Now = clock.now
	return func(cfg *server.Config) {
		cfg.Clock, cfg.OIDCIssuer, cfg.OIDCAudience = clock.now, issuer.URL, oidctest.Audience
		for _, change := range further {
			change(cfg)
		}
	}
}

// withIssuer runs a test on both engines, on a server that accepts an issuer's tokens.
func withIssuer(t *testing.T, test func(t *testing.T, w *world, issuer *oidctest.Issuer, clock *ahead)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		issuer, clock := oidctest.Start(t), &ahead{}
		w := newWorld(t, harness.Start(t, harness.Options{URL: url, Configure: trusting(issuer, clock)}))
		w.readInbox(t)
		test(t, w, issuer, clock)
	})
}

// refusesToken checks that a token is refused over both faces, as a key and as a bearer's.
func (w *world) refusesToken(t *testing.T, token string, refused refusal) {
	t.Helper()
	room := &openintentv1.GetChannelRequest{ChannelId: w.places["room"]}
	_, err := w.With(token, "").Channels.GetChannel(t.Context(), room)
	require.Equal(t, refused.reason, harness.Reason(err))
	bearer := metadata.AppendToOutgoingContext(t.Context(), "authorization", "Bearer "+token)
	_, err = w.With("", "").Channels.GetChannel(bearer, room)
	require.Equal(t, refused.reason, harness.Reason(err))
	path := w.fill("/v1/channels/{room}")
	refused.check(t, w.With(token, "").REST(t, "GET", path, ""))
	refused.check(t, w.With("", "").REST(t, "GET", path, "", "Authorization", "Bearer "+token))
	refused.check(t, w.With(token, "operator").REST(t, "POST", "/v1/intents", `{"title":"mine"}`))
}

func TestATokenActsAsItsAgentsAndAsNobodyElse(t *testing.T) {
	withIssuer(t, func(t *testing.T, w *world, issuer *oidctest.Issuer, _ *ahead) {
		token := issuer.Token(t, oidctest.Claims{"operator": true, "roles": []string{"*"}, "agents": []string{"*"}})
		w.opens(t, token)
		isKnownAs(t, w.With(token, ""), `{"agent_id":"alice"}`)
		bearer := []string{"Authorization", "Bearer " + token}
		answer := w.With("", "").REST(t, "POST", "/v1/intents", `{"title":"By token"}`, bearer...)
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
		require.Contains(t, string(answer.Body), `"created_by":"alice"`)
		stream := w.open(t, refusedStream{key: token, path: "subscribe/agents/bob"})
		denied("NOT_AGENT_OWNER").check(t, stream)

		denied("AGENT_NOT_ALLOWED").check(t, w.With(token, "bob").REST(t, "GET", "/v1/intents", ""))
		denied("AGENT_RESERVED").check(t, w.With(token, "operator").REST(t, "GET", "/v1/intents", ""))
		denied("NOT_OPERATOR").check(t, w.With(token, "").REST(t, "POST", "/v1/keys", `{"label":"x","operator":true}`))
		denied("ROLE_NOT_ALLOWED").check(t, w.With(token, "").REST(t, "POST", "/v1/agents", `{"agent_id":"alice","role_id":"reviewer"}`))
		unauthenticated("API_KEYS_DIFFER").check(t, w.With(harness.Key, "").REST(t, "GET", "/v1/intents", "", bearer...))
		_, err := w.With(token, "bob").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
		require.Equal(t, "AGENT_NOT_ALLOWED", harness.Reason(err))
	})
}

func TestTokensThatAreNotAccepted(t *testing.T) {
	databasetest.OneEngineOf(t)
	withIssuer(t, func(t *testing.T, w *world, issuer *oidctest.Issuer, _ *ahead) {
		signing := issuer.SigningKey()
		at := func(d time.Duration) int64 { return issuer.Now().Add(d).Unix() }
		parts := strings.Split(issuer.Token(t, nil), ".")
		before := w.ledger(t)
		for _, test := range []struct{ what, token, reason string }{
			{"expired", issuer.Token(t, oidctest.Claims{"exp": at(-time.Minute)}), "TOKEN_EXPIRED"},
			{"not yet valid", issuer.Token(t, oidctest.Claims{"nbf": at(time.Minute)}), "TOKEN_INVALID"},
			{"issued in the future", issuer.Token(t, oidctest.Claims{"iat": at(time.Minute)}), "TOKEN_INVALID"},
			{"without end", issuer.Token(t, oidctest.Claims{"exp": nil}), "TOKEN_INVALID"},
			{"another audience", issuer.Token(t, oidctest.Claims{"aud": []string{"https://other.example"}}), "TOKEN_INVALID"},
			{"another issuer", issuer.Token(t, oidctest.Claims{"iss": "https://other.example"}), "TOKEN_INVALID"},
			{"alg none", oidctest.Unsigned(t, "none", issuer.Claims(nil)), "TOKEN_INVALID"},
			{"the public key as a secret", signing.SignedWithPublicKey(t, issuer.Claims(nil)), "TOKEN_INVALID"},
			{"an unknown key", oidctest.NewKey(t, "mine", jose.ES256).Sign(t, issuer.Claims(nil)), "TOKEN_INVALID"},
			{"one's own key under the issuer's name", oidctest.NewKey(t, signing.ID, jose.RS256).Sign(t, issuer.Claims(nil)), "TOKEN_INVALID"},
			{"tampered", parts[0] + "." + oidctest.Part(t, issuer.Claims(oidctest.Claims{"sub": "bob"})) + "." + parts[2], "TOKEN_INVALID"},
			{"without its signature", parts[0] + "." + parts[1] + ".", "TOKEN_INVALID"},
			{"the operator's name", issuer.Token(t, oidctest.Claims{"sub": "operator"}), "TOKEN_CLAIM_INVALID"},
			{"the system's name", issuer.Token(t, oidctest.Claims{"sub": "system"}), "TOKEN_CLAIM_INVALID"},
			{"everybody's name", issuer.Token(t, oidctest.Claims{"sub": "*"}), "TOKEN_CLAIM_INVALID"},
			{"a role for a name", issuer.Token(t, oidctest.Claims{"sub": "role:reviewer"}), "TOKEN_CLAIM_INVALID"},
			{"a name with a slash", issuer.Token(t, oidctest.Claims{"sub": "a/b"}), "TOKEN_CLAIM_INVALID"},
			{"a name without end", issuer.Token(t, oidctest.Claims{"sub": strings.Repeat("a", 257)}), "TOKEN_CLAIM_INVALID"},
			{"nobody's", issuer.Token(t, oidctest.Claims{"sub": nil}), "TOKEN_INVALID"},
			{"a number's", issuer.Token(t, oidctest.Claims{"sub": 7}), "TOKEN_INVALID"},
			{"a name with a zero", issuer.Token(t, oidctest.Claims{"sub": "a\x00"}), "TOKEN_INVALID"},
			{"for a number", issuer.Token(t, oidctest.Claims{"aud": 7}), "TOKEN_INVALID"},
			{"until a word", issuer.Token(t, oidctest.Claims{"exp": "soon"}), "TOKEN_INVALID"},
			{"until before time", issuer.Token(t, oidctest.Claims{"exp": -1}), "TOKEN_EXPIRED"},
			{"five parts", issuer.Token(t, nil) + ".e30.e30", "API_KEY_UNKNOWN"},
		} {
			t.Run(test.what, func(t *testing.T) { w.refusesToken(t, test.token, unauthenticated(test.reason)) })
		}
		require.Equal(t, before, w.ledger(t))
		w.goesOn(t)
	})
}

func TestAnExpiredTokenEndsWhatItBegan(t *testing.T) {
	withIssuer(t, func(t *testing.T, w *world, issuer *oidctest.Issuer, clock *ahead) {
		token := issuer.Token(t, oidctest.Claims{"exp": clock.now().Add(5 * time.Minute).Unix()})
		begun := w.begin(t, token)
		clock.pass(3 * time.Minute)
		w.opens(t, token)
		begun.goOn(t)
		clock.pass(3 * time.Minute)
		begun.endWith(t, "TOKEN_EXPIRED", "TOKEN_EXPIRED")
		w.refusesToken(t, token, unauthenticated("TOKEN_EXPIRED"))
		w.opens(t, issuer.Token(t, nil))
	})
}

func TestTheIssuersKeysChange(t *testing.T) {
	databasetest.OneEngineOf(t)
	withIssuer(t, func(t *testing.T, w *world, issuer *oidctest.Issuer, clock *ahead) {
		old := issuer.Token(t, nil)
		begun := w.begin(t, old)
		issuer.Rotate(t, jose.ES256)
		clock.pass(time.Minute)
		w.opens(t, issuer.Token(t, nil))
		w.opens(t, old)
		begun.goOn(t)
		issuer.Withdraw()
		clock.pass(6 * time.Minute)
		begun.endWith(t, "TOKEN_INVALID", "TOKEN_INVALID")
		w.refusesToken(t, old, unauthenticated("TOKEN_INVALID"))
		w.opens(t, issuer.Token(t, nil))
	})
}

func TestMadeUpTokensDoNotReachTheIssuer(t *testing.T) {
	databasetest.OneEngineOf(t)
	withIssuer(t, func(t *testing.T, w *world, issuer *oidctest.Issuer, _ *ahead) {
		w.opens(t, issuer.Token(t, nil))
		for i := range 200 {
			key := oidctest.Key{ID: fmt.Sprint("made up ", i), Algorithm: jose.RS256, Private: issuer.SigningKey().Private}
			_, err := w.With(key.Sign(t, issuer.Claims(nil)), "").Intents.ListIntents(t.Context(), &openintentv1.ListIntentsRequest{})
			require.Equal(t, "TOKEN_INVALID", harness.Reason(err))
		}
		require.LessOrEqual(t, issuer.Fetched(), 8) // a few at once, and then one in ten seconds
		w.opens(t, issuer.Token(t, nil))
	})
}

func TestAServerStartsWhileItsIssuerIsAway(t *testing.T) {
	databasetest.OneEngineOf(t)
	issuer, clock := oidctest.Start(t), &ahead{}
	issuer.Leave()
	w := newWorld(t, harness.Start(t, harness.Options{Configure: trusting(issuer, clock)}))
	token := issuer.Token(t, nil)
	away := refusal{status: 503, code: "UNAVAILABLE", reason: "TOKEN_ISSUER_UNAVAILABLE"}
	w.refusesToken(t, token, away)
	w.refusesToken(t, oidctest.Unsigned(t, "none", issuer.Claims(nil)), unauthenticated("TOKEN_INVALID"))
	require.Contains(t, w.Log(), "could not be read")
	w.goesOn(t)
	issuer.Return()
	clock.pass(time.Minute)
	w.opens(t, token)
	issuer.Leave()
	clock.pass(30 * time.Minute)
	w.opens(t, token)
	w.opens(t, issuer.Token(t, nil))
}

func TestClaimsNameAgentsAndRoles(t *testing.T) {
	databasetest.OneEngineOf(t)
	issuer, clock := oidctest.Start(t), &ahead{}
	w := newWorld(t, harness.Start(t, harness.Options{Configure: trusting(issuer, clock, func(cfg *server.Config) {
		cfg.OIDCAgentClaim, cfg.OIDCAgentPrefix, cfg.OIDCRolesClaim = "agents", "acme:", "realm_access.roles"
	})}))
	claims := func(agents, roles any) oidctest.Claims {
		return oidctest.Claims{"agents": agents, "realm_access": oidctest.Claims{"roles": roles}}
	}
	token := issuer.Token(t, claims([]string{"alice", "carol", "alice"}, []string{"reviewer", "*", "", "offline_access"}))
	denied("AGENT_NEEDED").check(t, w.With(token, "").REST(t, "GET", "/v1/intents", ""))
	denied("AGENT_NOT_ALLOWED").check(t, w.With(token, "alice").REST(t, "GET", "/v1/intents", ""))
	register := func(token, role string) harness.Answer {
		return w.With(token, "acme:carol").REST(t, "POST", "/v1/agents", `{"agent_id":"acme:carol","role_id":"`+role+`"}`)
	}
	require.Equal(t, 201, register(token, "reviewer").Status)
	denied("ROLE_NOT_ALLOWED").check(t, register(token, "judge"))
	denied("ROLE_NOT_ALLOWED").check(t, register(issuer.Token(t, claims("carol", nil)), "reviewer"))
	require.Equal(t, 200, w.With(issuer.Token(t, claims("operator", nil)), "").REST(t, "GET", "/v1/intents", "").Status, "acme:operator is no reserved word")
	many := make([]string, 101)
	for i := range many {
		many[i] = fmt.Sprint("agent-", i)
	}
	for what, bad := range map[string]oidctest.Claims{
		"no agents": claims(nil, nil), "an empty list": claims([]string{}, nil), "an empty name": claims([]string{""}, nil),
		"a number": claims(7, nil), "a name that is no text": claims([]any{"alice", 7}, nil), "too many": claims(many, nil),
		"roles that are none": claims("alice", oidctest.Claims{"a": "b"}),
	} {
		t.Run(what, func(t *testing.T) { w.refusesToken(t, issuer.Token(t, bad), unauthenticated("TOKEN_CLAIM_INVALID")) })
	}
}

// A subject is stored with what its token makes, so it has a form of its own, also where another claim names the agents.
func TestASubjectIsHeldToItsForm(t *testing.T) {
	databasetest.OneEngineOf(t)
	databasetest.EachURL(t, func(t *testing.T, url string) {
		issuer, clock := oidctest.Start(t), &ahead{}
		w := newWorld(t, harness.Start(t, harness.Options{URL: url, Configure: trusting(issuer, clock, posting, func(cfg *server.Config) {
			cfg.OIDCAgentClaim = "agent"
		})}))
		posts := func(subject string) harness.Answer {
			token := issuer.Token(t, oidctest.Claims{"sub": subject, "agent": "alice", "exp": json.RawMessage("4e18")})
			return w.With(token, "").REST(t, "POST", "/v1/subscriptions", w.fill(`{"intent_id":"{intent}","webhook_url":"http://127.0.0.1:1/"}`))
		}
		for _, subject := range []string{"a\x00", "a\nb", strings.Repeat("a", 1025)} {
			unauthenticated("TOKEN_INVALID").check(t, posts(subject))
		}
		answer := posts(strings.Repeat("a", 1024))
		require.Equal(t, 201, answer.Status, "%s", answer.Body)
	})
}

// All tokens of one subject share one quota.
func TestTokensOfOneSubjectShareAQuota(t *testing.T) {
	issuer, clock := oidctest.Start(t), &ahead{}
	w := newWorld(t, harness.Start(t, harness.Options{
		APIKeys:   harness.Key + ";roles=*;messages_per_second=0",
		Configure: trusting(issuer, clock, func(cfg *server.Config) { cfg.QuotaMessages = 3 }),
	}))
	refused := false
	for range 20 {
		answer := w.With(issuer.Token(t, oidctest.Claims{"jti": fmt.Sprint(time.Now().UnixNano())}), "").
			REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"payload":{}}`)
		refused = refused || answer.Status == 429
	}
	require.True(t, refused, "twenty tokens sent as much as they liked")
	require.Equal(t, 201, w.With(issuer.Token(t, oidctest.Claims{"sub": "bob"}), "").
		REST(t, "POST", w.fill("/v1/channels/{room}/messages"), `{"payload":{}}`).Status)
}

// Nobody reads a token from what the server says or logs.
func TestTokensStayOutOfTheLog(t *testing.T) {
	databasetest.OneEngineOf(t)
	issuer, clock := oidctest.Start(t), &ahead{}
	w := newWorld(t, harness.Start(t, harness.Options{Configure: trusting(issuer, clock, func(cfg *server.Config) { cfg.LogLevel = "debug" })}))
	good := issuer.Token(t, oidctest.Claims{"email": secret})
	w.opens(t, good)
	bad := oidctest.NewKey(t, "mine", jose.ES256).Sign(t, issuer.Claims(nil))
	request, err := w.With(bad, "").Request(t.Context(), "GET", "/v1/intents", "")
	require.NoError(t, err)
	response, err := w.HTTP.Do(request)
	require.NoError(t, err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	for _, token := range []string{good, bad} {
		for _, part := range strings.Split(token, ".")[1:] {
			require.NotContains(t, w.Log(), part)
			require.NotContains(t, string(text), part)
		}
	}
	require.NotContains(t, w.Log(), secret)
}
