package sdks_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

func TestALeaseRenewsItselfUntilItIsLostOrReleased(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		holder, intent := client.As("holder"), channel.IntentID
		// A third of the duration passes before the renewal, and the rest is for a busy machine.
		lease, err := holder.Lease(t.Context(), intent, "parser", openintent.LeaseOptions{Duration: 9 * time.Second})
		require.NoError(t, err)
		_, err = client.As("other").Lease(t.Context(), intent, "parser", openintent.LeaseOptions{})
		require.ErrorIs(t, err, openintent.ErrAlreadyExists)
		ends := func() time.Time {
			listed, err := client.Raw().Leases.ListLeases(t.Context(), &openintentv1.ListLeasesRequest{IntentId: intent})
			require.NoError(t, err)
			require.Len(t, listed.GetLeases(), 1)
			require.Equal(t, lease.Fence, listed.GetLeases()[0].GetFence())
			return listed.GetLeases()[0].GetExpiresAt().AsTime()
		}
		first := ends()
		require.Eventually(t, func() bool { return ends().After(first) }, harness.Patience, 20*time.Millisecond, "it is renewed")

		// The operator takes it away.
		_, err = client.As("").Raw().Leases.ReleaseLease(t.Context(), &openintentv1.ReleaseLeaseRequest{IntentId: intent, LeaseId: lease.ID})
		require.NoError(t, err)
		<-lease.Context().Done()
		require.ErrorIs(t, context.Cause(lease.Context()), openintent.ErrLeaseLost)
		require.NoError(t, lease.Release(t.Context()), "it had ended before")

		next, err := client.As("other").Lease(t.Context(), intent, "parser", openintent.LeaseOptions{Wait: time.Minute})
		require.NoError(t, err)
		require.Greater(t, next.Fence, lease.Fence)
		require.NoError(t, next.Release(t.Context()))
		require.ErrorIs(t, context.Cause(next.Context()), context.Canceled)
	})
}
