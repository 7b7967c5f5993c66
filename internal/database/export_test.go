package database

import (
	"context"
	"io/fs"
	"time"

	"openintent/internal/database/migrations"
)

// Internals that the tests of this package use from outside.
var (
	OpenWithSchema = open
	MigrateTo      = migrate
	InspectFor     = inspect
	Numbered       = numbered
	GrowingPauses  = growingPauses
)

// OpenWithMigrations is Open with the migrations of a first release.
func OpenWithMigrations(ctx context.Context, cfg Config, files fs.FS) (*DB, error) {
	return open(ctx, cfg, migrations.Schema{Files: files, Releases: []migrations.Release{{Name: "0.1"}}})
}

// MigrationConnections brings a database up to date, and returns how many connections for migrations it opened for that.
func MigrationConnections(ctx context.Context, cfg Config) (count int, err error) {
	_, err = withMigrator(ctx, cfg, func(m *migrator) (Outlook, error) {
		seen, err := m.up(ctx, migrations.Current, cfg.logger())
		count = m.pool.Stats().OpenConnections
		return seen, err
	})
	return count, err
}

// Reconnecting paces attempts as a Notifier does.
type Reconnecting struct{ reconnecting }

// Wait waits before the next attempt; Worked notes that the connection worked.
func (r *Reconnecting) Wait(ctx context.Context) { r.wait(ctx) }
func (r *Reconnecting) Worked()                  { r.worked() }

// SetSlowClock changes by which clock slow statements are found, if they are. It must be called before the statements.
func (db *DB) SetSlowClock(now func() time.Time) {
	if db.slow != nil {
		db.slow.now = now
	}
}

// SlowNow returns the time of that clock.
func (db *DB) SlowNow() time.Time { return db.slow.now() }

// FreeWriters returns the number of free places at the writers' gate.
func (db *DB) FreeWriters() int {
	switch dialect := db.dialect.(type) {
	case *sqliteFile:
		return len(dialect.writer.places)
	case *postgresServer:
		return len(dialect.writes.gate.places)
	}
	return -1
}

// FreePlaces returns the numbers of free places for writing, for reading and for heavy reads.
func (db *DB) FreePlaces() (writers, readers, heavy int) {
	switch dialect := db.dialect.(type) {
	case *sqliteFile:
		readers, heavy = len(dialect.readers.places), len(dialect.heavy.places)
	case *postgresServer:
		readers, heavy = len(dialect.reads.gate.places), len(dialect.heavy.gate.places)
	}
	return db.FreeWriters(), readers, heavy
}

// SetLeaderPatience changes how long a replica leads without asking, on a PostgreSQL database. It takes effect with the
// next session of the leader.
func (db *DB) SetLeaderPatience(patience time.Duration) {
	db.dialect.(*postgresServer).leader.patience = patience
}

// SetCommitPatience changes how long a caller waits for a commit.
func (db *DB) SetCommitPatience(patience time.Duration) { db.commitPatience = patience }

// Alone reports whether the replica believes that nobody else listens.
func (n *Notifier) Alone() bool {
	n.mutex.Lock()
	defer n.mutex.Unlock()
	return n.alone
}

// FreeTurns returns how many reads of ReadFor could begin now.
func (db *DB) FreeTurns() int {
	db.reads.places.mutex.Lock()
	defer db.reads.places.mutex.Unlock()
	return min(db.reads.free, db.reads.places.free)
}

// FreeTurnsOfAKey returns how many reads of one key could begin now, if none is under way.
func (db *DB) FreeTurnsOfAKey() int { return min(db.reads.eachRuns, db.FreeTurns()) }
