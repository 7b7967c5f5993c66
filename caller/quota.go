package caller

import (
	"context"
	"math"
	"strconv"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"openintent/fault"
)

// Quota bounds what one API key may send through this server. All calls with the key share it, and it may be changed while
// they run. A nil Quota bounds nothing.
type Quota struct {
	mutex           sync.Mutex
	rates           Rates
	messages, bytes *rate.Limiter
}

// Rates bound the messages, and the bytes of their payloads and metadata, per second; 0 means no bound.
type Rates struct{ MessagesPerSecond, BytesPerSecond int64 }

// NewQuota makes an unused quota.
func NewQuota(rates Rates) *Quota {
	q := &Quota{messages: limiterOf(0), bytes: limiterOf(0)}
	q.Set(rates)
	return q
}

// limiterOf makes a limiter that admits the amount of one second in a single burst.
func limiterOf(perSecond int64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, math.MaxInt32)))
}

// Set changes the rates. A rate that stays the same keeps count of what is already used.
func (q *Quota) Set(rates Rates) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if rates.MessagesPerSecond != q.rates.MessagesPerSecond {
		q.messages = limiterOf(rates.MessagesPerSecond)
	}
	if rates.BytesPerSecond != q.rates.BytesPerSecond {
		q.bytes = limiterOf(rates.BytesPerSecond)
	}
	q.rates = rates
}

// Rates returns the rates now in force.
func (q *Quota) Rates() Rates {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.rates
}

// Take counts a message of the given size, or refuses it. A message may be larger than what is left, and larger than a
// second's bytes; the key then waits longer before it may send the next one.
func (q *Quota) Take(bytes int) error {
	if wait := q.take(time.Now(), bytes); wait > 0 {
		return q.refusal(wait)
	}
	return nil
}

// Await counts a message as Take does, but waits until it may be sent or the context ends.
func (q *Quota) Await(ctx context.Context, bytes int) error {
	for {
		wait := q.take(time.Now(), bytes)
		if wait == 0 {
			return nil
		}
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return context.Cause(ctx)
		}
	}
}

// take counts a message, or returns how long to wait before it may be sent.
func (q *Quota) take(now time.Time, bytes int) (wait time.Duration) {
	if q == nil {
		return 0
	}
	q.mutex.Lock()
	defer q.mutex.Unlock()
	if q.rates == (Rates{}) {
		return 0
	}
	if wait = max(missing(q.messages, now), missing(q.bytes, now)); wait > 0 {
		return wait
	}
	spend(q.messages, now, 1)
	spend(q.bytes, now, bytes)
	return 0
}

// missing returns how long it takes until the limiter has something left.
func missing(l *rate.Limiter, now time.Time) time.Duration {
	if l.Limit() == rate.Inf {
		return 0
	}
	lacking := 1 - l.TokensAt(now)
	if lacking <= 0 {
		return 0
	}
	return max(time.Duration(lacking/float64(l.Limit())*float64(time.Second)), time.Millisecond)
}

// spend takes from what is left and, once that is used up, from what becomes available later.
func spend(l *rate.Limiter, now time.Time, n int) {
	for l.Limit() != rate.Inf && n > 0 {
		part := min(n, l.Burst())
		l.ReserveN(now, part)
		n -= part
	}
}

func (q *Quota) refusal(wait time.Duration) error {
	rates := q.Rates()
	refusal := fault.New(fault.Quota, "QUOTA_EXCEEDED",
		"This API key has sent as many messages, or bytes, as its quota allows for now; try again later.").After(wait)
	for name, rate := range map[string]int64{
		"messages_per_second": rates.MessagesPerSecond, "bytes_per_second": rates.BytesPerSecond,
	} {
		if rate > 0 {
			refusal = refusal.With(name, strconv.FormatInt(rate, 10))
		}
	}
	return refusal
}
