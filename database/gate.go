package database

import "context"

// gate hands out a fixed number of places, to whoever waits longest. The places are values in a channel: a receiver
// that finds none joins the end of the channel's queue, and a returned place goes straight to the head of that queue,
// so nobody overtakes. (The pool of database/sql picks among those who wait at random, and SQLite lets them race for
// the file; both starve somebody under load.)
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

// enter waits for a place, until the context ends or the gate closes. Whoever entered must leave.
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

// close turns away everybody who waits or comes, and waits until those inside have left or the context ends. It is
// called once; the places that were given back are returned.
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
