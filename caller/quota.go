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

// Quota is what one API key may send through this server. Its calls share it, and it may be changed while they run. A nil
// Quota bounds nothing.
type Quota struct {
	mutex           sync.Mutex
	rates           Rates
	messages, bytes *rate.Limiter
}

// Rates bound messages and the bytes of their payloads and metadata, by the second; 0 is no bound.
type Rates struct{ MessagesPerSecond, BytesPerSecond int64 }

// NewQuota makes a quota of which nothing is used.
func NewQuota(rates Rates) *Quota {
	q := &Quota{messages: limiterOf(0), bytes: limiterOf(0)}
	q.Set(rates)
	return q
}

// limiterOf admits what comes in a second all at once.
func limiterOf(perSecond int64) *rate.Limiter {
	if perSecond == 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), int(min(perSecond, math.MaxInt32)))
}

// Set changes the rates. A rate that stays the same goes on from what is used of it.
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

// Rates gives the rates that hold now.
func (q *Quota) Rates() Rates {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return q.rates
}

// Take counts a message of so many bytes, or refuses it. A message may be larger than what is left, or than a second's
// bytes: then the key waits longer for the next one.
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

// take counts a message, or gives how long to wait for it.
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

// missing is how long it takes until anything is left.
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

// spend takes from what is left and, beyond it, from what comes.
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
