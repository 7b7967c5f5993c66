package replay

import (
	"maps"
	"time"
)

// windows count the deliveries of whole messages. With a window, what one author writes to one spot comes as one delivery, once the author
// is silent there. What interrupts ends the windows of its channel, and comes together with what waits of its author.
type windows struct {
	silence, most time.Duration
	waiting       map[burst]*waits
	// deliveries counts each burst when it begins.
	deliveries int
}

// burst is what one author writes to one spot.
type burst struct {
	spot
	author string
}

// waits is when a burst began, when its newest message came, and how many messages it has.
type waits struct {
	began, last time.Time
	count       int
}

// maxBurst bounds how many messages come in one delivery.
const maxBurst = 10

func newWindows(rules Rules) *windows {
	return &windows{
		silence: seconds(rules.ComposeSeconds), most: seconds(rules.ComposeMostSeconds), waiting: make(map[burst]*waits),
	}
}

// buffered adds a message that may wait.
func (w *windows) buffered(of burst, at time.Time) {
	if w.silence == 0 {
		w.deliveries++
		return
	}
	w.release(at)
	open := w.waiting[of]
	if open == nil {
		w.deliveries++
		open = &waits{began: at}
		w.waiting[of] = open
	}
	open.last = at
	if open.count++; open.count == maxBurst {
		delete(w.waiting, of)
	}
}

// immediate adds a message that does not wait.
func (w *windows) immediate(of burst, at time.Time) {
	w.release(at)
	w.deliveries++
	maps.DeleteFunc(w.waiting, func(other burst, _ *waits) bool {
		if other.channel == of.channel && other.author == of.author {
			w.deliveries--
		}
		return other.channel == of.channel
	})
}

// release forgets what was delivered by a time.
func (w *windows) release(now time.Time) {
	maps.DeleteFunc(w.waiting, func(_ burst, open *waits) bool {
		return !now.Before(open.last.Add(w.silence)) || !now.Before(open.began.Add(w.most))
	})
}
