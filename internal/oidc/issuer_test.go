package oidc_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/oidc"
	"openintent/internal/oidc/oidctest"
)

// house is an issuer as a server sees it, with the issuer itself and a clock.
type house struct {
	*oidc.Issuer
	provider *oidctest.Issuer
	log      *lockedBuffer

	mutex sync.Mutex
	time  time.Time
}

func newHouse(t *testing.T) *house {
	t.Helper()
	h := &house{provider: oidctest.Start(t), log: &lockedBuffer{}, time: time.Now()}
	h.provider.Now = h.now
	h.Issuer = h.issuer(t, h.provider.URL)
	return h
}

// issuer makes a server's side of an issuer.
func (h *house) issuer(t *testing.T, url string) *oidc.Issuer {
	t.Helper()
	made := oidc.New(oidc.Config{
		Issuer: url, Audience: oidctest.Audience, Skew: 30 * time.Second, Now: h.now,
		Logger: slog.New(slog.NewTextHandler(h.log, nil)),
	})
	t.Cleanup(made.Stop)
	return made
}

func (h *house) now() time.Time {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.time
}

func (h *house) pass(d time.Duration) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	h.time = h.time.Add(d)
}

func (h *house) accepts(t *testing.T, token string) *oidc.Token {
	t.Helper()
	checked, err := h.Check(t.Context(), token)
	require.NoError(t, err)
	return checked
}

func (h *house) refuses(t *testing.T, token, reason, sentence string) {
	t.Helper()
	_, err := h.Check(t.Context(), token)
	refuses(t, err, reason, sentence)
}

func refuses(t *testing.T, err error, reason, sentence string) {
	t.Helper()
	require.Error(t, err)
	refusal := fault.From(err)
	require.Equal(t, reason, refusal.Reason, "%v", err)
	require.Contains(t, refusal.Message, sentence)
}

func (h *house) refresh(t *testing.T) {
	t.Helper()
	require.NoError(t, h.Refresh(t.Context()))
}

// lockedBuffer is a log that a test reads while it is written.
type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.String()
}

func TestATokenSaysWhoseItIsAndForHowLong(t *testing.T) {
	h := newHouse(t)
	for _, algorithm := range []jose.SignatureAlgorithm{
		jose.RS256, jose.RS384, jose.PS256, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
	} {
		h.pass(time.Minute)
		h.provider.Rotate(t, algorithm)
		token := h.accepts(t, h.provider.Token(t, oidctest.Claims{"sub": "somebody", "aud": []string{"other", oidctest.Audience}}))
		require.Equal(t, "somebody", token.Subject)
		require.Equal(t, h.now().Truncate(time.Second).Add(time.Hour+30*time.Second).UTC(), token.Until.UTC())
	}
}

