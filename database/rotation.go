package database

import "container/list"

// rotation has values by name, in the order of their turns. The zero rotation is empty. All that it does takes the same time, however many
// names it has.
type rotation[T any] struct {
	byName map[string]*list.Element // of turns
	turns  list.List                // of turnOf[T], the next one first
}

type turnOf[T any] struct {
	name  string
	value T
}

// find returns the value of a name, or the zero value.
func (r *rotation[T]) find(name string) (value T) {
	if at := r.byName[name]; at != nil {
		value = at.Value.(turnOf[T]).value
	}
	return value
}

// join adds a name, whose turn comes last, and returns its value.
func (r *rotation[T]) join(name string, value T) T {
	if r.byName == nil {
		r.byName = make(map[string]*list.Element)
	}
	r.byName[name] = r.turns.PushBack(turnOf[T]{name, value})
	return value
}

// first returns the value whose turn is next. There must be one.
func (r *rotation[T]) first() T { return r.turns.Front().Value.(turnOf[T]).value }

// later makes the turn of a name come last.
func (r *rotation[T]) later(name string) { r.turns.MoveToBack(r.byName[name]) }

func (r *rotation[T]) drop(name string) {
	r.turns.Remove(r.byName[name])
	delete(r.byName, name)
}
