package wake

import (
	"slices"
	"sync"
	"time"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/messaging/message"
)

const (
	// maxHandovers and maxHandedBytes bound what waits for one listener. A listener that is given more looks for itself.
	maxHandovers   = 16
	maxHandedBytes = 3 << 20
	// SharedFor is how old something that readers share may become: a handover, or the page that the followers of a scope
	// share. Readers read older things again, because statuses change.
	SharedFor = time.Second
)

// Handover is what one commit of this replica stored in one channel, or in the log of one intent. Those who wait for it here are
// given it, so that they need not read what the writer had in its hands a moment ago. As far as it goes, it is what a snapshot at
// the commit would have shown, and never more. Whoever cannot tell from it alone what to do reads a snapshot. A handover is never
// changed.
type Handover struct {
	// Key is the channel's. Of an intent's log it has the intent alone.
	Key channels.Key
	// Head and Count are as the commit left them. An intent's log has Counts instead, by the numbers of the messages' channels.
	Head   intents.Head
	Count  channels.Count
	Counts map[int64]channels.Count
	// Before is the head as the commit found it. It is set for an intent's log.
	Before intents.Head
	// Messages are all messages that the commit stored in the channel, in order. The last one is the channel's newest. In an
	// intent's log they are everything between the two heads.
	Messages []*message.Message
	bytes    int
	// Contents are those of the messages, for all streams that send them. They are set for an intent's log.
	Contents []*message.SharedContent
	// Presences are the agents' records as they were read under the head's lock. The record of an agent that is not
	// registered is empty but for its id. An agent that is missing was not asked for.
	Presences map[string]agents.Presence
	// Answered are the ids of the requests to which the messages are the first responses.
	Answered map[string]struct{}
	// At is when the commit became known.
	At time.Time
}

// Add adds a message.
func (h *Handover) Add(m *message.Message) {
	h.Messages = append(h.Messages, m)
	h.bytes += m.Size()
}

// Fresh reports whether the handover is new enough to stand for a snapshot.
func (h *Handover) Fresh(now time.Time) bool { return now.Sub(h.At) <= SharedFor }

// After returns the messages whose ordinals are higher than the given one.
func (h *Handover) After(ordinal int64) []*message.Message {
	at := slices.IndexFunc(h.Messages, func(m *message.Message) bool { return m.Ordinal > ordinal })
	if at < 0 {
		return nil
	}
	return h.Messages[at:]
}

// mailbox holds what a listener was given and has not taken yet.
type mailbox struct {
	mutex sync.Mutex
	given []*Handover
	bytes int
	// look is true when the listener was woken without being given anything, or could not hold what it was given.
	look bool
}

// put adds a handover. After nil, or after more than fits, the listener has to look for itself.
func (m *mailbox) put(stored *Handover) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	if stored == nil || len(m.given) == maxHandovers || m.bytes+stored.bytes > maxHandedBytes {
		m.given, m.bytes, m.look = nil, 0, true
	}
	if !m.look {
		m.given, m.bytes = append(m.given, stored), m.bytes+stored.bytes
	}
}

// take empties the mailbox, and tells whether the listener has to look. If it has, the look shows what was given too.
func (m *mailbox) take() (given []*Handover, look bool) {
	m.mutex.Lock()
	defer m.mutex.Unlock()
	given, look = m.given, m.look
	m.given, m.bytes, m.look = nil, 0, false
	return given, look
}
