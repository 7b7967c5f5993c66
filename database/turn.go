package database

import "context"

// InTurn makes periodic work that all replicas on the database run be done by one of them: the replica that has the turn
// does it, at the others it is nothing. The turn stays with a replica as long as that keeps asking, and passes to
// another's next attempt when it stops, loses its connection or has not asked for half a minute. It saves work and
// protects nothing: around a change of turns two replicas may work at once.
//
// Work of one name shares one turn.
func (db *DB) InTurn(name string, work func(context.Context) error) func(context.Context) error {
	server, several := db.dialect.(replicated)
	if !several {
		return work
	}
	return func(ctx context.Context) error {
		ours, err := server.turn(ctx, name)
		if err != nil || !ours {
			return err
		}
		return work(ctx)
	}
}
