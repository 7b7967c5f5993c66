package oidctest

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"testing"
	"time"
)

func newSigningIn(tb testing.TB) signingIn {
	return signingIn{
		tb: tb, clients: make(map[string][]string), grants: make(map[string]grant), secrets: make(map[string]string),
		refreshes: make(map[string]grant), lasting: true,
	}
}

// Client makes the issuer know a client with a secret, which signs people in and may be led back to an address.
func (i *Issuer) Client(id, secret, redirect string) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	i.people.clients[id], i.people.secrets[id] = []string{redirect}, secret
}

// Comes sets what the tokens say of whoever signs in or is renewed from now on, as changes of the claims of a good token.
func (i *Issuer) Comes(person Claims) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	i.people.person = person
}

// Lasting says whether the issuer gives what renews its tokens. At first it does.
func (i *Issuer) Lasting(is bool) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	i.people.lasting = is
}

// Bare says whether the issuer leaves the id_token out of its answers. At first it does not.
func (i *Issuer) Bare(is bool) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	i.people.bare = is
}

// Dismiss makes the issuer renew nothing that it has given until now.
func (i *Issuer) Dismiss() {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	clear(i.people.refreshes)
}

// Renewed returns how often the issuer has renewed tokens.
func (i *Issuer) Renewed() int {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	return i.people.renews
}

// tokenOfClient gives a client with a secret tokens: for a code once, or for what renews them, once as well.
func (i *Issuer) tokenOfClient(w http.ResponseWriter, r *http.Request, id, secret string) {
	i.people.mutex.Lock()
	defer i.people.mutex.Unlock()
	if known, there := i.people.secrets[id]; !there || known != secret {
		reply(w, http.StatusUnauthorized, map[string]any{"error": "invalid_client"})
		return
	}
	var given grant
	var known bool
	switch r.PostFormValue("grant_type") {
	case "authorization_code":
		code := r.PostFormValue("code")
		given, known = i.people.grants[code]
		delete(i.people.grants, code)
		digest := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		sent := grant{id, r.PostFormValue("redirect_uri"), base64.RawURLEncoding.EncodeToString(digest[:]), "", given.nonce}
		known = known && sent == given
	case "refresh_token":
		refresh := r.PostFormValue("refresh_token")
		given, known = i.people.refreshes[refresh]
		delete(i.people.refreshes, refresh)
		i.people.renews++
		given.nonce = ""
	}
	if !known || given.client != id {
		deny(w, "invalid_grant")
		return
	}
	reply(w, http.StatusOK, i.given(given))
}

// given is what the issuer gives a client. The mutex is locked.
func (i *Issuer) given(to grant) map[string]any {
	claims := Claims{"aud": to.client}
	if to.nonce != "" {
		claims["nonce"] = to.nonce
	}
	maps.Copy(claims, i.people.person)
	answer := map[string]any{
		"access_token": rand.Text(), "token_type": "Bearer", "expires_in": int(time.Hour.Seconds()), "id_token": i.Token(i.people.tb, claims),
	}
	if i.people.bare {
		delete(answer, "id_token")
	}
	if i.people.lasting {
		refresh := rand.Text()
		i.people.refreshes[refresh] = to
		answer["refresh_token"] = refresh
	}
	return answer
}
