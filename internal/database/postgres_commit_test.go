package database_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// heldCommits makes commits that have inserted a thing wait, as they wait for a standby, until release is called. It also returns
// a connection past the DB.
func heldCommits(t *testing.T, url string) (beside *sql.DB, release func()) {
	t.Helper()
	beside, err := sql.Open("pgx", url)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, beside.Close()) })
	run := func(conn interface {
		Exec(query string, args ...any) (sql.Result, error)
	}, statement string) {
		_, err := conn.Exec(statement)
		require.NoError(t, err)
	}
	run(beside, `CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql SET lock_timeout = 0 AS
		$$ BEGIN PERFORM pg_advisory_xact_lock_shared(1); RETURN NULL; END $$`)
	run(beside, "CREATE CONSTRAINT TRIGGER held AFTER INSERT ON things DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION hold()")
	holder, err := beside.Begin()
	require.NoError(t, err)
	t.Cleanup(func() { _ = holder.Rollback() })
	run(holder, "SELECT pg_advisory_xact_lock(1)")
	return beside, func() { require.NoError(t, holder.Rollback()) }
}

// awaitHeld waits until some commits are held.
func awaitHeld(t *testing.T, beside *sql.DB, commits int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var held int
		require.NoError(t, beside.QueryRow("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted").Scan(&held))
		return held == commits
	}, patience, time.Millisecond)
}

func insertOne(db *database.DB, t *testing.T, id int64) error {
	return db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, id) })
}

// Others would see a commit whose wait for a standby was cancelled, although the standby, which has taken over, does not have it.
func TestACommitIsNotCancelledWhenItsServerIsLeft(t *testing.T) {
	primary, standby, both := twoServers(t)
	beside, release := heldCommits(t, primary.Maintenance())
	written := make(chan error, 1)
	go func() { written <- insertOne(both, t, 3) }()
	awaitHeld(t, beside, 1)
	standby.Promote(t)
	require.True(t, database.IsCommitUnknown(within(t, written)))
	require.NoError(t, insertOne(both, t, 4), "it writes to the new primary")
	release()
	require.Eventually(t, func() bool {
		var ids int
		require.NoError(t, beside.QueryRow("SELECT count(*) FROM things WHERE id = 3").Scan(&ids))
		return ids == 1
	}, patience, time.Millisecond, "nobody has cancelled the commit")
}

// A caller does not wait for ever, but its connection does, so there are never more such commits than connections.
func TestACommitThatTakesLong(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	db := openServer(t, database.Config{URL: address, Connections: database.Connections{Write: 2}, SlowStatements: time.Hour})
	db.SetCommitPatience(100 * time.Millisecond)
	beside, release := heldCommits(t, address)

	for id := range int64(2) {
		require.Eventually(t, func() bool { // on a slow machine the time may be over before anything is sent
			return database.IsCommitUnknown(insertOne(db, t, id))
		}, patience, time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err := db.Write(ctx, func(tx *database.Tx) error { return insertThing(tx, 3) })
	require.True(t, database.IsUnavailable(err), "%v", err)
	require.False(t, database.IsCommitUnknown(err), "it was not begun: %v", err)
	require.Zero(t, count(t, db, "things"), "reading goes on, and shows no commit that waits")
	awaitHeld(t, beside, 2)

	release()
	require.Eventually(t, func() bool { return count(t, db, "things") == 2 }, patience, time.Millisecond)
	db.SetCommitPatience(patience)
	for id := range int64(4) { // all connections are back
		require.NoError(t, insertOne(db, t, 10+id))
	}
}
