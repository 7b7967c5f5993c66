package intents

import (
	"fmt"

	"openintent/internal/pages"
)

// maxBreaks bounds the breaks that the answer lists; it counts all of them.
const maxBreaks = 100

// chainBreak is a place where the recomputed chain and the stored one differ.
type chainBreak struct {
	sequence int64
	reason   string
}

// chainOutcome is the result of recomputing one event.
type chainOutcome struct {
	sequence     int64
	hash         string
	previousHash string
	verified     bool
}

// chainCheck recomputes a hash chain from its stored events, in the order of their sequence. However many events there are,
// it keeps only the first breaks and one page of outcomes.
type chainCheck struct {
	count       int64
	first, last int64
	lastHash    string // as stored
	linked      bool   // no sequence is missing, and each event names the hash before it
	breakCount  int64
	breaks      []chainBreak
	removed     checkpoint // the events before it are gone

	after    int64 // outcomes are kept only for events after this sequence
	wanted   int   // how many outcomes are kept at most
	outcomes []chainOutcome
}

func newChainCheck() *chainCheck { return &chainCheck{linked: true, wanted: pages.MaxEntries} }

// from begins the chain after the events that were removed, which may be more than were checked before.
func (c *chainCheck) from(removed checkpoint) {
	c.count, c.first, c.outcomes = 0, 0, nil
	c.last, c.lastHash = removed.sequence, removed.hash
}

// next checks the next stored event.
func (c *chainCheck) next(event *Event) {
	known := c.breakCount
	switch {
	case event.Sequence != c.last+1:
		c.missing(c.last+1, event.Sequence-1)
	case event.PreviousHash != c.lastHash:
		c.broken(event.Sequence, "previous_event_hash is not the event_hash of the event before")
		c.linked = false
	}
	if hash, err := event.computeHash(); err != nil || hash != event.Hash {
		c.broken(event.Sequence, "event_hash is not the hash of the stored event")
	}
	if c.first == 0 {
		c.first = event.Sequence
	}
	c.last, c.lastHash = event.Sequence, event.Hash
	c.count++
	if event.Sequence <= c.after || len(c.outcomes) == c.wanted {
		return
	}
	c.outcomes = append(c.outcomes, chainOutcome{
		sequence:     event.Sequence,
		hash:         event.Hash,
		previousHash: event.PreviousHash,
		verified:     c.breakCount == known,
	})
}

// end compares the end of the chain with the last event that the intent's head remembers. This also finds events that are
// missing at the end, and a chain that was rewritten as a whole.
func (c *chainCheck) end(lastSequence int64, lastHash string) {
	switch {
	case c.last < lastSequence:
		c.missing(c.last+1, lastSequence)
	case c.last > lastSequence || c.lastHash != lastHash:
		c.broken(c.last, "the log does not end with the event that was appended last")
		c.linked = false
	}
}

// missing reports a gap once, at its first sequence.
func (c *chainCheck) missing(from, to int64) {
	reason := "the event is missing"
	if to > from {
		reason = fmt.Sprintf("the events from here to %d are missing", to)
	}
	c.broken(from, reason)
	c.linked = false
}

func (c *chainCheck) broken(sequence int64, reason string) {
	c.breakCount++
	if len(c.breaks) < maxBreaks {
		c.breaks = append(c.breaks, chainBreak{sequence, reason})
	}
}
