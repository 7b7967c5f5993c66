package obligation

import (
	"time"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

// MaxOpen is how many obligations of one author are open in an intent at most. Each costs others up to five messages.
const MaxOpen = 100

var (
	// ErrTooMany refuses a request with an obligation of an author who has as many open as are allowed.
	ErrTooMany = fault.New(fault.Quota, "TOO_MANY_OBLIGATIONS",
		"The sender has 100 open obligations in this intent, which is the most; discharge some, or send the request without one.")
	// ErrNone refuses to discharge what is no obligation.
	ErrNone = fault.New(fault.Conflict, "NO_OBLIGATION",
		"The message came without an obligation; only a request that was sent with one can be discharged.")
	// ErrNotYours refuses to discharge an obligation for somebody who only sees it.
	ErrNotYours = fault.New(fault.Denied, "NOT_THE_AUTHOR",
		"Only the author of the request, its delegate and the operator discharge the obligation; ask one of them.")
)

// Obligation is what has become of one request's obligation. Zero times and empty texts mean unset.
type Obligation struct {
	IntentNo, ChannelNo, Position int64
	MessageID                     string
	// Author sent the request to Target: an agent or a role.
	Author, Target   string
	Delegate, Blocks string
	OpenedAt         time.Time
	// Step is how many steps were made. DueAt is when the next one is; it is zero after the last.
	Step  int
	DueAt time.Time
	// Extended is true once a signal has put a step off.
	Extended bool
	// PausedAt is when a signal paused the steps; it is zero unless they are paused. They go on when the author writes.
	PausedAt time.Time

	Discharge
}

// Discharge is who closed an obligation, when and with which words.
type Discharge struct {
	At       time.Time
	By, Note string
}

// Open reports whether nobody has discharged the obligation.
func (o *Obligation) Open() bool { return o.At.IsZero() }

// MayDischarge reports whether an agent may discharge the obligation.
func (o *Obligation) MayDischarge(agent string, operator bool) bool {
	return operator || agent == o.Author || agent == o.Delegate && agent != ""
}

// close discharges the obligation.
func (o *Obligation) close(d Discharge) {
	o.Discharge, o.DueAt, o.PausedAt = d, time.Time{}, time.Time{}
}

// endedByServer is the discharge of what was open when its intent ended or its channel was deleted.
func endedByServer(at time.Time) Discharge { return Discharge{At: at, By: caller.System} }
