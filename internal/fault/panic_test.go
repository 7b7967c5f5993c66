package fault

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRecoverTurnsAPanicIntoAnError(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	call := func(do func() error) (err error) {
		defer Recover(&err)
		return do()
	}
	err := call(func() error { panic("the cause") })
	require.ErrorContains(t, err, "panic: the cause\n")
	require.ErrorContains(t, err, "panic_test.go", "the stack is missing")
	require.True(t, IsPanic(fmt.Errorf("wrapped: %w", err)))

	require.NoError(t, call(func() error { return nil }))
	require.Equal(t, broken, call(func() error { return broken }))
	require.False(t, IsPanic(broken))
}
