package loopbrake

// ring holds the times of the last turns, as many as a budget has. Once it is full, the oldest is at next.
type ring struct {
	times []int64
	next  int
}

// begin forgets the times, and makes room for as many as the budget has.
func (r *ring) begin(turns int) {
	times := r.times[:0]
	if cap(times) != turns {
		times = make([]int64, 0, turns)
	}
	*r = ring{times: times}
}

func (r *ring) add(at int64) {
	slot := r.slot()
	r.times = r.times[:max(len(r.times), slot+1)]
	r.times[slot] = at
	r.next = (slot + 1) % cap(r.times)
}

// slot is where the next time goes.
func (r *ring) slot() int {
	if len(r.times) < cap(r.times) {
		return len(r.times)
	}
	return r.next
}

// full reports whether there are as many times as the budget has.
func (r *ring) full() bool { return len(r.times) == cap(r.times) && len(r.times) > 0 }

// oldest is the time of the oldest turn of a full ring.
func (r *ring) oldest() int64 { return r.times[r.next] }
