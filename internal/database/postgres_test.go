package database_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// openServer opens a PostgreSQL database with the scratch schema and further settings in the URL.
func openServer(t *testing.T, cfg database.Config, settings ...string) *database.DB {
	t.Helper()
	if cfg.URL == "" {
		cfg.URL = databasetest.BlankURL(t, database.PostgreSQL)
	}
	cfg.URL = withSettings(t, cfg.URL, settings...)
	return openScratch(t, cfg)
}

func TestConnectionLostWithinATransaction(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	db := openServer(t, database.Config{URL: address})
	runs := 0
	err := db.Write(t.Context(), func(tx *database.Tx) error {
		runs++
		tx.AfterCommit(func() { t.Error("nothing was committed") })
		require.NoError(t, insertThing(tx, 1))
		require.NotZero(t, databasetest.KillConnections(t, address))
		return insertThing(tx, 2)
	})
	require.Error(t, err)
	require.True(t, database.IsUnavailable(err), "%v", err)
	require.False(t, database.IsCommitUnknown(err))
	require.Equal(t, 1, runs)

	err = db.Read(t.Context(), func(tx *database.Tx) error {
		require.NoError(t, tx.Gorm().Find(&[]thing{}).Error)
		databasetest.KillConnections(t, address)
		return tx.Gorm().Find(&[]thing{}).Error
	})
	require.True(t, database.IsUnavailable(err), "%v", err)

	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 3) }), "the pool recovers")
	require.EqualValues(t, 1, count(t, db, "things"))
}

// After a restart nobody notices the connections that were lost while they were idle in the pools.
func TestConnectionsLostInThePool(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	db := openServer(t, database.Config{URL: address})
	occupy := func() {
		const pairs = 8
		var inside, all sync.WaitGroup
		inside.Add(2 * pairs)
		use := func() func(tx *database.Tx) error {
			var arrived sync.Once // a transaction that begins anew has arrived before
			return func(tx *database.Tx) error {
				err := tx.Pipeline(database.Statement{SQL: "SELECT 1"})
				arrived.Do(inside.Done)
				inside.Wait()
				return err
			}
		}
		for range pairs {
			all.Go(func() { assert.NoError(t, db.Write(t.Context(), use())) })
			all.Go(func() { assert.NoError(t, db.Read(t.Context(), use())) })
		}
		all.Wait()
	}
	occupy()
	occupy() // soon after all connections were used, because a connection that was used a moment ago is not checked before its next use
	require.GreaterOrEqual(t, databasetest.KillConnections(t, address), 16)
	occupy()

	databasetest.KillConnections(t, address)
	err := db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) })
	require.NoError(t, err, "through gorm too")
	require.EqualValues(t, 1, count(t, db, "things"))
}

func TestConnectionLostAtCommit(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	kill := false
	db := openServer(t, database.Config{URL: address, Connections: database.Connections{Write: 1, Read: 1}, Hooks: database.Hooks{BeforeCommit: func(context.Context) error {
		if kill {
			kill = false
			databasetest.KillConnections(t, address)
		}
		return nil
	}}})
	for name, send := range map[string]bool{"plain": false, "with statements": true} {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: "DELETE FROM things"})
			}), "the connection must know its statements")
			kill = true
			runs, woken := 0, 0
			err := db.Write(t.Context(), func(tx *database.Tx) error {
				runs++
				tx.AfterCommit(func() { woken++ })
				if send {
					tx.SendWithCommit(database.Statement{SQL: "DELETE FROM things"})
				}
				return insertThing(tx, 1)
			})
			require.True(t, database.IsCommitUnknown(err), "%v", err)
			require.True(t, database.IsUnavailable(err))
			require.Equal(t, 1, runs, "never tried again")
			require.Equal(t, 1, woken)
		})
	}
}

func TestWaitingForALockEnds(t *testing.T) {
	db := openServer(t, database.Config{}, "lock_timeout", "20")
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
	lock := func(tx *database.Tx, clause string) (n int64, err error) {
		err = tx.Pipeline(database.Statement{
			SQL: "SELECT id FROM things" + clause, Scan: func(row database.Row) error { return row.Scan(&n) }, Affected: &n,
		})
		return n, err
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		_, err := lock(tx, tx.ForUpdate())
		require.NoError(t, err)
		runs := 0
		err = db.Write(t.Context(), func(tx *database.Tx) error {
			runs++
			_, err := lock(tx, tx.ForUpdate())
			return err
		})
		require.True(t, database.IsUnavailable(err), "%v", err)
		require.Equal(t, 5, runs)
		return db.Write(t.Context(), func(tx *database.Tx) error {
			n, err := lock(tx, tx.ForUpdateSkipLocked())
			require.Zero(t, n)
			return err
		})
	}))
}

