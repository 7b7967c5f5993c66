package server

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// All that one caller without a key shows shares one quota, and nobody else's.
func TestACallerWithoutAKeyHasOneQuota(t *testing.T) {
	known := newQuotas(caller.Rates{MessagesPerSecond: 1})
	require.NoError(t, known.of("ann").Take(1))
	require.Error(t, known.of("ann").Take(1))
	require.NoError(t, known.of("bob").Take(1))
	require.Nil(t, newQuotas(caller.Rates{}).of("ann"), "nothing is bounded")
	for _, one := range []caller.Rates{{MessagesPerSecond: 1}, {BytesPerSecond: 1}, {RowsPerSecond: 1}, {StoredBytesPerSecond: 1}} {
		require.Equal(t, one, newQuotas(one).of("ann").Rates())
	}
}

// What cannot make anything grow is not refused because its key has stored much.
func TestOnlyWhatMakesThingsGrowIsPaid(t *testing.T) {
	keys, err := LoadKeys("open", "")
	require.NoError(t, err)
	keys.SetRates(caller.Rates{RowsPerSecond: 1})
	through, err := newInterceptors(t.Context(), keys, testLimits(), newMetrics(), newLogTo(t, &lockedBuffer{}))
	require.NoError(t, err)
	for method, pays := range map[string]bool{
		openintentv1.MessageService_SendMessage_FullMethodName:                true,
		openintentv1.LeaseService_AcquireLease_FullMethodName:                 true,
		openintentv1.MessageService_GetMessage_FullMethodName:                 false,
		openintentv1.AgentService_Heartbeat_FullMethodName:                    false,
		openintentv1.LeaseService_RenewLease_FullMethodName:                   false,
		openintentv1.SubscriptionService_AcknowledgeDeliveries_FullMethodName: false,
	} {
		ctx, release, err := through.admit(t.Context(), &call{method: through.methods[method], headers: metadata.Pairs("x-api-key", "open")})
		require.NoError(t, err, method)
		who, known := caller.From(ctx)
		require.True(t, known)
		require.Equal(t, pays, who.Account != nil, method)
		release()
	}
}
