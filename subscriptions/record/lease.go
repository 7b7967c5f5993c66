package record

import "time"

const (
	// LeaseTime is how long a consumer has the deliveries to itself without renewing its lease.
	LeaseTime = 10 * time.Second
	// ClockSkew is how far the clocks of two replicas may differ.
	ClockSkew = time.Second
	// fenced is stored as the consumer when a fetch has numbered deliveries after the lease of a stream has run out. So that stream can
	// store nothing any more, and the next one knows that it may have crashed.
	fenced = "none"
)

// LeasedByOther reports whether a consumer other than the given one has the lease. A lease that seems to last longer than any
// lease can dates from before the clock was set back. It does not count; if its consumer still runs, it renews the lease soon.
func (s *Subscription) LeasedByOther(than string, now time.Time) bool {
	return s.Consumer != "" && s.Consumer != than && now.Before(s.ConsumerUntil) &&
		s.ConsumerUntil.Sub(now) <= LeaseTime+ClockSkew
}

// Admits refuses a consumer that may not receive deliveries now.
func (s *Subscription) Admits(consumer string, now time.Time) error {
	switch {
	case !s.Active(now):
		return ErrEnded
	case consumer == "" && s.LeasedByOther("", now):
		return ErrInUse
	case consumer != "" && s.Consumer != consumer:
		return ErrConsumerLost
	}
	return nil
}

// BeginNumbering refuses a consumer that may not number what a stream may receive. It makes sure that a stream whose lease has run out
// can store nothing any more.
func (c *Change) BeginNumbering(consumer string) error {
	s := c.Locked
	if !s.streamed() {
		return nil
	}
	if err := s.Admits(consumer, c.Now); err != nil {
		return err
	}
	if s.Consumer != consumer { // that stream's lease has run out
		s.Consumer, s.ConsumerUntil = fenced, time.Time{}
	}
	s.Abandon()
	return nil
}

// ProcessTime reads the process's own clock. It goes on steadily, whatever happens to the database's clock.
func ProcessTime() time.Time { return time.Now() } //nolint:forbidigo // see above
