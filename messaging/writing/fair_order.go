package writing

// turns is the order in which the keys have their turns. The line links the keys themselves, so that taking a turn
// allocates nothing.
type turns struct{ first, last *keyQueue }

// add puts a key at the end, unless it is in the line already.
func (t *turns) add(k *keyQueue) {
	if k.inTurns {
		return
	}
	k.inTurns = true
	if t.last == nil {
		t.first = k
	} else {
		t.last.next = k
	}
	t.last = k
}

// pop takes the first key out, or returns nil.
func (t *turns) pop() *keyQueue {
	k := t.first
	if k == nil {
		return nil
	}
	if t.first = k.next; t.first == nil {
		t.last = nil
	}
	k.next, k.inTurns = nil, false
	return k
}

// unpop puts a key that was popped back in front.
func (t *turns) unpop(k *keyQueue) {
	k.inTurns, k.next = true, t.first
	if t.first = k; t.last == nil {
		t.last = k
	}
}

// join puts another line behind this one.
func (t *turns) join(other turns) {
	switch {
	case other.first == nil:
	case t.last == nil:
		*t = other
	default:
		t.last.next, t.last = other.first, other.last
	}
}
