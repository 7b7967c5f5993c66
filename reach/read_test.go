package reach_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/reach"
)

// What has confirmed a probe is a path, also if its replica has yet to write it; what has not is none.
func TestAConfirmedProbeIsAPath(t *testing.T) {
	at := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	found := &reach.Reach{Agent: "data"}
	found.Confirm(reach.Probed{Kind: reach.Stream, Offered: at})
	require.Equal(t, reach.Unknown, found.Level())
	found.Confirm(reach.Probed{Kind: reach.Stream, Offered: at, Confirmed: at.Add(time.Second)})
	require.Equal(t, reach.Live, found.Level())
	require.Equal(t, []reach.Path{{Kind: reach.Stream, Since: at, Proven: at.Add(time.Second)}}, found.Paths)
}
