package leases

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// Leases that have ended stand on no page. If a whole page of them has ended, the page is empty, and the list goes on after it.
func TestAListGoesOnAfterAPageOfEndedLeases(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for _, scope := range []string{"a", "b", "c", "e"} {
			request := h.acquiring(scope)
			request.DurationSeconds = pointer(int32(60))
			_, err := h.AcquireLease(as("ann"), request)
			require.NoError(t, err)
		}
		h.hold(t, "bob", "d")
		h.clock.Advance(2 * time.Minute)
		var pages [][]string
		request := &openintentv1.ListLeasesRequest{IntentId: h.intent.GetId(), Limit: pointer(int32(2))}
		for {
			page, err := h.ListLeases(as("ann"), request)
			require.NoError(t, err)
			var scopes []string
			for _, lease := range page.GetLeases() {
				scopes = append(scopes, lease.GetScope())
			}
			pages = append(pages, scopes)
			if request.Cursor = page.NextCursor; request.Cursor == nil {
				break
			}
		}
		require.Equal(t, [][]string{nil, {"d"}, nil}, pages)
	})
}
