package database

import "container/list"

// mostHad is after how many turns a round ends even if newcomers are left, so that nothing grows with their names.
const mostHad = 10_000

// rotation has values by name, in the order of their turns. They have their turns in rounds, one each. A name that joins has its turn in
// this round, unless it had one already: so a newcomer waits only for names that wait for their turn in this round, and a name that leaves
// and comes back gains nothing. The zero rotation is empty. All that it does takes the same time on average, however many names it has.
type rotation[T any] struct {
	byName map[string]*list.Element // of next and later
	// next has the names whose turn comes in this round, the next one first, and later the others.
	next, later list.List // of turnOf[T]
	// had has the names that had their turn in this round.
	had map[string]struct{}
}

type turnOf[T any] struct {
	name  string
	value T
}

// join adds a name.
func (r *rotation[T]) join(name string, value T) {
	if r.byName == nil {
		r.byName = make(map[string]*list.Element)
	}
	if _, had := r.had[name]; had {
		r.byName[name] = r.later.PushBack(turnOf[T]{name, value})
	} else {
		r.byName[name] = r.next.PushBack(turnOf[T]{name, value})
	}
}

// drop removes a name, if it is there.
func (r *rotation[T]) drop(name string) {
	if at := r.byName[name]; at != nil {
		r.next.Remove(at)
		r.later.Remove(at) // a list removes only what is its own
		delete(r.byName, name)
	}
}

// find returns the value of a name, or the zero value.
func (r *rotation[T]) find(name string) (value T) {
	if at := r.byName[name]; at != nil {
		value = at.Value.(turnOf[T]).value
	}
	return value
}

func (r *rotation[T]) empty() bool { return len(r.byName) == 0 }

// turn gives a turn to the name whose turn it is, and returns its value. There must be one.
func (r *rotation[T]) turn() T {
	first := r.next.Front()
	if first == nil {
		first = r.later.Front()
	}
	given := first.Value.(turnOf[T])
	r.note(given.name)
	return given.value
}

// note notes that a name has a turn, whether or not it has joined. If nobody else waits for one in this round, it begins the next one.
func (r *rotation[T]) note(name string) {
	if r.next.Len() == 0 || len(r.had) >= mostHad {
		r.newRound()
	}
	if r.had == nil {
		r.had = make(map[string]struct{})
	}
	r.had[name] = struct{}{}
	if at := r.byName[name]; at != nil {
		value := at.Value
		r.drop(name)
		r.byName[name] = r.later.PushBack(value)
	}
}

func (r *rotation[T]) newRound() {
	clear(r.had)
	for at := r.later.Front(); at != nil; at = r.later.Front() {
		r.byName[at.Value.(turnOf[T]).name] = r.next.PushBack(r.later.Remove(at))
	}
}
