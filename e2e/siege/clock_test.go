package siege

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// behindItsBack changes the server's stored data while the server is stopped.
func behindItsBack(t *testing.T, h *harness.Server, statement string, arguments ...any) {
	t.Helper()
	require.NoError(t, h.Stop())
	db, err := database.Open(t.Context(), database.Config{URL: h.DatabaseURL})
	require.NoError(t, err)
	require.NoError(t, db.Write(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: statement, Args: arguments})
	}))
	require.NoError(t, db.Close())
	h.Start(t)
}

// TestAForwardStepOfTheClockDoesNotStick checks a server whose clock was wrong by an hour, which left logs whose
// newest times lie an hour ahead of the clock. Deadlines, waits and times to live must follow the clock nevertheless.
func TestAForwardStepOfTheClockDoesNotStick(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url})
		alice, bob := stepped{h.As("alice")}, h.As("bob")
		intent := alice.makes(t, "/v1/intents", `{"title":"T","status":"active"}`)
		channel := alice.makes(t, "/v1/intents/"+intent+"/channels", `{"name":"c"}`)
		alice.makes(t, "/v1/channels/"+channel+"/messages", `{"payload":{}}`)
		behindItsBack(t, h, "UPDATE intent_heads SET last_at = last_at + ?", time.Hour.Microseconds())

		// The clock decides about the first message, which reads from the database, and also about the next ones,
		// which are stored in one round trip.
		for range size(3, 30) {
			deadline := time.Now().Add(10 * time.Minute).UTC().Format(time.RFC3339Nano)
			answer := alice.REST(t, http.MethodPost, "/v1/channels/"+channel+"/messages",
				fmt.Sprintf(`{"to":"bob","payload":{},"expires_at":%q}`, deadline))
			require.Equal(t, http.StatusCreated, answer.Status, "%s", answer.Body)
		}
		longest := time.Duration(0)
		for range size(1, 5) {
			begun := time.Now()
			answer := alice.REST(t, http.MethodPost, "/v1/channels/"+channel+"/ask", `{"to":"bob","payload":{},"timeout_seconds":2}`)
			longest = max(longest, time.Since(begun))
			require.Equal(t, http.StatusRequestTimeout, answer.Status, "%s", answer.Body)
		}
		figure(t, "an ask of 2 s on a log an hour ahead took %.1f s", longest.Seconds())
		require.Less(t, longest, 20*time.Second)

		passing := alice.makes(t, "/v1/intents/"+intent+"/channels", `{"name":"p","options":{"ttl_seconds":2}}`)
		begun := time.Now()
		alice.makes(t, "/v1/channels/"+passing+"/messages", `{"payload":{}}`)
		require.Eventually(t, func() bool {
			answer := bob.REST(t, http.MethodGet, "/v1/channels/"+passing, "")
			return strings.Contains(string(answer.Body), `"closed"`)
		}, harness.Patience, 50*time.Millisecond, "the channel does not lapse")
		figure(t, "a time to live of 2 s on a log an hour ahead took %.1f s", time.Since(begun).Seconds())

		count := alice.commitsBehind(t)
		require.Positive(t, count)
		warnings := strings.Count(h.Log(), "the clock is behind")
		require.Positive(t, warnings)
		require.LessOrEqual(t, warnings, 2, "the warning is not repeated for each message")
		figure(t, "%.0f commits behind their logs were counted, %d lines logged", count, warnings)
	})
}

// stepped calls a server whose clock was wrong for a while.
type stepped struct{ *harness.Caller }

// makes creates something and returns its id.
func (c stepped) makes(t *testing.T, path, body string) string {
	t.Helper()
	answer := c.REST(t, http.MethodPost, path, body)
	require.Equal(t, http.StatusCreated, answer.Status, "%s %s", path, answer.Body)
	var thing struct{ ID string }
	answer.Decode(t, &thing)
	return thing.ID
}

// commitsBehind reads how many commits the server has counted whose logs lie ahead of the clock.
func (c stepped) commitsBehind(t *testing.T) float64 {
	t.Helper()
	const name = "openintent_clock_behind_log_total"
	answer := c.REST(t, http.MethodGet, "/metrics", "")
	found := regexp.MustCompile(`(?m)^` + name + ` (\S+)$`).FindSubmatch(answer.Body)
	require.NotNil(t, found, "no metric %s", name)
	count, err := strconv.ParseFloat(string(found[1]), 64)
	require.NoError(t, err)
	return count
}