func TestTokensThatAreRefused(t *testing.T) {
	h := newHouse(t)
	signing, at := h.provider.SigningKey(), func(d time.Duration) int64 { return h.now().Add(d).Unix() }
	good := h.provider.Token(t, nil)
	parts := strings.Split(good, ".")
	foreign := oidctest.NewKey(t, signing.ID, jose.RS256)
	for _, test := range []struct{ what, token, reason, sentence string }{
		{"expired", h.provider.Token(t, oidctest.Claims{"exp": at(-31 * time.Second)}), "TOKEN_EXPIRED", "get a new one"},
		{"not yet valid", h.provider.Token(t, oidctest.Claims{"nbf": at(32 * time.Second)}), "TOKEN_INVALID", "not valid yet"},
		{"issued in the future", h.provider.Token(t, oidctest.Claims{"iat": at(32 * time.Second)}), "TOKEN_INVALID", "not valid yet"},
		{"without end", h.provider.Token(t, oidctest.Claims{"exp": nil}), "TOKEN_INVALID", "when it expires"},
		{"an end that is no time", h.provider.Token(t, oidctest.Claims{"exp": "tomorrow"}), "TOKEN_INVALID", "not of its type"},
		{"an end beyond time", h.provider.Token(t, oidctest.Claims{"exp": 1e30}), "TOKEN_INVALID", "not of its type"},
		{"another audience", h.provider.Token(t, oidctest.Claims{"aud": "https://other.example"}), "TOKEN_INVALID", "another audience"},
		{"no audience", h.provider.Token(t, oidctest.Claims{"aud": nil}), "TOKEN_INVALID", "another audience"},
		{"a longer audience", h.provider.Token(t, oidctest.Claims{"aud": oidctest.Audience + "/"}), "TOKEN_INVALID", "another audience"},
		{"another issuer", h.provider.Token(t, oidctest.Claims{"iss": "https://other.example"}), "TOKEN_INVALID", "another issuer"},
		{"a longer issuer", h.provider.Token(t, oidctest.Claims{"iss": h.provider.URL + "/"}), "TOKEN_INVALID", "another issuer"},
		{"no issuer", h.provider.Token(t, oidctest.Claims{"iss": nil}), "TOKEN_INVALID", "another issuer"},
		{"nobody's", h.provider.Token(t, oidctest.Claims{"sub": nil}), "TOKEN_INVALID", "whose it is"},
		{"alg none", oidctest.Unsigned(t, "none", h.provider.Claims(nil)), "TOKEN_INVALID", "asymmetric algorithm"},
		{"alg None", oidctest.Unsigned(t, "None", h.provider.Claims(nil)), "TOKEN_INVALID", "asymmetric algorithm"},
		{"the public key as a secret", signing.SignedWithPublicKey(t, h.provider.Claims(nil)), "TOKEN_INVALID", "asymmetric algorithm"},
		{"an algorithm that the issuer does not list", oidctest.NewKey(t, "new", jose.RS512).Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "asymmetric algorithm"},
		{"another algorithm than the key's", oidctest.Key{ID: signing.ID, Algorithm: jose.PS256, Private: signing.Private}.Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "does not list"},
		{"another curve than the key's", oidctest.NewKey(t, signing.ID, jose.ES384).Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "does not list"},
		{"an unknown key", oidctest.NewKey(t, "unknown", jose.RS256).Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "does not list"},
		{"another's key under the name", foreign.Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "signature does not fit"},
		{"other content", parts[0] + "." + oidctest.Part(t, h.provider.Claims(oidctest.Claims{"sub": "operator"})) + "." + parts[2], "TOKEN_INVALID", "signature does not fit"},
		{"no signature", parts[0] + "." + parts[1] + ".", "TOKEN_INVALID", "signature does not fit"},
		{"a longer signature", good + "A", "TOKEN_INVALID", "signature does not fit"},
		{"another spelling of the signature", respelt(good), "TOKEN_INVALID", "compact form"},
		{"padding", good + "==", "TOKEN_INVALID", "compact form"},
		{"a line's end", parts[0] + ".\n" + parts[1] + "." + parts[2], "TOKEN_INVALID", "compact form"},
		{"claims that are no object", parts[0] + "." + oidctest.Part(t, []string{"sub"}) + "." + parts[2], "TOKEN_INVALID", "compact form"},
		{"nothing", "..", "TOKEN_INVALID", "asymmetric algorithm"},
		{"one part", "eyJ", "TOKEN_INVALID", "compact form"},
		{"too long", h.provider.Token(t, oidctest.Claims{"padding": strings.Repeat("x", 16<<10)}), "TOKEN_INVALID", "16 KiB"},
	} {
		t.Run(test.what, func(t *testing.T) { h.refuses(t, test.token, test.reason, test.sentence) })
	}
	h.accepts(t, good)
	for _, within := range []oidctest.Claims{{"nbf": at(29 * time.Second)}, {"iat": at(29 * time.Second)}, {"exp": at(-28 * time.Second)}, {"nbf": nil, "iat": nil}} {
		h.accepts(t, h.provider.Token(t, within))
	}
}

// respelt changes bits at a token's end that mean nothing.
func respelt(token string) string {
	const digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	end := len(token) - 1
	return token[:end] + string(digits[strings.IndexByte(digits, token[end])^1])
}

func TestATokenWithoutAKeysNameMeansTheOnlyOneThatFits(t *testing.T) {
	h := newHouse(t)
	unnamed := oidctest.Key{Algorithm: jose.RS256, Private: h.provider.SigningKey().Private}
	h.accepts(t, unnamed.Sign(t, h.provider.Claims(nil)))
	h.provider.Rotate(t, jose.RS256)
	h.pass(6 * time.Minute)
	h.refresh(t)
	h.refuses(t, unnamed.Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "does not list")
}

