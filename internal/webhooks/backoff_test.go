package webhooks

import (
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"
)

func TestBackoffDoublesWithJitterUpToAnHour(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		attempt := rapid.IntRange(-1, 1000).Draw(t, "attempt")
		full := time.Hour
		if attempt <= 12 {
			full = min(time.Second<<max(attempt-1, 0), time.Hour)
		}
		wait := Backoff(attempt, 0)
		if wait < full/2 || wait > full {
			t.Fatalf("attempt %d waits %s, which is not between half and all of %s", attempt, wait, full)
		}
	})
}

func TestBackoffSpreads(t *testing.T) {
	seen := make(map[time.Duration]bool)
	for range 100 {
		seen[Backoff(10, 0)] = true
	}
	assert.Greater(t, len(seen), 50, "posts that failed together must not be tried again together")
}

func TestBackoffWaitsAtLeastAsLongAsTheEndpointAsks(t *testing.T) {
	assert.Equal(t, 20*time.Minute, Backoff(1, 20*time.Minute))
	assert.GreaterOrEqual(t, Backoff(20, time.Second), 30*time.Minute)
}

func TestRetryAfterIsReadInBothForms(t *testing.T) {
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	for header, wait := range map[string]time.Duration{
		"":                        0,
		"7":                       7 * time.Second,
		" 7 ":                     7 * time.Second,
		"0":                       0,
		"-5":                      0,
		"1.5":                     0,
		"soon":                    0,
		"3600":                    time.Hour,
		"3601":                    time.Hour,
		"99999999999999999999999": time.Hour,
		"9999999999":              time.Hour, // as nanoseconds, that is too much for a Duration
		now.Add(90 * time.Second).Format(http.TimeFormat):             90 * time.Second,
		now.Add(90 * time.Second).Format(time.ANSIC):                  90 * time.Second,
		now.Add(-90 * time.Second).Format(http.TimeFormat):            0,
		now.Add(24 * time.Hour).Format(http.TimeFormat):               time.Hour,
		now.Add(time.Minute).Format("Monday, 02-Jan-06 15:04:05 GMT"): time.Minute,
	} {
		assert.Equal(t, wait, retryAfter(header, now), "%q", header)
	}
}

func FuzzRetryAfter(f *testing.F) {
	f.Add("120")
	f.Add("Sat, 21 Nov 2026 12:00:00 GMT")
	now := time.Date(2026, time.November, 21, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, header string) {
		if wait := retryAfter(header, now); wait < 0 || wait > maxRetryAfter {
			t.Fatalf("%q is read as %s", header, wait)
		}
	})
}
