package c2a

import (
	"slices"
	"sync"

	openintentv1 "openintent/gen/openintent/v1"
)

// mostHandedOut is of how many messages a connection remembers what the harness has.
const mostHandedOut = 256

// handedOut remembers what the harness has got of the latest messages on this connection: which revision, so that an edit that was made
// before its message was delivered makes no further event, and which events, so that what is cancelled has the name under which it came.
type handedOut struct {
	mutex    sync.Mutex
	messages map[string]handed
	order    []string
}

// handed is what the harness has of a message: the latest revision, and the events that were not cancelled.
type handed struct {
	revision int32
	events   []string
}

// note notes that the harness gets a message in an event.
func (h *handedOut) note(m *openintentv1.Message, event string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	if h.messages == nil {
		h.messages = make(map[string]handed)
	}
	got, known := h.messages[m.GetId()]
	if !known {
		if len(h.order) == mostHandedOut {
			delete(h.messages, h.order[0])
			h.order = h.order[1:]
		}
		h.order = append(h.order, m.GetId())
	}
	got.revision = revisionOf(m)
	if !slices.Contains(got.events, event) {
		got.events = append(got.events, event)
	}
	h.messages[m.GetId()] = got
}

// revision returns 0 for a message that is not known.
func (h *handedOut) revision(message string) int32 {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	return h.messages[message].revision
}

// end forgets the events of a message except one, and returns them. Of a message that is not known, the harness may have got the event on a
// former connection.
func (h *handedOut) end(message, except string) (events []string) {
	h.mutex.Lock()
	defer h.mutex.Unlock()
	got, known := h.messages[message]
	if !known {
		return []string{message}
	}
	var left []string
	for _, event := range got.events {
		if event == except {
			left = append(left, event)
		} else {
			events = append(events, event)
		}
	}
	got.events = left
	h.messages[message] = got
	return events
}