func TestNewKeysArePickedUpAndMadeUpOnesCostLittle(t *testing.T) {
	h := newHouse(t)
	h.refresh(t)
	require.Equal(t, 1, h.provider.Fetched())
	h.provider.Rotate(t, jose.ES256)
	h.accepts(t, h.provider.Token(t, nil))
	require.Equal(t, 2, h.provider.Fetched())
	madeUp := oidctest.NewKey(t, "made up", jose.RS256)
	for range 100 {
		h.refuses(t, madeUp.Sign(t, h.provider.Claims(nil)), "TOKEN_INVALID", "does not list")
	}
	require.Equal(t, 3, h.provider.Fetched())
	h.provider.Rotate(t, jose.ES256)
	h.refuses(t, h.provider.Token(t, nil), "TOKEN_INVALID", "does not list")
	h.pass(10 * time.Second)
	h.accepts(t, h.provider.Token(t, nil))
	require.Equal(t, 4, h.provider.Fetched())
}

func TestAllWhoNeedTheKeysShareOneFetch(t *testing.T) {
	h := newHouse(t)
	token := h.provider.Token(t, nil)
	asked, let := make(chan struct{}, 100), make(chan struct{})
	h.provider.Answer(func(w http.ResponseWriter, _ *http.Request) {
		asked <- struct{}{}
		<-let
		http.Error(w, "away", http.StatusBadGateway)
	})
	ended := make(chan error, 20)
	for range cap(ended) {
		go func() {
			_, err := h.Check(t.Context(), token)
			ended <- err
		}()
	}
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Check(ctx, token)
	refuses(t, err, "TOKEN_ISSUER_UNAVAILABLE", "cannot be reached")
	close(let)
	for range cap(ended) {
		refuses(t, <-ended, "TOKEN_ISSUER_UNAVAILABLE", "cannot be reached")
	}
	require.LessOrEqual(t, h.provider.Fetched(), 3)
}

func TestWithdrawnKeysEndTheirTokens(t *testing.T) {
	h := newHouse(t)
	old := h.provider.Token(t, nil)
	under := h.accepts(t, old)
	h.provider.Rotate(t, jose.RS256)
	kept := h.accepts(t, h.provider.Token(t, nil))
	require.NoError(t, under.Key.Listed.Err())
	h.provider.Withdraw()
	h.pass(4 * time.Minute)
	h.refresh(t)
	require.NoError(t, under.Key.Listed.Err())
	h.pass(time.Minute)
	h.refresh(t)
	refuses(t, context.Cause(under.Key.Listed), "TOKEN_INVALID", "does not list")
	require.NoError(t, kept.Key.Listed.Err())
	h.refuses(t, old, "TOKEN_INVALID", "does not list")
}

// A clock that was set back does not put off the next look at the keys.
func TestWithdrawnKeysEndAlsoAfterTheClockWasSetBack(t *testing.T) {
	h := newHouse(t)
	under := h.accepts(t, h.provider.Token(t, nil))
	h.provider.Rotate(t, jose.RS256)
	h.provider.Withdraw()
	h.pass(-time.Hour)
	h.refresh(t)
	refuses(t, context.Cause(under.Key.Listed), "TOKEN_INVALID", "does not list")
}

func TestWhileTheIssuerIsAwayItsKnownKeysCount(t *testing.T) {
	h := newHouse(t)
	h.provider.Leave()
	h.refresh(t)
	token := h.provider.Token(t, nil)
	h.refuses(t, token, "TOKEN_ISSUER_UNAVAILABLE", "cannot be reached")
	h.refuses(t, h.provider.Token(t, oidctest.Claims{"iss": "https://other.example"}), "TOKEN_INVALID", "another issuer")
	h.pass(time.Minute)
	h.refresh(t)
	require.Equal(t, 1, strings.Count(h.log.String(), "could not be read"), h.log)
	h.provider.Return()
	h.pass(time.Minute)
	h.refresh(t)
	require.Contains(t, h.log.String(), "are known")
	h.accepts(t, token)

	h.provider.Leave()
	h.pass(10 * time.Minute)
	h.refresh(t)
	h.accepts(t, token)
	h.provider.Rotate(t, jose.RS256)
	h.refuses(t, h.provider.Token(t, nil), "TOKEN_ISSUER_UNAVAILABLE", "cannot be reached")
	h.provider.Return()
	h.pass(10 * time.Second)
	h.refresh(t)
	h.accepts(t, h.provider.Token(t, nil))
}

