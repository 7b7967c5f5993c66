package database

import (
	"context"
	"time"
)

// What the tests of this package look at from outside.
var (
	OpenWithMigrations = open
	Numbered           = numbered
	GrowingPauses      = growingPauses
)

// Reconnecting paces attempts as a Notifier does.
type Reconnecting struct{ reconnecting }

// Wait waits before the next attempt; Worked notes that the connection worked.
func (r *Reconnecting) Wait(ctx context.Context) { r.wait(ctx) }
func (r *Reconnecting) Worked()                  { r.worked() }

// FreeWriters is the number of places that are free at the writers' gate.
func (db *DB) FreeWriters() int {
	switch dialect := db.dialect.(type) {
	case *sqliteFile:
		return len(dialect.writer.places)
	case *postgresServer:
		return len(dialect.writes.gate.places)
	}
	return -1
}

// SetTurnPatience changes how long turns are kept without asking, on a PostgreSQL database, from its next session for
// turns on.
func (db *DB) SetTurnPatience(patience time.Duration) {
	db.dialect.(*postgresServer).turns.patience = patience
}

// Alone tells whether the replica believes that nobody else listens.
func (n *Notifier) Alone() bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.alone
}
