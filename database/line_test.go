package database

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// waiter puts a caller into the line and returns its turn.
func waiter(t *testing.T, l *line, by string) (turn chan struct{}) {
	t.Helper()
	turn, err := l.join(by)
	require.NoError(t, err)
	require.NotNil(t, turn, "all places were taken")
	return turn
}

func came(turn chan struct{}) bool {
	select {
	case <-turn:
		return true
	default:
		return false
	}
}

func TestCallersComeInTurn(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), "ann"))
	first, second, third := waiter(t, l, "ann"), waiter(t, l, "ann"), waiter(t, l, "ann")
	bob := waiter(t, l, "bob")
	for _, next := range []chan struct{}{first, bob, second, third} {
		require.False(t, came(next))
		l.leave()
		require.True(t, came(next))
	}
	l.leave()
	require.NoError(t, l.enter(t.Context(), "cat"), "the place is free again")
}

func TestALineIsBounded(t *testing.T) {
	l := newLine(1, 3, 2)
	require.NoError(t, l.enter(t.Context(), "ann"))
	waiter(t, l, "ann")
	waiter(t, l, "ann")
	require.ErrorIs(t, l.enter(t.Context(), "ann"), ErrCrowded)
	waiter(t, l, "bob")
	require.ErrorIs(t, l.enter(t.Context(), "cat"), ErrCrowded)
}

func TestWhoGivesUpLeavesTheLine(t *testing.T) {
	l := newLine(1, 10, 10)
	require.NoError(t, l.enter(t.Context(), "ann"))
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, l.enter(ended, "bob"), context.Canceled)
	cat := waiter(t, l, "cat")
	l.leave()
	require.True(t, came(cat))
	require.Empty(t, l.queues)
	require.Empty(t, l.turns)
	require.Zero(t, l.waiting)
}

func TestALineLetsFewInAtATime(t *testing.T) {
	l := newLine(2, 1000, 1000)
	var all sync.WaitGroup
	inside := make(chan struct{}, 2)
	for i := range 200 {
		all.Go(func() {
			require.NoError(t, l.enter(t.Context(), fmt.Sprint(i%7)))
			select {
			case inside <- struct{}{}:
			default:
				t.Error("three callers are inside")
			}
			<-inside
			l.leave()
		})
	}
	all.Wait()
	require.Equal(t, 2, l.free)
}
