package main

import (
	"context"
	"errors"
	"log/slog"
	"os/exec"
	"slices"
	"time"

	openintent "openintent/sdk/go"
)

const (
	// leastPause and mostPause bound the pause while nothing is taken up.
	leastPause = 30 * time.Second
	mostPause  = 5 * time.Minute
	// mostTries is how many commands without effect run one after the other.
	mostTries = 6
	// firstRetry and lastRetry bound the pause while the server is away.
	firstRetry = time.Second
	lastRetry  = 30 * time.Second
)

// waker runs a command for what waits. It keeps nothing that a restart would lose: the inbox says what waits.
type waker struct {
	inbox interface {
		// look returns what waits, and next waits for it.
		look(ctx context.Context) ([]pointer, error)
		next(ctx context.Context) ([]pointer, error)
	}
	// run runs the command to its end.
	run   func(ctx context.Context, p pointer) error
	pause func(ctx context.Context, wait time.Duration) error
	log   *slog.Logger
}

// wake runs the command whenever something waits, until the context ends or a try cannot help. After mostTries commands without effect it
// only looks whether the agent takes something up by itself.
func (w *waker) wake(ctx context.Context) error {
	woken := make(map[string]int) // how often, by message
	var waiting, left []pointer
	pause, tries := leastPause, 0
	for {
		if err := w.persist(ctx, func() (err error) { waiting, err = w.inbox.next(ctx); return err }); err != nil {
			return err
		}
		if takenUp(left, waiting) { // meanwhile
			pause, tries = leastPause, 0
		}
		if tries < mostTries {
			p := chosen(waiting, woken)
			woken[p.Message]++
			if err := w.call(ctx, p); err != nil {
				return err
			}
		}
		if err := w.persist(ctx, func() (err error) { left, err = w.inbox.look(ctx); return err }); err != nil {
			return err
		}
		for message := range woken {
			if !names(left, message) {
				delete(woken, message)
			}
		}
		if takenUp(waiting, left) {
			pause, tries = leastPause, 0
			continue
		}
		if tries < mostTries {
			tries++
			w.say(tries, pause, len(left))
		}
		if err := w.pause(ctx, pause); err != nil {
			return err
		}
		pause = min(2*pause, mostPause)
	}
}

// takenUp reports whether something that waited before waits no more.
func takenUp(before, now []pointer) bool {
	return slices.ContainsFunc(before, func(p pointer) bool { return !names(now, p.Message) })
}

// say says that nothing was taken up, and what follows.
func (w *waker) say(tries int, pause time.Duration, waiting int) {
	if tries == mostTries {
		w.log.Warn("nothing was taken up after several tries; the agent is not woken again before it takes something up by itself, or this program "+
			"starts anew", "tries", tries, "waiting", waiting)
		return
	}
	w.log.Info("nothing was taken up; the next try comes after a pause", "pause", pause.String(), "waiting", waiting)
}

// call runs the command for one message. That it fails is only said: what counts is whether something is taken up.
func (w *waker) call(ctx context.Context, p pointer) error {
	log := w.log.With("message", p.Message, "channel", p.Channel)
	log.Info("running the command", "policy", p.Policy, "waiting", p.Waiting)
	err := w.run(ctx, p)
	var ended exitError
	var killed *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, &ended), errors.As(err, &killed):
		log.Warn("the command failed", "reason", err)
	case err != nil:
		return err
	default:
		log.Info("the command has ended")
	}
	return nil
}

// chosen returns the message to wake for: one that the agent was woken for least often, among those one that it must answer, and the
// oldest of them.
func chosen(waiting []pointer, woken map[string]int) pointer {
	return slices.MinFunc(waiting, func(a, b pointer) int {
		if often := woken[a.Message] - woken[b.Message]; often != 0 {
			return often
		}
		return rank(a) - rank(b)
	})
}

// rank is lower for what must be answered.
func rank(p pointer) int {
	if p.Policy == word(answerable[0]) {
		return 0
	}
	return 1
}

// names reports whether a message is among those.
func names(pointers []pointer, message string) bool {
	return slices.ContainsFunc(pointers, func(p pointer) bool { return p.Message == message })
}

// persist tries something until it succeeds, the context ends, or another try cannot help. It says when tries begin to fail, and
// when they succeed again.
func (w *waker) persist(ctx context.Context, try func() error) error {
	for pause := firstRetry; ; pause = min(2*pause, lastRetry) {
		err := try()
		if err == nil && pause > firstRetry {
			w.log.Info("the inbox can be read again")
		}
		if err == nil || ctx.Err() != nil || hopeless(err) {
			return openintent.FromError(err)
		}
		if pause == firstRetry {
			w.log.Warn("the inbox cannot be read; trying until it can", "reason", sentence(openintent.FromError(err)))
		}
		if w.pause(ctx, pause) != nil {
			return openintent.FromError(err)
		}
	}
}

// hopeless reports whether another try cannot help: the key or the command line has to change first.
func hopeless(err error) bool {
	var known exitError
	if err = openintent.FromError(err); errors.As(err, &known) {
		return true
	}
	return slices.ContainsFunc([]error{
		openintent.ErrUnauthenticated, openintent.ErrPermissionDenied, openintent.ErrInvalidArgument, openintent.ErrNotFound,
	}, func(final error) bool { return errors.Is(err, final) })
}