// An issuer that does not know the server any more, as after a change of its secret there, says no to the server and not to people.
func TestAnIssuerThatRefusesTheServerRefusesNobody(t *testing.T) {
	h := newHouse(t)
	h.provider.Client("console", "secret", "http://127.0.0.1/back")
	_, err := h.Renew(t.Context(), oidc.Client{ID: "console", Secret: "secret"}, "unknown", "paula")
	require.ErrorIs(t, err, oidc.ErrRefused)
	_, err = h.Renew(t.Context(), oidc.Client{ID: "console", Secret: "former"}, "unknown", "paula")
	require.NotErrorIs(t, err, oidc.ErrRefused)
	refuses(t, err, "TOKEN_ISSUER_UNAVAILABLE", "")
}

// A client shows its secret as a password, which every issuer takes that does not say otherwise (OpenID Connect Discovery 1.0), and in the
// body to one that takes it only there.
func TestWhereAClientShowsItsSecret(t *testing.T) {
	h := newHouse(t)
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: h.provider.SigningKey().Private.Public(), KeyID: "key-1"}}})
	require.NoError(t, err)
	url := h.provider.URL
	for methods, inBody := range map[string]bool{
		"": false, `,"token_endpoint_auth_methods_supported":["client_secret_post","client_secret_basic"]`: false,
		`,"token_endpoint_auth_methods_supported":["client_secret_post"]`: true,
	} {
		password, body := "", ""
		h.provider.Answer(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/keys":
				_, _ = w.Write(keys)
			case "/token":
				_, password, _ = r.BasicAuth()
				body = r.PostFormValue("client_secret")
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(`{"access_token":"a","token_type":"Bearer","refresh_token":"next"}`))
			default:
				_, _ = w.Write([]byte(`{"issuer":"` + url + `","jwks_uri":"` + url + `/keys","authorization_endpoint":"` + url +
					`/authorize","token_endpoint":"` + url + `/token"` + methods + `}`))
			}
		})
		grant, err := h.issuer(t, url).Renew(t.Context(), oidc.Client{ID: "console", Secret: "secret"}, "former", "paula")
		require.NoError(t, err, methods)
		require.Equal(t, "next", grant.Refresh)
		shown := map[bool]string{inBody: "secret"}
		require.Equal(t, []string{shown[false], shown[true]}, []string{password, body}, methods)
	}
}

func TestWhatAnIssuerMayNotPublish(t *testing.T) {
	h := newHouse(t)
	key, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: h.provider.SigningKey().Private.Public(), KeyID: "key-1"}}})
	require.NoError(t, err)
	document := func(issuer, keys string) string {
		return `{"issuer":"` + issuer + `","jwks_uri":"` + keys + `","id_token_signing_alg_values_supported":["RS256"]}`
	}
	url := h.provider.URL
	for _, test := range []struct{ what, discovery, keys, problem string }{
		{"another issuer", document("https://other.example", url+"/keys"), string(key), "is that of"},
		{"keys from where anybody may answer", document(url, "http://198.51.100.1/keys"), string(key), "no jwks_uri"},
		{"keys from a file", document(url, "file:///etc/keys"), string(key), "no jwks_uri"},
		{"no keys", document(url, url+"/keys"), `{"keys":[]}`, "lists no key"},
		{"a secret", document(url, url+"/keys"), `{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}`, "lists no key"},
		{"no algorithm that is accepted", strings.ReplaceAll(document(url, url+"/keys"), "RS256", "HS256"), string(key), "no algorithm"},
		{"no JSON", "<html>", string(key), "not the JSON"},
		{"too much", document(url, url+"/keys"), `{"keys":[` + strings.Repeat(" ", 1<<20) + `]}`, "larger than"},
	} {
		t.Run(test.what, func(t *testing.T) {
			h.provider.Answer(func(w http.ResponseWriter, r *http.Request) {
				text := test.keys
				if r.URL.Path != "/keys" {
					text = test.discovery
				}
				_, _ = w.Write([]byte(text))
			})
			issuer := h.issuer(t, url)
			require.NoError(t, issuer.Refresh(t.Context()))
			_, err := issuer.Check(t.Context(), h.provider.Token(t, nil))
			refuses(t, err, "TOKEN_ISSUER_UNAVAILABLE", "cannot be reached")
			require.Contains(t, h.log.String(), test.problem)
		})
	}
	t.Run("a redirection", func(t *testing.T) {
		h.provider.Answer(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, url+"/keys", http.StatusFound) })
		require.NoError(t, h.issuer(t, url).Refresh(t.Context()))
		require.Contains(t, h.log.String(), "302 Found")
	})
	t.Run("a key that nobody can read, beside one that counts", func(t *testing.T) {
		h.provider.Answer(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				_, _ = w.Write([]byte(strings.Replace(string(key), `[`, `[{"kty":"new"},{"kty":"RSA","n":"AQAB","e":"AQAB"},7,`, 1)))
				return
			}
			_, _ = w.Write([]byte(document(url, url+"/keys")))
		})
		_, err := h.issuer(t, url).Check(t.Context(), h.provider.Token(t, nil))
		require.NoError(t, err)
	})
}

