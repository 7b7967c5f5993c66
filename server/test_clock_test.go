package server

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/credentials/insecure"

	openintentv1 "openintent/gen/openintent/v1"
)

// posted posts a body to the path of the test's clock, with the development key, and returns the answer's status and body.
func posted(t *testing.T, r *running, method, body string, key string) (int, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, "http://"+r.HTTP+testClockPath, strings.NewReader(body))
	require.NoError(t, err)
	request.Header.Set("X-API-Key", key)
	answer, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	text, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.NoError(t, answer.Body.Close())
	return answer.StatusCode, string(text)
}

// Without the flag there is no such path, and time flows.
func TestOtherServersHaveNoTestClock(t *testing.T) {
	r := start(t, testConfig(t))
	status, text := posted(t, r, http.MethodPost, `{"advance_seconds": 60}`, DevelopmentKey)
	require.Equal(t, http.StatusNotFound, status)
	require.Contains(t, text, "ROUTE_NOT_FOUND")
}

func TestATestMovesTheClock(t *testing.T) {
	cfg := testConfig(t)
	cfg.TestClock = true
	r := start(t, cfg)
	at := func(answer string) time.Time {
		shown, err := time.Parse(time.RFC3339Nano, strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(answer), `{"now":"`), `"}`))
		require.NoError(t, err, answer)
		return shown
	}
	for seconds, by := range map[string]time.Duration{"0": 0, "0.5": time.Second / 2, "7": 7 * time.Second, "3600": time.Hour, "86400": 24 * time.Hour} {
		_, before := posted(t, r, http.MethodPost, `{"advance_seconds": 0}`, DevelopmentKey)
		status, after := posted(t, r, http.MethodPost, `{"advance_seconds": `+seconds+`}`, DevelopmentKey)
		require.Equal(t, http.StatusOK, status, after)
		require.InDelta(t, by.Seconds(), at(after).Sub(at(before)).Seconds(), 0.1, seconds) // so that time stands otherwise
	}
	for body, said := range map[string]string{
		``:                           `advance_seconds: is missing`,
		`{}`:                         `advance_seconds: is missing`,
		`{"advance_seconds": "far"}`: `advance_seconds: is missing`,
		`{"advance_seconds": -1}`:    `must lie between 0 and`,
		`{"advance_seconds": 1e12}`:  `must lie between 0 and`,
	} {
		status, text := posted(t, r, http.MethodPost, body, DevelopmentKey)
		require.Equal(t, http.StatusBadRequest, status, body)
		require.Contains(t, text, said, body)
	}
	status, _ := posted(t, r, http.MethodGet, "", DevelopmentKey)
	require.Equal(t, http.StatusMethodNotAllowed, status)
	status, _ = posted(t, r, http.MethodPost, `{"advance_seconds": 60}`, "another-key")
	require.Equal(t, http.StatusUnauthorized, status)
}

// Only a server that can be nobody's but a test's has a clock that stands.
func TestAServerForOthersRefusesATestClock(t *testing.T) {
	for name, row := range map[string]struct {
		change func(*Config)
		says   string
	}{
		"on PostgreSQL":  {func(c *Config) { c.DatabaseURL = "postgres://nobody@127.0.0.1:1/none" }, "OPENINTENT_TEST_CLOCK works with SQLite only"},
		"with keys":      {func(c *Config) { c.APIKeys = "a-key" }, "OPENINTENT_TEST_CLOCK is for tests"},
		"on all devices": {func(c *Config) { c.HTTPAddr = "0.0.0.0:0" }, "listens on loopback only"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := testConfig(t)
			cfg.TestClock = true
			row.change(&cfg)
			err := Run(t.Context(), cfg, nil)
			require.ErrorContains(t, err, row.says)
			var setting *SettingError
			require.ErrorAs(t, err, &setting)
		})
	}
}

// When a test moves the clock, all waits look at it at once, also those that rarely look by themselves.
func TestWhoeverWaitsLooksWhenATestMovesTheClock(t *testing.T) {
	cfg := testConfig(t)
	cfg.TestClock, cfg.LookAgain = true, time.Hour
	r := start(t, cfg)
	connection := dial(t, r.GRPC, insecure.NewCredentials())
	defer func() { require.NoError(t, connection.Close()) }()
	subscriptions, ctx := openintentv1.NewSubscriptionServiceClient(connection), as(t, "x-api-key", DevelopmentKey, "x-agent-id", "bob")
	made, err := subscriptions.CreateSubscription(ctx, &openintentv1.CreateSubscriptionRequest{})
	require.NoError(t, err)
	fetched := make(chan error, 1)
	go func() {
		_, err := subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{SubscriptionId: made.GetId(), WaitSeconds: new(600.0)})
		fetched <- err
	}()
	for len(fetched) == 0 && ctx.Err() == nil { // the call may not have come yet
		posted(t, r, http.MethodPost, `{"advance_seconds": 600}`, DevelopmentKey)
	}
	require.NoError(t, <-fetched)
}
