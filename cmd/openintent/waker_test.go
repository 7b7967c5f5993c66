package main

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintent "openintent/sdk/go"
)

// desk is an inbox and a clock that a test plays.
type desk struct {
	waiting []pointer
	// fails are the next failures of a look.
	fails []error
	// command is what the command does; stop ends the test's waker.
	command func(p pointer) error
	stop    context.CancelFunc
	// paused is called in each pause; nil does nothing.
	paused func()
	ran    []string
	pauses []time.Duration
	log    bytes.Buffer
}

func (d *desk) look(context.Context) ([]pointer, error) {
	if len(d.fails) > 0 {
		err := d.fails[0]
		d.fails = d.fails[1:]
		return nil, err
	}
	return slices.Clone(d.waiting), nil
}

// next ends the test when nothing can wait any more.
func (d *desk) next(ctx context.Context) ([]pointer, error) {
	if len(d.waiting) == 0 && len(d.fails) == 0 {
		d.stop()
		return nil, ctx.Err()
	}
	return d.look(ctx)
}

// take takes a message up.
func (d *desk) take(message string) {
	d.waiting = slices.DeleteFunc(d.waiting, func(p pointer) bool { return p.Message == message })
}

// wake runs the waker until nothing waits, or until so many pauses.
func (d *desk) wake(t *testing.T, pauses int) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	d.stop = cancel
	w := &waker{
		inbox: d, log: slog.New(slog.NewTextHandler(&d.log, nil)),
		run: func(_ context.Context, p pointer) error {
			d.ran = append(d.ran, p.Message)
			return d.command(p)
		},
		pause: func(ctx context.Context, wait time.Duration) error {
			if d.pauses = append(d.pauses, wait); len(d.pauses) == pauses {
				cancel()
			}
			if d.paused != nil {
				d.paused()
			}
			return ctx.Err()
		},
	}
	return w.wake(ctx)
}

func must(message string) pointer { return pointer{Message: message, Policy: "must_respond"} }
func may(message string) pointer  { return pointer{Message: message, Policy: "may_respond"} }

func TestWakingGoesOnWhileMessagesAreTakenUp(t *testing.T) {
	d := &desk{waiting: []pointer{may("a"), must("b"), must("c")}}
	d.command = func(p pointer) error { d.take(p.Message); return nil }
	require.ErrorIs(t, d.wake(t, 1), context.Canceled)
	require.Equal(t, []string{"b", "c", "a"}, d.ran, "first what must be answered, and the oldest of it")
	require.Empty(t, d.pauses)
}

func TestWakingPausesLongerAndLongerWhileNothingIsTakenUp(t *testing.T) {
	d := &desk{waiting: []pointer{must("a"), may("b")}}
	d.command = func(pointer) error { return exitError{1, errors.New("the command ended with 1")} }
	require.ErrorIs(t, d.wake(t, 6), context.Canceled)
	require.Equal(t, []time.Duration{30, 60, 120, 240, 300, 300}, seconds(d.pauses))
	require.Equal(t, []string{"a", "b", "a", "b", "a", "b"}, d.ran, "no message keeps the others from their turn")
	require.Contains(t, d.log.String(), "nothing was taken up")
	require.Contains(t, d.log.String(), "the command failed")
}

// After six commands without effect the agent is left alone, until it takes something up by itself.
func TestWakingStopsAfterSixTriesWithoutEffect(t *testing.T) {
	d := &desk{waiting: []pointer{must("a"), must("b")}}
	d.command = func(pointer) error { return nil }
	d.paused = func() {
		switch len(d.pauses) {
		case 10:
			require.Len(t, d.ran, mostTries)
			d.waiting = append(d.waiting, must("c"))
		case 12:
			require.Len(t, d.ran, mostTries, "one more message changes nothing")
			d.take("a")
		}
	}
	require.ErrorIs(t, d.wake(t, 13), context.Canceled)
	require.Len(t, d.ran, mostTries+1)
	require.Equal(t, 1, bytes.Count(d.log.Bytes(), []byte("is not woken again")), "it is said once")
	require.Equal(t, 30*time.Second, d.pauses[12], "it begins anew")
}

// Any message that is taken up ends the pauses: a harness that was woken may begin with another message.
func TestProgressEndsThePauses(t *testing.T) {
	d := &desk{waiting: []pointer{must("a"), must("b"), must("c")}}
	d.command = func(pointer) error {
		if len(d.ran) == 3 {
			d.take("a")
		}
		return nil
	}
	require.ErrorIs(t, d.wake(t, 3), context.Canceled)
	require.Equal(t, []time.Duration{30, 60, 30}, seconds(d.pauses))
}

func seconds(pauses []time.Duration) []time.Duration {
	shown := slices.Clone(pauses)
	for i := range shown {
		shown[i] /= time.Second
	}
	return shown
}

func TestWakingSurvivesTheServer(t *testing.T) {
	away := &openintent.Error{Code: "UNAVAILABLE", Message: "gone"}
	d := &desk{waiting: []pointer{must("a")}, fails: []error{away, away, away}}
	d.command = func(p pointer) error { d.take(p.Message); return nil }
	require.ErrorIs(t, d.wake(t, 100), context.Canceled)
	require.Equal(t, []string{"a"}, d.ran)
	require.Equal(t, []time.Duration{1, 2, 4}, seconds(d.pauses))
	require.Equal(t, 1, bytes.Count(d.log.Bytes(), []byte("cannot be read")), "it is said once")
	require.Contains(t, d.log.String(), "can be read again")
}

func TestWakingGivesUpWhereNoTryHelps(t *testing.T) {
	d := &desk{waiting: []pointer{must("a")}, fails: []error{&openintent.Error{Code: "UNAUTHENTICATED", Message: "unknown key"}}}
	require.ErrorIs(t, d.wake(t, 1), openintent.ErrUnauthenticated)
	d = &desk{waiting: []pointer{must("a")}}
	d.command = func(pointer) error { return errors.New("no such program") }
	require.EqualError(t, d.wake(t, 1), "no such program")
}
