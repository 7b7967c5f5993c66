package caller

import (
	"context"
	"math"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"openintent/internal/fault"
)

// Quota bounds what one API key may send through this server. All calls with the key share it, and it may be changed while
// they run. A nil Quota bounds nothing.
type Quota struct {
	mutex                              sync.Mutex
	rates                              Rates
	messages, bytes, rows, bytesOfRows *rate.Limiter
	// stores is true while what the key stores is bounded, so that one that is not bounded pays nothing for the question.
	stores atomic.Bool
}

// Rates are bounds by the second; 0 means no bound.
type Rates struct {
	// MessagesPerSecond and BytesPerSecond bound the messages, and the bytes of their payloads and metadata.
	MessagesPerSecond, BytesPerSecond int64
	// RowsPerSecond and StoredBytesPerSecond bound all that calls store: rows, new or changed, and the bytes of their values.
	RowsPerSecond, StoredBytesPerSecond int64
}

// NewQuota makes an unused quota.
func NewQuota(rates Rates) *Quota {
	q := &Quota{messages: limiterOf(0), bytes: limiterOf(0), rows: limiterOf(0), bytesOfRows: limiterOf(0)}
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
	if rates.RowsPerSecond != q.rates.RowsPerSecond {
		q.rows = limiterOf(rates.RowsPerSecond)
	}
	if rates.StoredBytesPerSecond != q.rates.StoredBytesPerSecond {
		q.bytesOfRows = limiterOf(rates.StoredBytesPerSecond)
	}
	q.rates = rates
	q.stores.Store(rates.RowsPerSecond > 0 || rates.StoredBytesPerSecond > 0)
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
	return await(ctx, func() time.Duration { return q.take(time.Now(), bytes) })
}

// await asks again and again, after the time that it is told, until there is nothing to wait for or the context ends.
func await(ctx context.Context, ask func() (wait time.Duration)) error {
	for {
		wait := ask()
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
	if q.rates.MessagesPerSecond == 0 && q.rates.BytesPerSecond == 0 {
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
	return exceeded("This API key has sent as many messages, or bytes, as its quota allows for now; try again later.", wait, map[string]int64{
		"messages_per_second": rates.MessagesPerSecond, "bytes_per_second": rates.BytesPerSecond,
	})
}

// exceeded refuses a call, and names the rates that are bounded.
func exceeded(sentence string, wait time.Duration, rates map[string]int64) error {
	refusal := fault.New(fault.Quota, "QUOTA_EXCEEDED", "%s", sentence).After(wait)
	for name, rate := range rates {
		if rate > 0 {
			refusal = refusal.With(name, strconv.FormatInt(rate, 10))
		}
	}
	return refusal
}
