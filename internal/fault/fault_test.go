package fault

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/emptypb"
)

func TestALargeFieldIsNamedWithItsBound(t *testing.T) {
	t.Parallel()
	refusal := LargeField("metadata", 65536)
	require.Equal(t, TooLarge, refusal.Kind)
	require.Equal(t, "TOO_LARGE", refusal.Reason)
	require.Equal(t, "metadata: has more than 65536 bytes, the most that it may have; send less.", refusal.Message)
	require.Equal(t, []Field{{"metadata", "has more than 65536 bytes, the most that it may have; send less."}}, refusal.Fields)
}

// A room keeps a refusal and returns it again and again. What one call adds to it must not show in another's.
func TestARefusalStaysAsItWasMade(t *testing.T) {
	t.Parallel()
	kept := New(Conflict, "CHANNEL_CLOSED", "The channel is closed.").With("status", "closed")
	require.Equal(t, map[string]string{"status": "closed", "channel_id": "c"}, kept.With("channel_id", "c").Metadata)
	require.EqualError(t, kept.Because(errors.New("a cause")), "CHANNEL_CLOSED: The channel is closed.: a cause")
	require.Equal(t, time.Second, kept.After(time.Second).RetryAfter)
	require.NotNil(t, kept.About(&emptypb.Empty{}).Subject)
	require.Equal(t, New(Conflict, "CHANNEL_CLOSED", "The channel is closed.").With("status", "closed"), kept)
}

func TestARefusalIsKnownByItsReason(t *testing.T) {
	t.Parallel()
	kept := New(NotFound, "TASK_NOT_FOUND", "There is no such task.")
	require.ErrorIs(t, fmt.Errorf("wrapped: %w", kept.With("task_id", "t")), kept)
	require.NotErrorIs(t, New(NotFound, "INTENT_NOT_FOUND", "There is no such intent."), kept)
	require.Equal(t, "t", From(fmt.Errorf("wrapped: %w", kept.With("task_id", "t"))).Metadata["task_id"])
}

func TestAFailureHidesItsCauseFromCallersAlone(t *testing.T) {
	t.Parallel()
	cause := errors.New("SELECT secret")
	failure := From(cause)
	require.Equal(t, Internal, failure.Kind)
	require.NotContains(t, failure.Message, "secret")
	require.ErrorIs(t, failure, cause)
	require.ErrorContains(t, failure, "SELECT secret", "the log says it")
}

func TestAPercentSignIsShownAsItIs(t *testing.T) {
	t.Parallel()
	require.Equal(t, "name: 100%d of it", BadField("name", "100%d of it").Message)
	require.Equal(t, "100%d of it", New(Invalid, "BAD", "100%d of it").Message)
	require.Equal(t, "name: 7 of it", BadField("name", "%d of it", 7).Message)
}
