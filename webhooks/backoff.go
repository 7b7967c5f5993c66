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
	maxBackoff   = time.Hour
	// attemptsToMax is the attempt from which on the wait grows no more: 2^12 s is more than an hour.
	attemptsToMax = 13
	// maxRetryAfter is how long an endpoint can put us off: as long as its silence would at most.
	maxRetryAfter = maxBackoff
)

// Backoff is how long to wait after a failed attempt (from 1) before the next: between half and all of a second that
// doubles with each attempt up to an hour, and at least what the endpoint asked for.
func Backoff(attempt int, retryAfter time.Duration) time.Duration {
	// The library draws from 1 - f to 1 + f of an interval: with a third, of 3/4, that is half to all.
	waits := backoff.ExponentialBackOff{
		InitialInterval: firstBackoff * 3 / 4, Multiplier: 2, MaxInterval: maxBackoff * 3 / 4, RandomizationFactor: 1.0 / 3,
	}
	wait := waits.NextBackOff()
	for range min(attempt, attemptsToMax) - 1 {
		wait = waits.NextBackOff()
	}
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
