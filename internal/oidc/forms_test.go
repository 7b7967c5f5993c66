package oidc_test

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/oidc/oidctest"
)

// An issuer may sign claims of any form. Each is held to its own, whoever signed it.
func TestClaimsHaveTheirForms(t *testing.T) {
	h := newHouse(t)
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	later := h.now().Add(time.Hour).Unix()
	for _, test := range []struct {
		claim    string
		value    any
		sentence string
	}{
		{"sub", 7, "not of its type"},
		{"sub", []string{"alice"}, "not of its type"},
		{"sub", oidctest.Claims{"name": "alice"}, "not of its type"},
		{"sub", true, "not of its type"},
		{"sub", raw("null"), "whose it is"},
		{"sub", "", "whose it is"},
		{"sub", strings.Repeat("a", 1025), "at most 1,024 bytes"},
		{"sub", strings.Repeat("ä", 513), "at most 1,024 bytes"},
		{"sub", "alice\x00", "no control characters"},
		{"sub", "alice\nbob", "no control characters"},
		{"sub", "alice\u0085", "no control characters"},
		{"iss", 7, "not of its type"},
		{"iss", []string{h.provider.URL}, "not of its type"},
		{"aud", 7, "not of its type"},
		{"aud", []any{oidctest.Audience, 7}, "not of its type"},
		{"aud", oidctest.Claims{oidctest.Audience: true}, "not of its type"},
		{"aud", []string{}, "another audience"},
		{"exp", "soon", "not of its type"},
		{"exp", raw("null"), "when it expires"},
		{"exp", []int64{later}, "not of its type"},
		{"exp", true, "not of its type"},
		{"exp", raw("1e400"), "not of its type"},
		{"exp", raw("-1e30"), "not of its type"},
		{"exp", -1, "has expired"},
		{"exp", 0, "has expired"},
		{"exp", raw("-4e18"), "has expired"},
		{"nbf", later, "not valid yet"},
		{"nbf", raw("4e18"), "not valid yet"},
		{"nbf", "now", "not of its type"},
		{"iat", later, "not valid yet"},
		{"iat", oidctest.Claims{}, "not of its type"},
	} {
		token := h.provider.Token(t, oidctest.Claims{test.claim: test.value})
		_, err := h.Check(t.Context(), token)
		require.Error(t, err, "%s %v", test.claim, test.value)
		require.Equal(t, fault.Unauthenticated, fault.From(err).Kind, "%s %v", test.claim, test.value)
		require.Contains(t, fault.From(err).Message, test.sentence, "%s %v", test.claim, test.value)
	}
	for _, good := range []oidctest.Claims{
		{"sub": strings.Repeat("a", 1024)}, {"sub": "Älice, 7"}, {"exp": float64(later) + 0.5}, {"exp": raw("1e10")}, {"exp": raw("4e18")},
		{"nbf": raw("-4e18"), "iat": -1}, {"aud": []string{"other", oidctest.Audience}}, {"jti": "a"},
	} {
		h.accepts(t, h.provider.Token(t, good))
	}
	twice := strings.TrimSuffix(string(must(json.Marshal(h.provider.Claims(nil)))), "}") + `,"sub":"bob"}`
	header := map[string]any{"alg": "RS256", "kid": h.provider.SigningKey().ID}
	h.refuses(t, h.provider.SigningKey().SignUnder(t, header, json.RawMessage(twice)), "TOKEN_INVALID", "compact form")
}

func must(text []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return text
}

// A header has its form too, and what it offers besides the name of a key means nothing.
func TestHeadersHaveTheirForms(t *testing.T) {
	h := newHouse(t)
	signing, mine := h.provider.SigningKey(), oidctest.NewKey(t, "mine", jose.RS256)
	embedded := jose.JSONWebKey{Key: mine.Private.Public(), KeyID: "mine", Algorithm: "RS256"}
	for what, test := range map[string]struct {
		key    oidctest.Key
		header map[string]any
	}{
		"a name that is a number":       {signing, map[string]any{"alg": "RS256", "kid": 7}},
		"a name that is a list":         {signing, map[string]any{"alg": "RS256", "kid": []string{signing.ID}}},
		"a name with more":              {signing, map[string]any{"alg": "RS256", "kid": signing.ID + "\x00"}},
		"a long name":                   {signing, map[string]any{"alg": "RS256", "kid": strings.Repeat("k", 8<<10)}},
		"a path for a name":             {signing, map[string]any{"alg": "RS256", "kid": "../../" + signing.ID}},
		"no algorithm":                  {signing, map[string]any{"kid": signing.ID}},
		"an algorithm that is a number": {signing, map[string]any{"alg": 256, "kid": signing.ID}},
		"another case":                  {signing, map[string]any{"alg": "rs256", "kid": signing.ID}},
		"something critical":            {signing, map[string]any{"alg": "RS256", "kid": signing.ID, "crit": []string{"exp"}, "exp": 1}},
		"an embedded key":               {mine, map[string]any{"alg": "RS256", "kid": "mine", "jwk": embedded}},
		"an embedded key, by a known name": {
			mine, map[string]any{"alg": "RS256", "kid": signing.ID, "jwk": embedded},
		},
		"a key elsewhere":  {mine, map[string]any{"alg": "RS256", "kid": "mine", "jku": h.provider.URL + "/mine"}},
		"no certificate":   {signing, map[string]any{"alg": "RS256", "kid": signing.ID, "x5c": []string{"AAAA"}}},
		"a header of text": {signing, nil},
	} {
		t.Run(what, func(t *testing.T) {
			h.refuses(t, test.key.SignUnder(t, test.header, h.provider.Claims(nil)), "TOKEN_INVALID", "oken")
		})
	}
	h.accepts(t, signing.SignUnder(t, map[string]any{"alg": "RS256", "kid": signing.ID, "typ": "at+jwt"}, h.provider.Claims(nil)))
}

