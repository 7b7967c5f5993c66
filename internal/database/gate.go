package database

import "context"

// gate hands out a fixed number of places, always to the caller that has waited longest. The places are values in a channel: a
// receiver that finds none joins the end of the channel's queue, and a returned place goes straight to the head of that queue,
// so nobody overtakes. (The pool of database/sql picks a waiting caller at random, and SQLite lets callers race for the file;
// under load, both starve some callers.)
type gate[T any] struct {
	places chan T
	closed chan struct{}
}

func newGate[T any](places ...T) *gate[T] {
	g := &gate[T]{places: make(chan T, len(places)), closed: make(chan struct{})}
	for _, place := range places {
		g.places <- place
	}
	return g
}

// enter waits for a place, until the context ends or the gate closes. A caller that has entered must leave.
func (g *gate[T]) enter(ctx context.Context) (place T, err error) {
	select {
	case <-g.closed:
		return place, errClosed
	default:
	}
	select {
	case place = <-g.places:
		return place, nil
	case <-ctx.Done():
		return place, ctx.Err()
	case <-g.closed:
		return place, errClosed
	}
}

func (g *gate[T]) leave(place T) { g.places <- place }

// close refuses all waiting and later callers, and waits until the callers inside have left or the context ends. It is called
// once, and returns the places that were given back.
func (g *gate[T]) close(ctx context.Context) []T {
	close(g.closed)
	back := make([]T, 0, cap(g.places))
	for range cap(g.places) {
		select {
		case place := <-g.places:
			back = append(back, place)
		case <-ctx.Done():
			return back
		}
	}
	return back
}