// Two transactions lock two rows in opposite order. PostgreSQL chooses one as the victim, which succeeds at its second attempt.
func TestDeadlockIsResolved(t *testing.T) {
	db := openServer(t, database.Config{}, "lock_timeout", "10000", "deadlock_timeout", "10")
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		require.NoError(t, insertThing(tx, 1))
		return insertThing(tx, 2)
	}))
	add := func(tx *database.Tx, id int64) error {
		return tx.Pipeline(database.Statement{SQL: "UPDATE things SET size = size + 1 WHERE id = ?", Args: []any{id}})
	}
	results, ready := make(chan error, 2), make(chan struct{}, 2)
	both := make(chan struct{})
	for _, ids := range [][]int64{{1, 2}, {2, 1}} {
		go func() {
			results <- db.Write(t.Context(), func(tx *database.Tx) error {
				if err := add(tx, ids[0]); err != nil {
					return err
				}
				select {
				case ready <- struct{}{}:
				default:
				}
				<-both
				return add(tx, ids[1])
			})
		}()
	}
	within(t, ready)
	within(t, ready)
	close(both)
	require.NoError(t, within(t, results))
	require.NoError(t, within(t, results))
	var sum int64
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(scanOne("SELECT sum(size)::bigint FROM things", &sum))
	}))
	require.EqualValues(t, 4, sum)
}

func TestSlowStatementIsUnavailable(t *testing.T) {
	db := openServer(t, database.Config{})
	err := db.Read(t.Context(), func(tx *database.Tx) error {
		// Only this statement is bounded: opening the database may take longer than that on a busy machine.
		return tx.Pipeline(database.Statement{SQL: "SET LOCAL statement_timeout = 30"}, database.Statement{SQL: "SELECT pg_sleep(60)"})
	})
	require.True(t, database.IsUnavailable(err), "%v", err)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	err = db.Read(ctx, func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT pg_sleep(60)"})
	})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.False(t, database.IsUnavailable(err))
}

func TestDataErrorsOfPostgres(t *testing.T) {
	db := openServer(t, database.Config{})
	for name, statement := range map[string]database.Statement{
		"U+0000":       {SQL: "INSERT INTO things (id, owner) VALUES (1, ?)", Args: []any{"a\x00b"}},
		"not UTF-8":    {SQL: "INSERT INTO things (id, owner) VALUES (1, ?)", Args: []any{"a\xff"}},
		"out of range": {SQL: "INSERT INTO things (id, owner) VALUES (9223372036854775807 + 1, 'o')"},
	} {
		err := db.Write(t.Context(), func(tx *database.Tx) error { return tx.Pipeline(statement) })
		require.True(t, database.IsData(err), "%s: %v", name, err)
		require.False(t, database.IsUnavailable(err))
	}
}

// A statement prepared before a migration of another replica works after it.
func TestSchemaChangesUnderPreparedStatements(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	db := openServer(t, database.Config{URL: address, Connections: database.Connections{Write: 1, Read: 1}})
	other := openServer(t, database.Config{URL: address, Connections: database.Connections{Write: 1, Read: 1}})
	read := func() error {
		return db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "SELECT * FROM things"})
		})
	}
	require.NoError(t, read())
	require.NoError(t, other.Write(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "ALTER TABLE things ADD COLUMN later bigint"})
	}))
	require.NoError(t, read())
}

// The replicas' clocks agree, because they follow the database's and not the process's.
func TestReplicasAgreeOnTheTime(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	one, two := openServer(t, database.Config{URL: address}), openServer(t, database.Config{URL: address})
	const apart = time.Second
	before := one.Now()
	require.NoError(t, one.Write(t.Context(), func(tx *database.Tx) error {
		require.WithinRange(t, tx.Now(), before.Add(-apart), one.Now().Add(apart), "the server's time")
		return nil
	}))
	other := two.Now()
	require.WithinRange(t, other, before.Add(-apart), one.Now().Add(apart))
}
