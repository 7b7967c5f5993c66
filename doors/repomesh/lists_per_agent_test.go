package repomesh

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAnAgentHasABoundedNumberOfListsUnderWay(t *testing.T) {
	var lists turns
	var leaves []func()
	for range mostLists {
		leave, err := lists.enter(t.Context(), "ann")
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	gone, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := lists.enter(gone, "ann")
	require.ErrorIs(t, err, context.Canceled)
	leave, err := lists.enter(t.Context(), "ben")
	require.NoError(t, err, "another agent does not wait")
	leave()

	entered := make(chan func())
	go func() {
		leave, err := lists.enter(t.Context(), "ann")
		if err != nil {
			t.Error(err)
		}
		entered <- leave
	}()
	leaves[0]()
	(<-entered)()
	for _, leave := range leaves[1:] {
		leave()
	}
	require.Empty(t, lists.of, "nothing is kept of who has left")
}
