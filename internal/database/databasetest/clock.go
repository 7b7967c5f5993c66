package databasetest

import (
	"sync"
	"time"
)

// Clock is a clock that stands still until the test moves it. It is safe for concurrent use. Its Now fits the Clock of a
// database.Config.
type Clock struct {
	mutex sync.Mutex
	now   time.Time
}

// NewClock makes a clock that shows 2026-01-01 00:00 UTC.
func NewClock() *Clock {
	return &Clock{now: time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)}
}

// Now returns the time that the clock shows.
func (c *Clock) Now() time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return c.now
}

// Advance moves the clock forward and returns the time that it then shows.
func (c *Clock) Advance(by time.Duration) time.Time {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = c.now.Add(by)
	return c.now
}

// Set moves the clock to a time, which may be an earlier one.
func (c *Clock) Set(to time.Time) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.now = to
}
