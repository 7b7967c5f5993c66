package obligation

import "time"

const (
	// Interval is the time between two steps.
	Interval = 10 * time.Minute
	// returns is how often those who owe are told.
	returns = 3
	// steps are all steps: the returns, the coordinator and the operator.
	steps = returns + 2
	// CoordinatorTold is how many steps an obligation has made at least once the coordinator was told of it.
	CoordinatorTold = returns + 1
	// OperatorTold is the same of the operator.
	OperatorTold = steps
	// slack is how far the clocks of two servers may differ before a step counts as astray.
	slack = time.Minute
)

// Act is what a step does.
type Act int

// The acts.
const (
	Nothing Act = iota
	// Return tells those who owe.
	Return
	TellCoordinator
	TellOperator
)

// next returns what the next step does.
func (o *Obligation) next() Act {
	switch {
	case o.Step < returns:
		return Return
	case o.Step == returns:
		return TellCoordinator
	case o.Step < steps:
		return TellOperator
	}
	return Nothing
}

// Begin returns an obligation that begins now. at is the time of its request in the intent's log.
func Begin(at, now time.Time) *Obligation { return &Obligation{OpenedAt: at, DueAt: now.Add(Interval)} }

// Due reports whether somebody has to look at the obligation.
func (o *Obligation) Due(now time.Time) bool {
	return o.Open() && !o.DueAt.IsZero() && (!now.Before(o.DueAt) || o.Astray(now))
}

// Astray reports whether the next step lies further ahead than any step can: the clock was ahead when it was set, and was set back.
func (o *Obligation) Astray(now time.Time) bool { return o.DueAt.After(now.Add(2*Interval + slack)) }

// Make makes the step that is due, and returns what it does. wrote is when the author first wrote since the pause, if it did: a
// paused obligation goes on an interval after that.
func (o *Obligation) Make(now, wrote time.Time) Act {
	switch {
	case !o.Due(now):
		return Nothing
	case o.Astray(now):
		o.DueAt = now.Add(Interval)
		return Nothing
	case o.Paused() && wrote.IsZero():
		o.DueAt = now.Add(Interval)
		return Nothing
	case o.Paused():
		o.PausedAt, o.DueAt = time.Time{}, wrote.Add(Interval)
		if now.Before(o.DueAt) {
			return Nothing
		}
	}
	act := o.next()
	o.advance(now)
	return act
}

// Skip makes the next step in the place of one that finds nobody, and returns what it does.
func (o *Obligation) Skip(now time.Time) Act {
	act := o.next()
	o.advance(now)
	return act
}

// Resume lets the steps go on after a pause that is taken back.
func (o *Obligation) Resume(now time.Time) { o.PausedAt, o.DueAt = time.Time{}, now.Add(Interval) }

func (o *Obligation) advance(now time.Time) {
	if o.Step++; o.Step == steps {
		o.DueAt = time.Time{}
		return
	}
	o.DueAt = now.Add(Interval)
}

// Paused reports whether the steps wait for the author to write.
func (o *Obligation) Paused() bool { return !o.PausedAt.IsZero() }

// Hear takes a signal of somebody who owes the obligation, and returns what follows from it at once. at is the signal's time in the
// intent's log.
func (o *Obligation) Hear(signal string, at, now time.Time) Act {
	if !o.Open() || o.DueAt.IsZero() {
		return Nothing
	}
	switch signal {
	case "working", "queued":
		if !o.Extended {
			o.Extended, o.DueAt = true, o.DueAt.Add(Interval)
		}
	case "declined", "blocked":
		if o.Step <= returns {
			o.Step, o.PausedAt = returns, time.Time{}
			o.advance(now)
			return TellCoordinator
		}
	case "unclear":
		if !o.Paused() {
			o.PausedAt, o.DueAt = at, now.Add(Interval)
		}
	}
	return Nothing
}
