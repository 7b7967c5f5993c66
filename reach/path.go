package reach

import "time"

// Kind is a way in which an agent hears.
type Kind string

// The kinds of paths.
const (
	// Stream is a stream of an agent's deliveries, of the agent, or of an intent or a channel that includes attention.
	Stream Kind = "stream"
	// Wait is a call that waits for something to come.
	Wait Kind = "wait"
	// C2A is a connection of C2A's that has initialized.
	C2A Kind = "c2a"
	// Webhook is a subscription with an address.
	Webhook Kind = "webhook"
	// Wake is a running `openintent wake`, which starts something that hears.
	Wake Kind = "wake"
	// Listen is MCP's subscription to an inbox. No harness is known that it wakes.
	Listen Kind = "listen"
)

// Level is what an agent's paths come to.
type Level uint8

// The levels, from nothing to somebody who listens now.
const (
	Unknown Level = iota
	None
	Wakeable
	Live
)

// String returns the level's name in the contract.
func (l Level) String() string { return levelNames[l] }

var levelNames = [...]string{"unknown", "none", "wakeable", "live"}

// level is what one open path makes of an agent.
func (k Kind) level() Level {
	switch k {
	case Stream, Wait, C2A:
		return Live
	case Webhook, Wake:
		return Wakeable
	}
	return None
}

const (
	// askedWithin is how long an open path that is asked may be without an answer: the pause between two questions, and the time for a reply.
	askedWithin = 15 * time.Second
	// wakeFor is how long a wake counts after its last call.
	wakeFor = 30 * time.Second
)

// Path is an open way to an agent.
type Path struct {
	Kind  Kind
	Since time.Time
	// Proven is when the other end last proved that it is there; zero if that is not known.
	Proven time.Time
}

// proven returns when the other end of a path last proved that it was there, as far as that is certain at a time at which the path was open.
func proven(since, at time.Time, asked bool) time.Time {
	if asked && at.Add(-askedWithin).After(since) {
		return at.Add(-askedWithin)
	}
	return since
}

// merge adds a path to others, of which there is at most one of each kind. Since is the earliest and Proven the latest of both.
func merge(paths []Path, more Path) []Path {
	for i := range paths {
		if paths[i].Kind == more.Kind {
			if more.Since.Before(paths[i].Since) {
				paths[i].Since = more.Since
			}
			if more.Proven.After(paths[i].Proven) {
				paths[i].Proven = more.Proven
			}
			return paths
		}
	}
	return append(paths, more)
}
