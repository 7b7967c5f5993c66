// Package oidctest runs an issuer of tokens for tests: an OpenID provider as far as a server that checks tokens sees it.
package oidctest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
)

// Audience is the audience that the issuer's tokens name.
const Audience = "https://openintent.example"

// Claims are what a token says.
type Claims map[string]any

// Issuer is an issuer that serves on loopback until its test ends.
type Issuer struct {
	// URL is its name in tokens.
	URL string
	// Now is the clock by which its tokens begin and end.
	Now func() time.Time

	mutex   sync.Mutex
	signing Key
	listed  []Key
	fetched int
	answer  http.HandlerFunc // in place of its own, when not nil

	people signingIn
}

// Key is a key pair with a name.
type Key struct {
	ID        string
	Algorithm jose.SignatureAlgorithm
	Private   crypto.Signer
}

// Start runs an issuer that signs with RS256.
func Start(tb testing.TB) *Issuer {
	tb.Helper()
	i := &Issuer{Now: time.Now, people: newSigningIn(tb)}
	i.Rotate(tb, jose.RS256)
	server := httptest.NewServer(http.HandlerFunc(i.serve))
	tb.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	i.mutex.Lock()
	answer, listed := i.answer, jose.JSONWebKeySet{}
	for _, key := range i.listed {
		listed.Keys = append(listed.Keys, jose.JSONWebKey{
			Key: key.Private.Public(), KeyID: key.ID, Algorithm: string(key.Algorithm), Use: "sig",
		})
	}
	if r.URL.Path == "/.well-known/openid-configuration" {
		i.fetched++
	}
	i.mutex.Unlock()
	switch {
	case answer != nil:
		answer(w, r)
	case r.URL.Path == "/.well-known/openid-configuration" || r.URL.Path == "/.well-known/oauth-authorization-server":
		reply(w, http.StatusOK, i.metadata())
	case r.URL.Path == "/keys":
		_ = json.NewEncoder(w).Encode(listed)
	case r.URL.Path == "/register":
		i.register(w, r)
	case r.URL.Path == "/authorize":
		i.authorize(w, r)
	case r.URL.Path == "/token":
		i.token(w, r)
	default:
		http.NotFound(w, r)
	}
}

// Answer makes the issuer answer otherwise, or again by itself when the handler is nil.
func (i *Issuer) Answer(otherwise http.HandlerFunc) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.answer = otherwise
}

// Leave makes the issuer fail until it returns.
func (i *Issuer) Leave() {
	i.Answer(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "away", http.StatusServiceUnavailable) })
}

// Return makes the issuer answer again.
func (i *Issuer) Return() { i.Answer(nil) }

// Fetched returns how often its discovery document was read.
func (i *Issuer) Fetched() int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.fetched
}

// Rotate makes a new key, with which the issuer signs from now on. It goes on listing its other keys.
func (i *Issuer) Rotate(tb testing.TB, algorithm jose.SignatureAlgorithm) Key {
	tb.Helper()
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.signing = NewKey(tb, fmt.Sprint("key-", len(i.listed)+1), algorithm)
	i.listed = append(i.listed, i.signing)
	return i.signing
}

// Withdraw makes the issuer list only the key with which it signs.
func (i *Issuer) Withdraw() {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.listed = []Key{i.signing}
}

// SigningKey returns the key with which the issuer signs.
func (i *Issuer) SigningKey() Key {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	return i.signing
}

// Claims returns the claims of a good token, with changes; a nil value takes a claim away.
func (i *Issuer) Claims(changes Claims) Claims {
	now := i.Now()
	claims := Claims{
		"iss": i.URL, "aud": Audience, "sub": "alice", "iat": now.Unix(), "nbf": now.Unix(), "exp": now.Add(time.Hour).Unix(),
	}
	maps.Copy(claims, changes)
	maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
	return claims
}

// Token signs a token with the claims of a good one and these changes.
func (i *Issuer) Token(tb testing.TB, changes Claims) string {
	tb.Helper()
	return i.SigningKey().Sign(tb, i.Claims(changes))
}

// NewKey makes a key pair.
func NewKey(tb testing.TB, id string, algorithm jose.SignatureAlgorithm) Key {
	tb.Helper()
	var private crypto.Signer
	var err error
	switch algorithm {
	case jose.ES256:
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case jose.ES384:
		private, err = ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	case jose.ES512:
		private, err = ecdsa.GenerateKey(elliptic.P521(), rand.Reader)
	case jose.EdDSA:
		_, private, err = ed25519.GenerateKey(rand.Reader)
	default:
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	}
	if err != nil {
		tb.Fatal(err)
	}
	return Key{ID: id, Algorithm: algorithm, Private: private}
}

// Sign signs claims under the key's name.
func (k Key) Sign(tb testing.TB, claims Claims) string {
	tb.Helper()
	return sign(tb, k.Algorithm, k.Private, k.ID, claims)
}

// SignUnder signs claims, or whatever stands in their place, with RS256 under any header.
func (k Key) SignUnder(tb testing.TB, header map[string]any, claims any) string {
	tb.Helper()
	content := Part(tb, header) + "." + Part(tb, claims)
	digest := sha256.Sum256([]byte(content))
	signature, err := k.Private.Sign(rand.Reader, digest[:], crypto.SHA256)
	if err != nil {
		tb.Fatal(err)
	}
	return content + "." + base64.RawURLEncoding.EncodeToString(signature)
}

// SignedWithPublicKey signs claims with HS256, with the public key as the secret that everybody knows.
func (k Key) SignedWithPublicKey(tb testing.TB, claims Claims) string {
	tb.Helper()
	public, err := x509.MarshalPKIXPublicKey(k.Private.Public())
	if err != nil {
		tb.Fatal(err)
	}
	return sign(tb, jose.HS256, public, k.ID, claims)
}

func sign(tb testing.TB, algorithm jose.SignatureAlgorithm, key any, id string, claims Claims) string {
	tb.Helper()
	options := (&jose.SignerOptions{}).WithType("JWT")
	if id != "" {
		options = options.WithHeader("kid", id)
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: algorithm, Key: key}, options)
	if err != nil {
		tb.Fatal(err)
	}
	text, err := json.Marshal(claims)
	if err != nil {
		tb.Fatal(err)
	}
	signed, err := signer.Sign(text)
	if err != nil {
		tb.Fatal(err)
	}
	token, err := signed.CompactSerialize()
	if err != nil {
		tb.Fatal(err)
	}
	return token
}

// Unsigned makes a token of an algorithm that signs nothing.
func Unsigned(tb testing.TB, algorithm string, claims Claims) string {
	tb.Helper()
	return Part(tb, map[string]any{"alg": algorithm, "typ": "JWT"}) + "." + Part(tb, claims) + "."
}

// Part encodes a header or claims as a part of a token.
func Part(tb testing.TB, content any) string {
	tb.Helper()
	text, err := json.Marshal(content)
	if err != nil {
		tb.Fatal(err)
	}
	return base64.RawURLEncoding.EncodeToString(text)
}
