package database

import "context"

// ByLeader wraps periodic work of all replicas on the database so that only one replica, the leader, does it; at the other
// replicas it does nothing. A replica leads as long as it keeps asking. When it stops, loses its connection or has not
// asked for half a minute, the next replica that asks leads. ByLeader saves work but excludes nothing: around a change of
// leaders, two replicas may work simultaneously.
//
// All work with the same name has the same leader.
func (db *DB) ByLeader(name string, work func(context.Context) error) func(context.Context) error {
	server, several := db.dialect.(replicated)
	if !several {
		return work
	}
	return func(ctx context.Context) error {
		ours, err := server.leads(ctx, name)
		if err != nil || !ours {
			return err
		}
		return work(ctx)
	}
}
