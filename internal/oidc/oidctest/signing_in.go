package oidctest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"
)

// signingIn is the issuer's side of signing in by OAuth, for clients that register themselves: the authorization code flow with PKCE
// (RFC 7636) and a resource (RFC 8707). Whoever comes is alice, and has agreed already.
type signingIn struct {
	tb testing.TB

	mutex sync.Mutex
	// clients are the addresses to which each client may be led back, by its id, and grants the codes that were given and not used.
	clients map[string][]string
	grants  map[string]grant
	// audience returns whom a token is for that a client wants for a resource.
	audience func(resource string) string
	// secrets are those of the clients that have one, and refreshes what renews the tokens that they got.
	secrets   map[string]string
	refreshes map[string]grant
	// person is what the tokens say of whoever comes, beside the claims of a good one. renews counts how often they were renewed.
	person Claims
	renews int
	// lasting is true while the issuer gives what renews its tokens.
	lasting bool
	// bare is true while the issuer leaves the id_token out of its answers.
	bare bool
}

// grant is what a code stands for. Only a client with a secret has a nonce, and nothing of a resource.
type grant struct{ client, redirect, challenge, resource, nonce string }

// Address sets which audience a token gets that a client asks for by a resource. Without it, that is the resource.
func (i *Issuer) Address(audience func(resource string) string) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	i.people.audience = audience
}

// metadata is what the issuer publishes: as an OpenID provider, and as an authorization server (RFC 8414).
func (i *Issuer) metadata() map[string]any {
	return map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys",
		"id_token_signing_alg_values_supported": []string{"RS256", "RS384", "PS256", "ES256", "ES384", "ES512", "EdDSA", "HS256", "none"},
		"authorization_endpoint":                i.URL + "/authorize", "token_endpoint": i.URL + "/token", "registration_endpoint": i.URL + "/register",
		"response_types_supported": []string{"code"}, "grant_types_supported": []string{"authorization_code"},
		"code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none", "client_secret_basic"},
	}
}

// register makes a public client of whoever asks (RFC 7591).
func (i *Issuer) register(w http.ResponseWriter, r *http.Request) {
	var asked struct {
		Redirects []string `json:"redirect_uris"`
	}
	if err := json.NewDecoder(r.Body).Decode(&asked); r.Method != http.MethodPost || err != nil || len(asked.Redirects) == 0 {
		deny(w, "invalid_client_metadata")
		return
	}
	id := rand.Text()
	i.people.mutex.Lock()
	i.people.clients[id] = asked.Redirects
	i.people.mutex.Unlock()
	reply(w, http.StatusCreated, map[string]any{
		"client_id": id, "redirect_uris": asked.Redirects, "token_endpoint_auth_method": "none",
	})
}

// authorize leads a client back at once, with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	asked := r.URL.Query()
	given := grant{asked.Get("client_id"), asked.Get("redirect_uri"), asked.Get("code_challenge"), asked.Get("resource"), asked.Get("nonce")}
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	known := slices.Contains(i.people.clients[given.client], given.redirect)
	if !known || asked.Get("response_type") != "code" || asked.Get("code_challenge_method") != "S256" || given.challenge == "" || (given.resource == "") == (given.nonce == "") {
		deny(w, "invalid_request")
		return
	}
	code := rand.Text()
	i.people.grants[code] = given
	back := url.Values{"code": {code}, "state": {asked.Get("state")}}
	http.Redirect(w, r, given.redirect+"?"+back.Encode(), http.StatusFound)
}

// token gives a token for a code, once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	if id, secret, named := r.BasicAuth(); named {
		i.tokenOfClient(w, r, id, secret)
		return
	}
	code := r.PostFormValue("code")
	i.people.mutex.Lock()
	given, known := i.people.grants[code]
	delete(i.people.grants, code)
	audience := given.resource
	if i.people.audience != nil {
		audience = i.people.audience(given.resource)
	}
	i.people.mutex.Unlock()
	digest := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	sent := grant{
		r.PostFormValue("client_id"), r.PostFormValue("redirect_uri"), base64.RawURLEncoding.EncodeToString(digest[:]),
		r.PostFormValue("resource"), "",
	}
	if !known || r.PostFormValue("grant_type") != "authorization_code" || sent != given {
		deny(w, "invalid_grant")
		return
	}
	reply(w, http.StatusOK, map[string]any{
		"access_token": i.Token(i.people.tb, Claims{"aud": audience}), "token_type": "Bearer", "expires_in": int(time.Hour.Seconds()),
	})
}

func deny(w http.ResponseWriter, word string) {
	reply(w, http.StatusBadRequest, map[string]any{"error": word})
}

func reply(w http.ResponseWriter, status int, content map[string]any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(content)
}
