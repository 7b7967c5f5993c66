package reach

import (
	"cmp"
	"slices"
	"time"

	"openintent/internal/database"
)

// Replica is a server on the database.
type Replica struct {
	Name string
	// SeenAt is when it last said that it lives.
	SeenAt time.Time
}

// mostReplicas is how many servers Replicas lists at most.
const mostReplicas = 1000

// Name is the name of this replica.
func (h *Here) Name() string { return h.replica }

// Replicas lists this replica and the others that live, by name. A replica without open paths need not say that it lives.
func (h *Here) Replicas(tx *database.Tx) (living []Replica, err error) {
	now := tx.Now()
	living = []Replica{{h.replica, now}}
	err = tx.Pipeline(database.Statement{
		SQL:  "SELECT replica, seen_at FROM replicas WHERE seen_at >= ? AND replica <> ? LIMIT ?",
		Args: []any{database.Micros(now.Add(-liveFor)), h.replica, mostReplicas},
		Scan: func(row database.Row) error {
			var name string
			var seenAt int64
			err := row.Scan(&name, &seenAt)
			living = append(living, Replica{name, database.Time(seenAt)})
			return err
		},
	})
	slices.SortFunc(living, func(a, b Replica) int { return cmp.Compare(a.Name, b.Name) })
	return living, err
}
