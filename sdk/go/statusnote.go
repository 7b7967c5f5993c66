package openintent

import (
	"context"
	"fmt"
	"sync"
	"time"
	"unicode/utf8"

	"openintent/sdk/go/internal/pace"
)

const (
	// longestNote is how many characters a status note has at most.
	longestNote = 200
	// notePause is the least time from one heartbeat to the next, however often the note changes.
	notePause = time.Second
)

// statusNote is what an agent says that it is doing, with whether the server has heard it.
type statusNote struct {
	mutex  sync.Mutex
	text   *string // nil while nothing was said
	untold bool
	// changed wakes the heartbeats.
	changed chan struct{}
}

// SetStatusNote says what the agent is doing, for people and other agents, in at most 200 characters; an empty note takes it away. It
// does not wait for the server: the agent's next heartbeat brings the note, at most a second later. Of several notes only the last
// one counts. The agent's record keeps the note when the agent leaves.
func (a *Agent) SetStatusNote(note string) error {
	if a.options.WithoutRegistering {
		return invalidNote("needs an agent that registers")
	}
	if count := utf8.RuneCountInString(note); count > longestNote {
		return invalidNote(fmt.Sprintf("must have at most %d characters, and this one has %d", longestNote, count))
	}
	a.note.mutex.Lock()
	a.note.text, a.note.untold = &note, true
	a.note.mutex.Unlock()
	signal(a.note.changed)
	return nil
}

func invalidNote(description string) *Error {
	return &Error{Code: "INVALID_ARGUMENT", Reason: "INVALID_FIELD", Message: "The status note " + description + ".",
		Violations: []Violation{{Field: "status_note", Description: description}}}
}

// next returns the note that the server has not heard; nil for none.
func (n *statusNote) next() *string {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if !n.untold {
		return nil
	}
	return n.text
}

// told notes that the server has heard a note, or refuses it.
func (n *statusNote) told(text *string) {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	if text != nil && text == n.text {
		n.untold = false
	}
}

// again notes that the server has forgotten the note, as it does when the agent registers anew.
func (n *statusNote) again() {
	n.mutex.Lock()
	n.untold = n.text != nil
	untold := n.untold
	n.mutex.Unlock()
	if untold {
		signal(n.changed)
	}
}

// untilHeartbeat waits until the next heartbeat is due: after the interval, or as soon as there is a new note.
func (n *statusNote) untilHeartbeat(ctx context.Context, beats *pace.Work, interval time.Duration) error {
	begun := beats.Now()
	err := beats.Until(ctx, begun.Add(min(notePause, interval)))
	for due := begun.Add(interval); err == nil && n.next() == nil && beats.Now().Before(due); {
		err = beats.UntilOr(ctx, due, n.changed)
	}
	return err
}
