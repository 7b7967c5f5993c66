package fault

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestALargeFieldIsNamedWithItsBound(t *testing.T) {
	t.Parallel()
	refusal := LargeField("metadata", 65536)
	require.Equal(t, TooLarge, refusal.Kind)
	require.Equal(t, "TOO_LARGE", refusal.Reason)
	require.Equal(t, "metadata: has more than 65536 bytes, the most that it may have; send less.", refusal.Message)
	require.Equal(t, []Field{{"metadata", "has more than 65536 bytes, the most that it may have; send less."}}, refusal.Fields)
}