func TestURLsOfIssuers(t *testing.T) {
	for url, problem := range map[string]string{
		"https://id.example.com":           "",
		"https://id.example.com/realms/a":  "",
		"http://localhost:8080/realms/a":   "",
		"http://127.0.0.1:8080":            "",
		"http://[::1]:8080":                "",
		"http://id.example.com":            "https://",
		"http://localhost.example.com":     "https://",
		"ftp://localhost":                  "https://",
		"id.example.com":                   "such as",
		"https://":                         "such as",
		"https://user:secret@id.example":   "such as",
		"https://id.example.com/?tenant=a": "without a query",
		"https://id.example.com/#":         "without a query",
		"%":                                "such as",
	} {
		if problem == "" {
			require.NoError(t, oidc.CheckURL(url), url)
		} else {
			require.ErrorContains(t, oidc.CheckURL(url), problem, url)
		}
	}
}

func TestClaimsAreTextsOrListsOfTexts(t *testing.T) {
	h := newHouse(t)
	token := h.accepts(t, h.provider.Token(t, oidctest.Claims{
		"one": "a", "several": []string{"a", "b"}, "none": []string{}, "number": 7, "mixed": []any{"a", 7}, "object": oidctest.Claims{"a": "b"},
		"realm_access": oidctest.Claims{"roles": []string{"reviewer"}}, "https://example.com/roles": "x", "a.b": "flat",
		"a": oidctest.Claims{"b": "nested"},
	}))
	for claim, want := range map[string][]string{
		"one": {"a"}, "several": {"a", "b"}, "none": nil, "absent": nil, "realm_access.roles": {"reviewer"}, "realm_access.groups": nil,
		"https://example.com/roles": {"x"}, "a.b": {"flat"}, "one.more": nil, "object.a": {"b"},
	} {
		texts, wellFormed := token.Strings(claim)
		require.True(t, wellFormed, claim)
		require.Equal(t, want, texts, claim)
	}
	for _, claim := range []string{"number", "mixed", "object"} {
		_, wellFormed := token.Strings(claim)
		require.False(t, wellFormed, claim)
	}
}

func FuzzCheck(f *testing.F) {
	provider := oidctest.Start(f)
	f.Add(provider.Token(f, nil))
	f.Add(oidctest.Unsigned(f, "none", provider.Claims(nil)))
	f.Add("eyJ..")
	issuer := oidc.New(oidc.Config{
		Issuer: provider.URL, Audience: oidctest.Audience, Now: time.Now, Logger: slog.New(slog.DiscardHandler),
	})
	f.Cleanup(issuer.Stop)
	f.Fuzz(func(t *testing.T, text string) {
		token, err := issuer.Check(t.Context(), text)
		if (token == nil) == (err == nil) {
			t.Fatalf("%q is neither accepted nor refused", text)
		}
		if err != nil && fault.From(err).Kind != fault.Unauthenticated {
			t.Fatalf("%q: %v", text, err)
		}
	})
}
