package database

import (
	"context"
	"sync/atomic"
	"time"
)

// clockInterval is how often the distance to the database's clock is measured; clockSamples is how many round trips one
// measurement makes.
const (
	clockInterval = 15 * time.Second
	clockSamples  = 5
)

// serverClock follows the database's clock without asking it each time, so all replicas on one database agree to within one
// round trip. Between measurements it advances with the process's monotonic clock, so setting this machine's clock does not
// affect it. A measurement may set it back by less than a round trip, or by as much as the database's clock was set back since
// the last measurement.
type serverClock struct {
	anchor atomic.Pointer[clockAnchor]
}

// clockAnchor is the time of one moment on both clocks.
type clockAnchor struct {
	local, server time.Time
}

func (c *serverClock) now() time.Time {
	anchor := c.anchor.Load()
	return anchor.server.Add(time.Since(anchor.local))
}

// measure asks the database for its time several times and keeps the answer with the shortest round trip, because the database
// read its clock at some moment during the round trip.
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
