package server

import (
	"context"
	"errors"
	"sync/atomic"
)

// mostRounds bounds how often catchUp lets the sweeps run, each of which may make work for the others.
const mostRounds = 10

// catchUp does what has fallen due since a test moved the clock, and returns when it is done: the sweeps have stored what time has decided,
// everyone who waits has looked, and what is due was handed to streams and posted to webhooks.
func (r *rooms) catchUp(ctx context.Context) error {
	if err := errors.Join(r.subscriptions.KeepConsumers(ctx), r.here.KeepNow(ctx)); err != nil {
		return err
	}
	stored := &storedRows{}
	sweeping := context.WithValue(ctx, storedRowsKey{}, stored)
	for range mostRounds {
		before := stored.count.Load()
		for _, sweep := range r.sweeps {
			if err := sweep.Run(sweeping); err != nil {
				return err
			}
		}
		if stored.count.Load() == before {
			break
		}
	}
	return errors.Join(r.messaging.LookNow(ctx), r.subscriptions.PostNow(ctx))
}

type storedRowsKey struct{}

// storedRows counts the rows that the transactions of a context have added or changed. It is an account that refuses nothing.
type storedRows struct{ count atomic.Int64 }

// Admit refuses nothing.
func (s *storedRows) Admit() error { return nil }

// Charge counts the rows.
func (s *storedRows) Charge(rows, _ int64) { s.count.Add(rows) }
