package database

import (
	"context"

	"openintent/database/migrations"
)

// firstSessions is how release 0.1 names its sessions on PostgreSQL, unless the URL names them.
const firstSessions = "openintent"

// ownSessions is how this program names its sessions: with its release.
func ownSessions() string {
	releases := migrations.Current.Releases
	return firstSessions + " " + releases[len(releases)-1].Name
}

// BesideFirstRelease reports whether a program of release 0.1 works on the database, too. It goes by the names of the sessions; a
// program whose URL names them is not found.
func (db *DB) BesideFirstRelease(ctx context.Context) (found bool, err error) {
	if db.Engine() != PostgreSQL {
		return false, nil // only one process has the file
	}
	err = db.ReadStatement(ctx, func(tx *Tx) error {
		return tx.Pipeline(Statement{
			SQL:  "SELECT EXISTS (SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = ?)",
			Args: []any{firstSessions},
			Scan: func(row Row) error { return row.Scan(&found) },
		})
	})
	return found, err
}
