package oidc

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
)

// maxDocumentBytes bounds each document of an issuer.
const maxDocumentBytes = 1 << 20

// algorithms are those that a token may be signed with, if its issuer lists them.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512, jose.EdDSA,
}

// published is what an issuer publishes about its tokens.
type published struct {
	algorithms []jose.SignatureAlgorithm
	keys       []*Key
	// authorization and token are where people sign in, and where clients get tokens. They are empty if the issuer publishes none that can
	// be trusted. inBody is true if clients show their secret in the body there, and not as a password.
	authorization, token string
	inBody               bool
}

// discovery is what we read of an issuer's discovery document.
type discovery struct {
	Issuer     string                    `json:"issuer"`
	KeySet     string                    `json:"jwks_uri"`
	Algorithms []jose.SignatureAlgorithm `json:"id_token_signing_alg_values_supported"`
	// These are for signing people in.
	Authorization string   `json:"authorization_endpoint"`
	Token         string   `json:"token_endpoint"`
	Methods       []string `json:"token_endpoint_auth_methods_supported"`
}

// fetch reads what the issuer publishes now. On an error, what was known before goes on counting.
func (i *Issuer) fetch(ctx context.Context) error {
	began := i.cfg.Now()
	before := i.known.Load()
	now, err := i.read(ctx, before)
	if err != nil {
		if !i.failing.Swap(true) {
			i.cfg.Logger.Warn("what the issuer of tokens publishes could not be read; this is tried again",
				"issuer", i.cfg.Issuer, "keys known", before != nil, "error", err)
		}
		return err
	}
	i.known.Store(now)
	i.fetchedAt.Store(began.UnixMicro())
	if i.failing.Swap(false) || before == nil {
		i.cfg.Logger.Info("the keys of the issuer of tokens are known", "issuer", i.cfg.Issuer, "keys", len(now.keys))
	}
	if before != nil {
		for _, key := range before.keys {
			if !slices.Contains(now.keys, key) {
				key.withdraw(errKey)
			}
		}
	}
	return nil
}

// read fetches both documents. Keys that were published before stay what they are.
func (i *Issuer) read(ctx context.Context, before *published) (*published, error) {
	var found discovery
	if err := i.get(ctx, strings.TrimSuffix(i.cfg.Issuer, "/")+"/.well-known/openid-configuration", &found); err != nil {
		return nil, err
	}
	if found.Issuer != i.cfg.Issuer {
		return nil, fmt.Errorf("its discovery document is that of %q; configure the issuer exactly so, if that is meant", found.Issuer)
	}
	location, err := url.Parse(found.KeySet)
	if err != nil || location.Host == "" || !trustworthy(location) {
		return nil, errors.New("its discovery document has no jwks_uri that begins with https://")
	}
	now := &published{
		algorithms: algorithms, authorization: trusted(found.Authorization), token: trusted(found.Token),
		inBody: len(found.Methods) > 0 && !slices.Contains(found.Methods, "client_secret_basic"),
	}
	if len(found.Algorithms) > 0 {
		now.algorithms = slices.DeleteFunc(slices.Clone(algorithms), func(a jose.SignatureAlgorithm) bool {
			return !slices.Contains(found.Algorithms, a)
		})
	}
	var set struct {
		Keys []json.RawMessage `json:"keys"`
	}
	if err := i.get(ctx, found.KeySet, &set); err != nil {
		return nil, err
	}
	for _, text := range set.Keys {
		if key := readKey(text, before); key != nil {
			now.keys = append(now.keys, key)
		}
	}
	if len(now.keys) == 0 || len(now.algorithms) == 0 {
		return nil, errors.New("it lists no key, or no algorithm, with which a token can be accepted")
	}
	return now, nil
}

// trusted returns a URL that the issuer publishes, or nothing if somebody else could answer in its place.
func trusted(address string) string {
	if location, err := url.Parse(address); err != nil || location.Host == "" || !trustworthy(location) {
		return ""
	}
	return address
}

// get reads a document of the issuer.
func (i *Issuer) get(ctx context.Context, location string, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, location, http.NoBody)
	if err != nil {
		return err
	}
	request.Header.Set("Accept", "application/json")
	response, err := i.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", location, response.Status)
	}
	text, err := io.ReadAll(io.LimitReader(response.Body, maxDocumentBytes+1))
	switch {
	case err != nil:
		return fmt.Errorf("reading %s: %w", location, err)
	case len(text) > maxDocumentBytes:
		return fmt.Errorf("%s is larger than %d bytes", location, maxDocumentBytes)
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("%s is not the JSON that was expected: %w", location, err)
	}
	return nil
}

// Key is one of an issuer's keys.
type Key struct {
	jose.JSONWebKey
	// Listed is cancelled, with the reason, when the issuer no longer lists the key.
	Listed   context.Context
	withdraw context.CancelCauseFunc
}

// readKey reads a key of a set. It returns nil for a key with which no token can be accepted.
func readKey(text json.RawMessage, before *published) *Key {
	key := &Key{}
	if err := key.UnmarshalJSON(text); err != nil || !isForSignatures(text) || !key.Valid() || !key.IsPublic() {
		return nil
	}
	if !slices.ContainsFunc(algorithms, key.fits) {
		return nil
	}
	if before != nil {
		if at := slices.IndexFunc(before.keys, key.same); at >= 0 {
			return before.keys[at]
		}
	}
	key.Listed, key.withdraw = context.WithCancelCause(context.Background())
	return key
}

// isForSignatures reports whether a key's description lets signatures be checked with it. A key of which it says nothing does.
func isForSignatures(text json.RawMessage) bool {
	said := struct {
		Use        string   `json:"use"`
		Operations []string `json:"key_ops"`
	}{Use: "sig", Operations: []string{"verify"}}
	return json.Unmarshal(text, &said) == nil && said.Use == "sig" && slices.Contains(said.Operations, "verify")
}
