package console

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

func TestMain(m *testing.M) {
	databasetest.OneEngine()
	harness.Main(m)
}

// tick is how often a test looks again at what must become true.
const tick = 20 * time.Millisecond

// house is a database with a clock that the test moves, and the servers on it: one on SQLite, two on PostgreSQL.
type house struct {
	clock   *databasetest.Clock
	began   time.Time
	servers []*harness.Server
}

// first and last are the two servers, or twice the only one.
func (h *house) first() *harness.Server { return h.servers[0] }
func (h *house) last() *harness.Server  { return h.servers[len(h.servers)-1] }

// each runs a test on both engines.
func each(t *testing.T, configure func(*server.Config), run func(t *testing.T, h *house)) {
	t.Helper()
	eachIn(t, func(_ *testing.T, cfg *server.Config) {
		if configure != nil {
			configure(cfg)
		}
	}, run)
}

// eachIn is each for settings that belong to the test of an engine.
func eachIn(t *testing.T, configure func(*testing.T, *server.Config), run func(t *testing.T, h *house)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := &house{clock: databasetest.NewClock()}
		h.began = time.Now()
		h.clock.Set(h.began)
		start := func() {
			h.servers = append(h.servers, harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
				cfg.Clock = h.clock.Now
				configure(t, cfg)
			}}))
		}
		if start(); url[:6] != "sqlite" {
			start()
		}
		run(t, h)
	})
}

// issue makes a key in the database, and returns its secret and its id.
func (h *house) issue(t *testing.T, body string) (secret, id string) {
	t.Helper()
	answer := h.first().Operator().REST(t, "POST", "/v1/keys", body)
	require.Equal(t, 201, answer.Status, "%s", answer.Body)
	var made struct {
		Secret string
		Key    struct{ ID string }
	}
	answer.Decode(t, &made)
	return made.Secret, made.Key.ID
}

// withKey is the body of a sign-in with a key.
func withKey(key string) string { return `{"api_key":"` + key + `"}` }

// requireRefused checks that an answer is a refusal for a reason.
func requireRefused(t *testing.T, answer harness.Answer, status int, reason string) {
	t.Helper()
	require.Equal(t, status, answer.Status, "%s", answer.Body)
	requireReason(t, answer, reason)
}

func requireReason(t *testing.T, answer harness.Answer, reason string) {
	t.Helper()
	var problem struct{ Reason string }
	require.NoError(t, json.Unmarshal(answer.Body, &problem), "%s", answer.Body)
	require.Equal(t, reason, problem.Reason)
}

// requireOver checks that a browser's session has ended on every server, for what the console asks and for calls.
func (h *house) requireOver(t *testing.T, b *harness.Browser) {
	t.Helper()
	for _, one := range h.servers {
		requireRefused(t, b.At(&one.Clients).REST(t, "GET", "/console/session", ""), 401, "SESSION_ENDED")
		requireRefused(t, b.At(&one.Clients).REST(t, "GET", "/v1/whoami", ""), 401, "SESSION_ENDED")
	}
}

// requireLasts checks that a browser's session is accepted on every server.
func (h *house) requireLasts(t *testing.T, b *harness.Browser) {
	t.Helper()
	for _, one := range h.servers {
		require.Equal(t, 200, b.At(&one.Clients).REST(t, "GET", "/console/session", "").Status)
		require.Equal(t, 200, b.At(&one.Clients).REST(t, "GET", "/v1/whoami", "").Status)
	}
}

// eventually waits until something is so.
func eventually(t *testing.T, what string, is func() bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	defer cancel()
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	for !is() {
		select {
		case <-ticker.C:
		case <-ctx.Done():
			t.Fatalf("it never came about: %s", what)
		}
	}
}
