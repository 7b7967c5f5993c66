package webhooks

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
)

const (
	firstBackoff = time.Second
	// MaxBackoff is the longest wait for the next attempt.
	MaxBackoff = time.Hour
	// attemptsToMax is the attempt from which on the wait no longer grows: 2^12 s is more than an hour.
	attemptsToMax = 13
	// maxRetryAfter bounds how long an endpoint can ask us to wait: no longer than the longest wait after a failure.
	maxRetryAfter = MaxBackoff
)

// Backoff returns how long to wait after a failed attempt (counted from 1) before the next one. It draws from between half and
// all of a bound that is one second at first and doubles with each attempt up to an hour. The wait is at least as long as the
// endpoint asked for.
func Backoff(attempt int, retryAfter time.Duration) time.Duration {
	// The library draws from 1 - f to 1 + f of an interval. With f = 1/3 and 3/4 of the bound, that is half to all of the bound.
	waits := backoff.ExponentialBackOff{
		InitialInterval: firstBackoff * 3 / 4, Multiplier: 2, MaxInterval: MaxBackoff * 3 / 4, RandomizationFactor: 1.0 / 3,
	}
	wait := waits.NextBackOff()
	for range min(attempt, attemptsToMax) - 1 {
		wait = waits.NextBackOff()
	}
	return max(wait, retryAfter)
}

// retryAfter reads the Retry-After header: seconds, or a date. It returns 0 for any other text and for a time in the past.
func retryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	var wait time.Duration
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.ParseInt(header, 10, 64)
		if err != nil || seconds > int64(maxRetryAfter/time.Second) {
			return maxRetryAfter // also if the number does not fit
		}
		wait = time.Duration(seconds) * time.Second
	} else if date, err := http.ParseTime(header); err == nil {
		wait = date.Sub(now)
	}
	return min(max(wait, 0), maxRetryAfter)
}
