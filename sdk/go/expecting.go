package openintent

import "time"

// onItsWay is how long after it read the inbox an agent that leaves waits, at most, for the deliveries of what it found there.
const onItsWay = 5 * time.Second

// expected says which handled messages were found in the inbox while their deliveries were on their way. Only the number of its
// delivery acknowledges a message. An agent that leaves before the delivery comes would handle the message again in its next run.
type expected struct {
	// until is when the agent waits for them no longer.
	until time.Time
	ids   map[string]bool
	none  chan struct{} // closed when all have come; nil when nobody asks
}

// noteInbox notes that the agent reads the inbox now.
func (r *receiver) noteInbox() {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.found.until = time.Now().Add(onItsWay)
}

// expect notes that the delivery of a handled message has not come.
func (e *expected) expect(id string) {
	if e.ids == nil {
		e.ids = map[string]bool{}
	}
	if len(e.ids) < handledMemory {
		e.ids[id] = true
	}
}

// came notes that it has come.
func (e *expected) came(id string) {
	delete(e.ids, id)
	if len(e.ids) == 0 && e.none != nil {
		close(e.none)
		e.none = nil
	}
}

// awaitDeliveries waits until all expected deliveries have come, or have had enough time to.
func (r *receiver) awaitDeliveries() {
	r.mutex.Lock()
	if len(r.found.ids) == 0 {
		r.mutex.Unlock()
		return
	}
	none, left := make(chan struct{}), time.Until(r.found.until)
	r.found.none = none
	r.mutex.Unlock()
	timer := time.NewTimer(left)
	defer timer.Stop()
	select {
	case <-none:
	case <-timer.C:
	}
}
