package webhooks

import (
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

const (
	firstBackoff = time.Second
	maxBackoff   = time.Hour
	// maxRetryAfter is how long an endpoint can put us off: as long as its silence would at most.
	maxRetryAfter = maxBackoff
)

// Backoff is how long to wait after a failed attempt (from 1) before the next: between half and all of a second that
// doubles with each attempt up to an hour, and at least what the endpoint asked for.
func Backoff(attempt int, retryAfter time.Duration) time.Duration {
	wait := maxBackoff
	if doublings := max(attempt-1, 0); doublings < 12 { // 2^12 s is more than an hour
		wait = firstBackoff << doublings
	}
	wait = wait/2 + rand.N(wait/2+1)
	return max(wait, retryAfter)
}

// retryAfter reads the header of that name: seconds, or a date. What is no such thing, or lies in the past, is 0.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	var wait time.Duration
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // more seconds than fit
		}
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
