package delivering

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// While a client is slow to acknowledge, the stream looks less and less often, until the client acknowledges.
func TestAFullWindowIsLookedAtMoreAndMoreSeldom(t *testing.T) {
	r := &receiver{supplier: &Supplier{lookAgain: time.Second}}
	for range 2 {
		var waits []time.Duration
		for range 4 {
			waits = append(waits, r.pause(offering{}, true))
		}
		require.Equal(t, []time.Duration{fullRecheck, 2 * fullRecheck, time.Second, time.Second}, waits)
		require.Equal(t, time.Second, r.pause(offering{}, false))
	}
}
