package caller

import (
	"context"
	"sync/atomic"
	"time"
)

// Account is what one call of a key pays from for all that it stores. It is admitted once, before it stores anything, and then
// pays for what was stored. So a call is refused as a whole or not at all, and the next calls of the key wait until what was
// stored is paid. A nil Account bounds nothing. An Account is safe for concurrent use.
type Account struct {
	quota    *Quota
	admitted atomic.Bool
}

// Account returns the account of a new call; nil if what the key stores is not bounded.
func (q *Quota) Account() *Account {
	if q == nil || !q.stores.Load() {
		return nil
	}
	return &Account{quota: q}
}

// Admit refuses a call while the key has stored more than its rates allow. A call that was admitted stays so.
func (a *Account) Admit() error {
	if a == nil || a.admitted.Load() {
		return nil
	}
	if wait := a.quota.owes(time.Now()); wait > 0 {
		return a.quota.refusalToStore(wait)
	}
	a.admitted.Store(true)
	return nil
}

// Await waits until the key may store something, or the context ends. It is for a stream of messages, each of which it admits anew.
func (a *Account) Await(ctx context.Context) error {
	if a == nil {
		return nil
	}
	return await(ctx, func() time.Duration { return a.quota.owes(time.Now()) })
}

// Charge pays for what was stored: rows, and the bytes of their values.
func (a *Account) Charge(rows, bytes int64) {
	if a != nil {
		a.quota.store(time.Now(), int(rows), int(bytes))
	}
}

// owes returns how long the key has to wait before it may store something.
func (q *Quota) owes(now time.Time) (wait time.Duration) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	return max(missing(q.rows, now), missing(q.bytesOfRows, now))
}

// store counts what was stored.
func (q *Quota) store(now time.Time, rows, bytes int) {
	q.mutex.Lock()
	defer q.mutex.Unlock()
	spend(q.rows, now, rows)
	spend(q.bytesOfRows, now, bytes)
}

func (q *Quota) refusalToStore(wait time.Duration) error {
	rates := q.Rates()
	return exceeded("This API key has stored as many rows, or bytes, as its quota allows for now; try again later.", wait, map[string]int64{
		"rows_per_second": rates.RowsPerSecond, "stored_bytes_per_second": rates.StoredBytesPerSecond,
	})
}
