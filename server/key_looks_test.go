package server

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// All who come while a look is under way share the next one, and it begins after they came.
func TestLooksAreShared(t *testing.T) {
	var looks atomic.Int64
	began, proceed := make(chan struct{}), make(chan struct{})
	l := newKeyLooks(func(context.Context) error {
		looks.Add(1)
		began <- struct{}{}
		<-proceed
		return nil
	})
	defer l.stop()
	first := make(chan error, 1)
	go func() { first <- l.after(t.Context()) }()
	<-began
	shared := l.coming()
	for range 1000 {
		require.Same(t, shared, l.coming())
	}
	proceed <- struct{}{}
	require.NoError(t, <-first)
	<-began
	proceed <- struct{}{}
	<-shared.done
	require.EqualValues(t, 2, looks.Load())
}

func TestALookThatFailsFailsForItsWaitersAlone(t *testing.T) {
	failed := errors.New("it failed")
	outcomes := []error{failed, nil}
	l := newKeyLooks(func(context.Context) error {
		outcome := outcomes[0]
		outcomes = outcomes[1:]
		return outcome
	})
	defer l.stop()
	require.ErrorIs(t, l.after(t.Context()), failed)
	require.NoError(t, l.after(t.Context()))
}

// Whoever waits for a look goes when its call ends, and when the server stops.
func TestNobodyWaitsForALookLongerThanItsCall(t *testing.T) {
	began := make(chan struct{})
	l := newKeyLooks(func(ctx context.Context) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-began; cancel() }()
	require.ErrorIs(t, l.after(ctx), context.Canceled)
	l.stop()
	require.ErrorIs(t, l.after(t.Context()), errStopping)
}

func TestALookHasALimit(t *testing.T) {
	var limit time.Duration
	l := newKeyLooks(func(ctx context.Context) error {
		deadline, _ := ctx.Deadline()
		limit = time.Until(deadline)
		return nil
	})
	defer l.stop()
	require.NoError(t, l.after(t.Context()))
	require.LessOrEqual(t, limit, lookPatience)
	require.Positive(t, limit)
}
