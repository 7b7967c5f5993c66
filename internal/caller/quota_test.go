package caller

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

func TestQuotaOfMessages(t *testing.T) {
	q, now := NewQuota(Rates{MessagesPerSecond: 10}), time.Now()
	for range 10 {
		require.Zero(t, q.take(now, 1<<20), "a second's amount may come in one burst")
	}
	require.Equal(t, 100*time.Millisecond, q.take(now, 1).Round(time.Millisecond))
	require.Zero(t, q.take(now.Add(100*time.Millisecond), 1))
	require.NotZero(t, q.take(now.Add(100*time.Millisecond), 1))
}

// A message that is larger than a second's bytes is not refused for ever, but the next one waits for it.
func TestQuotaOfBytes(t *testing.T) {
	q, now := NewQuota(Rates{BytesPerSecond: 1000}), time.Now()
	require.Zero(t, q.take(now, 10_000))
	require.Equal(t, 9*time.Second, q.take(now, 1).Round(100*time.Millisecond))
	require.NotZero(t, q.take(now.Add(8*time.Second), 1))
	require.Zero(t, q.take(now.Add(10*time.Second), 1))
}

// A reload of the keys that changes one rate leaves what was used of the other.
func TestAQuotaThatChangesKeepsItsCount(t *testing.T) {
	q, now := NewQuota(Rates{MessagesPerSecond: 2, RowsPerSecond: 10}), time.Now()
	require.Zero(t, q.take(now, 1))
	require.Zero(t, q.take(now, 1))
	q.store(now, 20, 0)
	q.Set(Rates{MessagesPerSecond: 2, BytesPerSecond: 1000, RowsPerSecond: 10, StoredBytesPerSecond: 1000})
	require.NotZero(t, q.take(now, 1))
	require.NotZero(t, q.owes(now))
	q.Set(Rates{MessagesPerSecond: 3, RowsPerSecond: 11})
	require.Zero(t, q.take(now, 1), "a new rate begins anew")
	require.Zero(t, q.owes(now))
}

// A message that is refused because of one bound uses nothing of the other.
func TestAQuotaCountsWhatItAdmits(t *testing.T) {
	q, now := NewQuota(Rates{MessagesPerSecond: 3, BytesPerSecond: 100}), time.Now()
	require.Zero(t, q.take(now, 200))
	for range 10 {
		require.NotZero(t, q.take(now, 1))
	}
	q.Set(Rates{MessagesPerSecond: 3})
	require.Zero(t, q.take(now, 1))
	require.Zero(t, q.take(now, 1))
	require.NotZero(t, q.take(now, 1))
}

func TestQuotaRefuses(t *testing.T) {
	q := NewQuota(Rates{MessagesPerSecond: 1, BytesPerSecond: 1000})
	require.NoError(t, q.Take(1))
	refusal := fault.From(q.Take(1))
	require.Equal(t, "QUOTA_EXCEEDED", refusal.Reason)
	require.Equal(t, fault.Quota, refusal.Kind)
	require.NotZero(t, refusal.RetryAfter)
	require.Equal(t, map[string]string{"messages_per_second": "1", "bytes_per_second": "1000"}, refusal.Metadata)

	oneBound := NewQuota(Rates{MessagesPerSecond: 1})
	require.NoError(t, oneBound.Take(1))
	require.Equal(t, map[string]string{"messages_per_second": "1"}, fault.From(oneBound.Take(1)).Metadata, "only what is bounded is named")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.NoError(t, NewQuota(Rates{}).Await(ctx, 1), "nothing to wait for")
	require.ErrorIs(t, q.Await(ctx, 1), context.Canceled)
	q.Set(Rates{MessagesPerSecond: 1000})
	require.NoError(t, q.Await(t.Context(), 1<<30), "a change applies to everyone who shares the quota")
	var none *Quota
	require.NoError(t, none.Take(1))
}
