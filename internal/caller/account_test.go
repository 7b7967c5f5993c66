package caller

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
)

func TestAnAccountIsAdmittedOnceAndPaysLater(t *testing.T) {
	q := NewQuota(Rates{RowsPerSecond: 10, StoredBytesPerSecond: 1000})
	call := q.Account()
	require.NoError(t, call.Admit())
	call.Charge(1, 100_000)
	require.NoError(t, call.Admit(), "a call that has begun goes on")

	refusal := fault.From(q.Account().Admit())
	require.Equal(t, "QUOTA_EXCEEDED", refusal.Reason)
	require.Equal(t, fault.Quota, refusal.Kind)
	require.Greater(t, refusal.RetryAfter, time.Minute)
	require.Equal(t, map[string]string{"rows_per_second": "10", "stored_bytes_per_second": "1000"}, refusal.Metadata)
	require.NoError(t, q.Take(1<<20), "messages have rates of their own")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, call.Await(ctx), context.Canceled, "each message of a stream waits")
	q.Set(Rates{RowsPerSecond: 10})
	require.NoError(t, q.Account().Admit(), "a rate that is gone bounds nothing")
}

func TestRowsArePaidByTheSecond(t *testing.T) {
	q, now := NewQuota(Rates{RowsPerSecond: 10}), time.Now()
	q.store(now, 25, 1<<30)
	require.Equal(t, 1600*time.Millisecond, q.owes(now).Round(time.Millisecond))
	require.Zero(t, q.owes(now.Add(1600*time.Millisecond)))
}

func TestEitherBoundOfWhatIsStoredMakesAnAccount(t *testing.T) {
	for _, rates := range []Rates{{RowsPerSecond: 10}, {StoredBytesPerSecond: 1000}} {
		q := NewQuota(rates)
		call := q.Account()
		require.NoError(t, call.Admit())
		call.Charge(1000, 100_000)
		require.Error(t, q.Account().Admit(), "%+v", rates)
	}
}

func TestACallWithoutABoundHasNoAccount(t *testing.T) {
	var none *Quota
	require.Nil(t, none.Account())
	require.Nil(t, NewQuota(Rates{MessagesPerSecond: 1}).Account())
	var account *Account
	require.NoError(t, account.Admit())
	require.NoError(t, account.Await(t.Context()))
	account.Charge(1, 1)
}
