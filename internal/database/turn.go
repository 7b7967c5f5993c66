package database

import "context"

// InTurn wraps periodic work of all replicas on the database so that only the replica with the turn does it; at the other
// replicas it does nothing. A replica keeps the turn as long as it keeps asking. When it stops, loses its connection or has not
// asked for half a minute, the next replica that asks gets the turn. InTurn saves work but excludes nothing: around a change of
// turns, two replicas may work simultaneously.
//
// All work with the same name shares one turn.
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
