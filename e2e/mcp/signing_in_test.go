package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/internal/oidc/oidctest"
	"openintent/server"
)

// back is where the issuer leads a client back to. Nobody listens there: the test reads the code from the redirect.
const back = "http://127.0.0.1:1/back"

// browse opens the issuer's page as a browser does whose user has agreed already.
func browse(ctx context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, args.URL, http.NoBody)
	if err != nil {
		return nil, err
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	led, err := response.Location()
	if err != nil {
		return nil, fmt.Errorf("the issuer answers %s: %w", response.Status, err)
	}
	return &auth.AuthorizationResult{Code: led.Query().Get("code"), State: led.Query().Get("state")}, nil
}

// noted keeps what a client has asked for, and what came of it.
type noted struct {
	mutex sync.Mutex
	steps []string
}

// RoundTrip sends a request.
func (n *noted) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		n.mutex.Lock()
		defer n.mutex.Unlock()
		n.steps = append(n.steps, fmt.Sprint(r.Method, " ", r.URL.Path, " ", response.StatusCode))
	}
	return response, err
}

// signIn connects a client that knows an address and nothing else: no key, no agent, no issuer.
func signIn(t *testing.T, address, revision string) (*sdk.ClientSession, []string, error) {
	t.Helper()
	steps := &noted{}
	client := &http.Client{Transport: steps}
	signing, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "a harness", RedirectURIs: []string{back}, TokenEndpointAuthMethod: "none"},
		},
		AuthorizationCodeFetcher: browse, Client: client,
	})
	require.NoError(t, err)
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), &sdk.StreamableClientTransport{
		Endpoint: address, HTTPClient: client, DisableStandaloneSSE: true, OAuthHandler: signing,
	}, &sdk.ClientSessionOptions{ProtocolVersion: revision})
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	steps.mutex.Lock()
	defer steps.mutex.Unlock()
	return session, steps.steps, err
}

// isAlice checks whom the server takes a client for.
func isAlice(t *testing.T, session *sdk.ClientSession) {
	t.Helper()
	answer, _ := (&agent{ClientSession: session}).call(t, "whoami", nil)
	require.Equal(t, "alice", answer["agent"])
}

// eachTrusting runs a test on each engine, on a server that trusts an issuer whose tokens all have the one audience.
func eachTrusting(t *testing.T, test func(t *testing.T, h *house, issuer *oidctest.Issuer)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		issuer := oidctest.Start(t)
		issuer.Address(func(string) string { return oidctest.Audience })
		test(t, &house{harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.OIDCIssuer, cfg.OIDCAudience = issuer.URL, oidctest.Audience
		}})}, issuer)
	})
}

// A client without a key finds the issuer, registers there, comes back with a token and acts as the token's agent.
func TestAClientWithoutAKeySignsIn(t *testing.T) {
	eachTrusting(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		for _, revision := range []string{newest, older} {
			session, steps, err := signIn(t, h.BaseURL()+"/mcp", revision)
			require.NoError(t, err)
			require.Equal(t, []string{
				"POST /mcp 401", "GET /.well-known/oauth-protected-resource/mcp 200", "GET /.well-known/oauth-authorization-server 200",
				"POST /register 201", "POST /token 200", "POST /mcp 200",
			}, steps[:6])
			isAlice(t, session)
		}
		session, _, err := signIn(t, h.BaseURL()+"/mcp?tools=c2a", newest)
		require.NoError(t, err)
		listed, err := session.ListTools(t.Context(), nil)
		require.NoError(t, err)
		require.Len(t, listed.Tools, 7)

		issuer.Address(func(resource string) string { return resource })
		_, steps, err := signIn(t, h.BaseURL()+"/mcp", newest)
		require.Error(t, err, "a token for another audience")
		require.Equal(t, "POST /mcp 401", steps[len(steps)-1])
		_, _, err = signIn(t, strings.Replace(h.BaseURL(), "127.0.0.1", "localhost", 1)+"/mcp", newest)
		require.Error(t, err, "a token for another audience")
	})
}

// Behind a proxy, the client finds the address by which it came, and the token is for that address alone.
func TestAClientSignsInBehindAProxy(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, address string) {
		issuer, target := oidctest.Start(t), atomic.Pointer[url.URL]{}
		pass := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target.Load())
			r.Out.URL.Path = strings.TrimPrefix(r.In.URL.Path, "/team/agents")
		}}
		front := httptest.NewServer(pass)
		t.Cleanup(front.Close)
		public := front.URL + "/team/agents"
		h := &house{harness.Start(t, harness.Options{URL: address, Configure: func(cfg *server.Config) {
			cfg.OIDCIssuer, cfg.OIDCAudience, cfg.PublicURL = issuer.URL, public+"/mcp", public
		}})}
		at, err := url.Parse(h.BaseURL())
		require.NoError(t, err)
		target.Store(at)

		session, steps, err := signIn(t, public+"/mcp", newest)
		require.NoError(t, err)
		require.Equal(t, "GET /team/agents/.well-known/oauth-protected-resource/mcp 200", steps[1])
		isAlice(t, session)

		_, _, err = signIn(t, h.BaseURL()+"/mcp", newest)
		require.Error(t, err, "the client came by another address than the metadata says")
		issuer.Address(func(string) string { return public })
		_, _, err = signIn(t, public+"/mcp", newest)
		require.Error(t, err, "a token for another audience")
	})
}

// Whoever asks a server for its metadata under another name does not change where others bring their tokens.
func TestNobodyElseChoosesTheResource(t *testing.T) {
	eachTrusting(t, func(t *testing.T, h *house, issuer *oidctest.Issuer) {
		for _, name := range []string{"evil.example", "localhost.evil.example"} {
			request, err := h.With("", "").Request(t.Context(), http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "")
			require.NoError(t, err)
			request.Host = name
			response, err := h.HTTP.Do(request)
			require.NoError(t, err)
			require.NoError(t, response.Body.Close())
			require.Equal(t, http.StatusForbidden, response.StatusCode)
		}
		answer := h.With("", "").REST(t, http.MethodGet, "/.well-known/oauth-protected-resource/mcp", "", "X-Forwarded-Host", "evil.example")
		var said map[string]json.RawMessage
		answer.Decode(t, &said)
		require.JSONEq(t, `"`+h.BaseURL()+`/mcp"`, string(said["resource"]))
		require.JSONEq(t, `["`+issuer.URL+`"]`, string(said["authorization_servers"]))
	})
}
