package database

import (
	"context"
	"sync/atomic"
	"time"
)

// How often the distance to the database's clock is measured, and the round trips of one measurement.
const (
	clockInterval = 15 * time.Second
	clockSamples  = 5
)

// serverClock follows the database's clock without asking it each time, so that all replicas on one database agree
// within a round trip. Between measurements it advances with the process's monotonic clock, so a step of this machine's own
// clock does not move it. A measurement may set it back by less than a round trip, or by as much as the database's clock was
// set back since the last one.
type serverClock struct {
	anchor atomic.Pointer[clockAnchor]
}

// clockAnchor is one moment, seen on both clocks.
type clockAnchor struct {
	local, server time.Time
}

func (c *serverClock) now() time.Time {
	anchor := c.anchor.Load()
	return anchor.server.Add(time.Since(anchor.local))
}

// measure asks the database for its time and keeps the answer that came back fastest: the true moment lies within its
// round trip.
func (c *serverClock) measure(ctx context.Context, ask func(context.Context) (time.Time, error)) error {
	var best clockAnchor
	shortest := time.Duration(-1)
	for range clockSamples {
		before := time.Now()
		server, err := ask(ctx)
		if err != nil {
			return err
		}
		if trip := time.Since(before); shortest < 0 || trip < shortest {
			shortest = trip
			best = clockAnchor{local: before.Add(trip / 2), server: server}
		}
	}
	c.anchor.Store(&best)
	return nil
}
