package oidc_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/stretchr/testify/require"

	"openintent/internal/oidc"
)

// signIn signs a person in with the issuer, and returns the grant.
func (h *house) signIn(t *testing.T, client oidc.Client) (*oidc.Grant, error) {
	t.Helper()
	attempt := oidc.NewAttempt("http://127.0.0.1/back")
	h.provider.Client(client.ID, client.Secret, attempt.Redirect)
	address, err := h.Leave(t.Context(), client, attempt)
	require.NoError(t, err)
	browser := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := browser.Get(address)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	back, err := answer.Location()
	require.NoError(t, err)
	return h.Return(t.Context(), client, attempt, back.Query().Get("code"))
}

// A grant lasts as long as its token. A sign-in needs a token, and a renewal must name the same person.
func TestAGrantIsThatOfOnePerson(t *testing.T) {
	h := newHouse(t)
	client := oidc.Client{ID: "console", Secret: "secret"}
	grant, err := h.signIn(t, client)
	require.NoError(t, err)
	require.Equal(t, "alice", grant.Token.Subject)
	require.Equal(t, grant.Token.Until, grant.Until)
	again, err := h.Renew(t.Context(), client, grant.Refresh, "alice")
	require.NoError(t, err)
	require.Equal(t, "alice", again.Token.Subject)
	_, err = h.Renew(t.Context(), client, again.Refresh, "bob")
	require.ErrorIs(t, err, oidc.ErrRefused)

	h.provider.Bare(true)
	_, err = h.signIn(t, client)
	require.ErrorIs(t, err, oidc.ErrRefused)
}

// A renewal need bring no token. What the issuer says then holds for as long as the issuer says, or for five minutes.
func TestARenewalWithoutATokenHoldsAsLongAsTheIssuerSays(t *testing.T) {
	h := newHouse(t)
	client := oidc.Client{ID: "console", Secret: "secret"}
	grant, err := h.signIn(t, client)
	require.NoError(t, err)
	h.provider.Bare(true)
	renewed, err := h.Renew(t.Context(), client, grant.Refresh, "alice")
	require.NoError(t, err)
	require.Nil(t, renewed.Token)
	require.Equal(t, h.now().Add(time.Hour), renewed.Until)
	h.provider.Answer(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"access_token":"a","token_type":"Bearer"}`))
	})
	renewed, err = h.Renew(t.Context(), client, renewed.Refresh, "alice")
	require.NoError(t, err)
	require.Equal(t, h.now().Add(5*time.Minute), renewed.Until)
}

// Only a no to the person is a no. An issuer that has too much to do, fails, or refuses the server itself, has not said what it thinks of anybody.
func TestWhatIsANoToAPerson(t *testing.T) {
	h := newHouse(t)
	client := oidc.Client{ID: "console", Secret: "secret"}
	_, err := h.signIn(t, client)
	require.NoError(t, err)
	for _, said := range []struct {
		status int
		word   string
		no     bool
	}{
		{http.StatusBadRequest, "invalid_grant", true}, {http.StatusUnauthorized, "access_denied", true}, {http.StatusForbidden, "access_denied", true},
		{http.StatusBadRequest, "invalid_client", false}, {http.StatusUnauthorized, "invalid_client", false},
		{http.StatusTooManyRequests, "slow_down", false}, {http.StatusInternalServerError, "server_error", false},
		{http.StatusServiceUnavailable, "temporarily_unavailable", false},
	} {
		h.provider.Answer(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(said.status)
			_, _ = w.Write([]byte(`{"error":"` + said.word + `"}`))
		})
		_, err := h.Renew(t.Context(), client, "refresh", "alice")
		require.Equal(t, said.no, errors.Is(err, oidc.ErrRefused), "%+v", said)
		if !said.no {
			refuses(t, err, "TOKEN_ISSUER_UNAVAILABLE", "cannot be checked now")
		}
	}
}

// People are led only to where nobody else can answer in the issuer's place.
func TestWherePeopleAreLed(t *testing.T) {
	h := newHouse(t)
	url := h.provider.URL
	keys, err := json.Marshal(jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: h.provider.SigningKey().Private.Public(), KeyID: "key-1"}}})
	require.NoError(t, err)
	for _, test := range []struct {
		authorization, token string
		leads                bool
	}{
		{url + "/authorize", url + "/token", true}, {"https://id.example/authorize", "https://id.example/token", true},
		{"http://198.51.100.1/authorize", url + "/token", false}, {url + "/authorize", "http://198.51.100.1/token", false},
		{"", url + "/token", false}, {url + "/authorize", "", false},
	} {
		h.provider.Answer(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/keys" {
				_, _ = w.Write(keys)
				return
			}
			_, _ = w.Write([]byte(`{"issuer":"` + url + `","jwks_uri":"` + url + `/keys","authorization_endpoint":"` + test.authorization +
				`","token_endpoint":"` + test.token + `"}`))
		})
		attempt := oidc.NewAttempt("http://127.0.0.1/back")
		address, err := h.issuer(t, url).Leave(t.Context(), oidc.Client{ID: "console"}, attempt)
		if test.leads {
			require.NoError(t, err, test)
			require.Contains(t, address, test.authorization+"?")
			continue
		}
		refuses(t, err, "TOKEN_ISSUER_UNAVAILABLE", "does not say where people sign in")
	}
}
