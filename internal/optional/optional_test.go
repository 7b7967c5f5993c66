package optional_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	"openintent/internal/optional"
)

func TestNothingLeavesAFieldUnset(t *testing.T) {
	require.Nil(t, optional.Text(""))
	require.Equal(t, "a", *optional.Text("a"))
	require.Nil(t, optional.Time(time.Time{}))
	require.Equal(t, timestamppb.New(time.Unix(5, 0)), optional.Time(time.Unix(5, 0)))
}

func TestTimesThatCannotBeSaidAreRefused(t *testing.T) {
	for _, at := range []*timestamppb.Timestamp{{Seconds: 1 << 62}, {Seconds: 300_000_000_000}, {Nanos: -1}} {
		_, err := optional.TimeFrom("expires_at", at)
		require.ErrorContains(t, err, "years 1 to 9999")
	}
	at, err := optional.TimeFrom("expires_at", nil)
	require.NoError(t, err)
	require.True(t, at.IsZero())
	at, err = optional.TimeFrom("expires_at", timestamppb.New(time.Unix(5, 1999)))
	require.NoError(t, err)
	require.Equal(t, time.Unix(5, 1000).UTC(), at)
}