// A key of a wrong form accepts no token, also if it stands among good ones.
func TestKeysHaveTheirForms(t *testing.T) {
	h := newHouse(t)
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	require.NoError(t, err)
	weak := oidctest.Key{ID: "odd", Algorithm: jose.RS256, Private: small}
	text := base64.RawURLEncoding.EncodeToString
	for what, test := range map[string]struct {
		key    oidctest.Key
		change map[string]any
		counts bool
	}{
		"as it should be":              {oidctest.NewKey(t, "odd", jose.RS256), nil, true},
		"without a use":                {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"use": nil}, true},
		"for verifying, by its name":   {oidctest.NewKey(t, "odd", jose.ES256), map[string]any{"key_ops": []string{"verify"}}, true},
		"for encryption":               {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"use": "enc"}, false},
		"for something else":           {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"use": "tls"}, false},
		"for wrapping keys":            {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"use": nil, "key_ops": []string{"wrapKey"}}, false},
		"for what is no list":          {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"key_ops": 7}, false},
		"an algorithm that is another": {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"alg": "PS256"}, false},
		"an algorithm of encryption":   {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"alg": "RSA-OAEP"}, false},
		"a secret":                     {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"kty": "oct", "k": text([]byte("secret"))}, false},
		"another kind":                 {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"kty": "EC"}, false},
		"no kind":                      {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"kty": nil}, false},
		"a small one":                  {weak, nil, false},
		"an exponent of one":           {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"e": "AQ"}, false},
		"an even exponent":             {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"e": "AQAA"}, false},
		"an exponent beyond numbers":   {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"e": text([]byte(strings.Repeat("\xff", 64)))}, false},
		"no exponent":                  {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"e": nil}, false},
		"a point beside the curve":     {oidctest.NewKey(t, "odd", jose.ES256), map[string]any{"y": text(make([]byte, 32))}, false},
		"a point that is short":        {oidctest.NewKey(t, "odd", jose.ES256), map[string]any{"x": "AQ"}, false},
		"another curve":                {oidctest.NewKey(t, "odd", jose.ES256), map[string]any{"crv": "P-384"}, false},
		"a curve of Edwards, short":    {oidctest.NewKey(t, "odd", jose.EdDSA), map[string]any{"x": "AQ"}, false},
		"a curve for secrets":          {oidctest.NewKey(t, "odd", jose.EdDSA), map[string]any{"crv": "X25519"}, false},
		"with its private part":        {oidctest.NewKey(t, "odd", jose.EdDSA), map[string]any{"d": text(make([]byte, 32))}, false},
		"a certificate that is none":   {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"x5c": []string{"AAAA"}}, false},
		"a name that is a number":      {oidctest.NewKey(t, "odd", jose.RS256), map[string]any{"kid": 7}, false},
	} {
		t.Run(what, func(t *testing.T) {
			h.lists(t, test.key, test.change)
			issuer := h.issuer(t, h.provider.URL)
			_, err := issuer.Check(t.Context(), h.provider.Token(t, nil))
			require.NoError(t, err, "the good key counts")
			_, err = issuer.Check(t.Context(), test.key.Sign(t, h.provider.Claims(nil)))
			if test.counts {
				require.NoError(t, err)
				return
			}
			refuses(t, err, "TOKEN_INVALID", "does not list")
		})
	}
}

// lists makes the issuer list, beside its own key, another one with changes to its description.
func (h *house) lists(t *testing.T, key oidctest.Key, change map[string]any) {
	t.Helper()
	describe := func(key oidctest.Key) map[string]any {
		said := map[string]any{}
		require.NoError(t, json.Unmarshal(must(json.Marshal(jose.JSONWebKey{
			Key: key.Private.Public(), KeyID: key.ID, Algorithm: string(key.Algorithm), Use: "sig",
		})), &said))
		return said
	}
	odd := describe(key)
	maps.Copy(odd, change)
	maps.DeleteFunc(odd, func(_ string, value any) bool { return value == nil })
	set := must(json.Marshal(map[string]any{"keys": []any{describe(h.provider.SigningKey()), odd}}))
	discovery := must(json.Marshal(map[string]any{"issuer": h.provider.URL, "jwks_uri": h.provider.URL + "/keys"}))
	h.provider.Answer(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" {
			_, _ = w.Write(set)
			return
		}
		_, _ = w.Write(discovery)
	})
}

// A signature by a short curve under a long curve's algorithm is one that libraries might check. The issuer's key is still of another curve.
func TestAKeyFitsOnlyItsCurvesAlgorithm(t *testing.T) {
	h := newHouse(t)
	short := oidctest.NewKey(t, "odd", jose.ES256)
	h.lists(t, short, map[string]any{"alg": nil})
	issuer := h.issuer(t, h.provider.URL)
	header := oidctest.Part(t, map[string]any{"alg": "ES384", "kid": "odd"})
	content := header + "." + oidctest.Part(t, h.provider.Claims(nil))
	digest := sha512.Sum384([]byte(content))
	r, s, err := ecdsa.Sign(rand.Reader, short.Private.(*ecdsa.PrivateKey), digest[:])
	require.NoError(t, err)
	signature := append(r.FillBytes(make([]byte, 48)), s.FillBytes(make([]byte, 48))...)
	_, err = issuer.Check(t.Context(), content+"."+base64.RawURLEncoding.EncodeToString(signature))
	refuses(t, err, "TOKEN_INVALID", "does not list")
	_, err = issuer.Check(t.Context(), short.Sign(t, h.provider.Claims(nil)))
	require.NoError(t, err)
}
