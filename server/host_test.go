package server

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheDevelopmentKeyServesThisMachinesOwnNamesOnly(t *testing.T) {
	server := start(t, testConfig(t))
	defer server.stop(t)
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	ask := func(host string) reply {
		request, err := http.NewRequestWithContext(as(t), http.MethodGet, "http://"+server.HTTP+"/v1/intents", nil)
		require.NoError(t, err)
		request.Host = host
		request.Header.Set("X-API-Key", DevelopmentKey)
		response, err := client.Do(request)
		require.NoError(t, err)
		defer response.Body.Close()
		var body json.RawMessage
		require.NoError(t, json.NewDecoder(response.Body).Decode(&body))
		return reply{response.StatusCode, response.Header, string(body)}
	}
	for _, host := range []string{"localhost", "LOCALHOST:1", "127.0.0.1", "127.9.9.9:80", "[::1]", "[::1]:8000"} {
		require.Equal(t, http.StatusOK, ask(host).status, host)
	}
	for _, host := range []string{"attacker.example", "attacker.example:8000", "localhost.attacker.example", "10.0.0.1:8000"} {
		require.Equal(t, "HOST_NOT_ALLOWED", problemOf(t, ask(host), http.StatusForbidden)["reason"], host)
	}
}

func TestConfiguredKeysServeEveryHost(t *testing.T) {
	cfg := testConfig(t)
	cfg.APIKeys = DevelopmentKey
	server := start(t, cfg)
	defer server.stop(t)
	request := httptest.NewRequestWithContext(as(t), http.MethodGet, "http://"+server.HTTP+"/readyz", nil)
	request.RequestURI, request.Host = "", "openintent.example"
	response, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(request)
	require.NoError(t, err)
	require.NoError(t, response.Body.Close())
	require.Equal(t, http.StatusOK, response.StatusCode)
}
