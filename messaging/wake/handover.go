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
	// maxHandovers and maxHandedBytes bound what waits for one listener. Who is given more looks for itself.
	maxHandovers   = 16
	maxHandedBytes = 3 << 20
	// SharedFor is how old what is shared among readers may become: a handover, or what the followers of a scope share.
	// Older things are read again, because statuses change.
	SharedFor = time.Second
)

// Handover is what one commit of this replica stored in one channel: given to those here who wait for it, so that they need
// not read what was in the writer's hands a moment ago. It is what a look would have seen at the commit, as far as it goes,
// and never more than that: whoever cannot tell from it alone what to do looks. It is never changed.
type Handover struct {
	Key channels.Key
	// Head and count are as the commit left them.
	Head  intents.Head
	Count channels.Count
	// Messages are all that the commit stored in the channel, in order: the last one is the channel's newest.
	Messages []*message.Message
	bytes    int
	// Presences are the records of agents as they were read under the head's lock; an unregistered one's is empty but for
	// its id. Whoever is missing was not asked for.
	Presences map[string]agents.Presence
	// Answered are the requests to which the messages hold the first responses.
	Answered map[string]struct{}
	// At is when the commit was known.
	At time.Time
}

// Add adds a message.
func (h *Handover) Add(m *message.Message) {
	h.Messages = append(h.Messages, m)
	h.bytes += m.Size()
}

// Fresh tells whether the handover may still stand for a look.
func (h *Handover) Fresh(now time.Time) bool { return now.Sub(h.At) <= SharedFor }

// After gives those of the messages whose ordinals lie above one.
func (h *Handover) After(ordinal int64) []*message.Message {
	at := slices.IndexFunc(h.Messages, func(m *message.Message) bool { return m.Ordinal > ordinal })
	if at < 0 {
		return nil
	}
	return h.Messages[at:]
}

// hands are a listener's: what it was given and has not taken.
type hands struct {
	mutex sync.Mutex
	given []*Handover
	bytes int
	// look is true when it was woken without being given anything, or cannot hold it.
	look bool
}

// put adds a handover; nil, or one too many: whose hands these are is to look.
func (h *hands) put(stored *Handover) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if stored == nil || len(h.given) == maxHandovers || h.bytes+stored.bytes > maxHandedBytes {
		h.given, h.bytes, h.look = nil, 0, true
	}
	if !h.look {
		h.given, h.bytes = append(h.given, stored), h.bytes+stored.bytes
	}
}

// take empties the hands, and tells whether a look is due, which sees what was given too.
func (h *hands) take() (given []*Handover, look bool) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	given, look = h.given, h.look
	h.given, h.bytes, h.look = nil, 0, false
	return given, look
}
