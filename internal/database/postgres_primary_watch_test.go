package database_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// twoServers returns a primary and a standby, of which each belongs to a history of its own, and a DB that is opened on both.
func twoServers(t *testing.T) (primary, standby *databasetest.Server, both *database.DB) {
	t.Helper()
	primary, standby = databasetest.StartServer(t), databasetest.StartServer(t)
	first, second := openScratchAt(t, primary), openScratchAt(t, standby)
	insert := func(db *database.DB, id int64) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, id) }))
	}
	insert(first, 1)
	insert(second, 2)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	standby.Demote(t)
	return primary, standby, openScratchAt(t, standby, primary)
}

// What waits for a server that hangs fails, or is tried at the server that has taken over, as soon as that has taken over.
func TestAPrimaryThatHangsIsLeft(t *testing.T) {
	primary, standby, both := twoServers(t)
	require.Equal(t, []int64{1}, thingsOf(t, both))
	insert := func(ctx context.Context, id int64) error {
		return both.Write(ctx, func(tx *database.Tx) error { return insertThing(tx, id) })
	}
	require.NoError(t, insert(t.Context(), 3))
	began := time.Now()
	primary.Freeze(t)
	defer primary.Thaw(t)
	waiting := make(chan error, 2)
	go func() { waiting <- insert(t.Context(), 4) }()
	go func() { waiting <- both.Ping(t.Context()) }()
	standby.Promote(t)
	for range 2 {
		err := within(t, waiting)
		require.True(t, err == nil || database.IsUnavailable(err), "%v", err)
	}
	require.Eventually(t, func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		return insert(ctx, 5) == nil
	}, patience, 10*time.Millisecond)
	require.Contains(t, thingsOf(t, both), int64(5))
	require.Contains(t, thingsOf(t, both), int64(2), "it reads from the server that has taken over")
	require.Less(t, time.Since(began), 20*time.Second, "without the watch, a statement waits for half a minute")
}

// A server that was the primary, and does not know that another one has taken over, is left although it answers, and is not used
// again.
func TestAnOutdatedPrimaryIsLeft(t *testing.T) {
	_, standby, both := twoServers(t)
	require.Equal(t, []int64{1}, thingsOf(t, both))
	standby.Promote(t)
	require.Eventually(t, func() bool {
		ids, err := tryThings(t, both)
		return err == nil && ids[0] == 2
	}, patience, 10*time.Millisecond)
	standby.Stop(t, databasetest.Fast)
	require.True(t, database.IsUnavailable(both.Ping(t.Context())))
	_, err := tryThings(t, both)
	require.True(t, database.IsUnavailable(err), "the old primary answers, but does not count: %v", err)
	standby.Start(t)
	require.Eventually(t, func() bool {
		ids, err := tryThings(t, both)
		return err == nil && ids[0] == 2
	}, patience, 10*time.Millisecond)
}

func tryThings(t *testing.T, db *database.DB) (ids []int64, err error) {
	t.Helper()
	err = db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT id FROM things ORDER BY id", Scan: func(row database.Row) error {
			var id int64
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		}})
	})
	return ids, err
}
