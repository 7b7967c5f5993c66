package database_test

import (
	"context"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// withSettings returns the address with further options.
func withSettings(t *testing.T, address string, settings ...string) string {
	t.Helper()
	parsed, err := url.Parse(address)
	require.NoError(t, err)
	query := parsed.Query()
	for i := 0; i < len(settings); i += 2 {
		query.Set(settings[i], settings[i+1])
	}
	parsed.RawQuery = query.Encode()
	return parsed.String()
}

func TestTargetSessionAttributes(t *testing.T) {
	for _, attributes := range []string{"any", "primary", "read-write"} {
		t.Run(attributes, func(t *testing.T) {
			db := openServer(t, database.Config{}, "target_session_attrs", attributes)
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
			require.EqualValues(t, 1, count(t, db, "things"))
			require.Error(t, db.Read(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 2) }))
		})
	}
	for _, attributes := range []string{"standby", "read-only", "prefer-standby"} {
		t.Run(attributes, func(t *testing.T) {
			address := withSettings(t, databasetest.BlankURL(t, database.PostgreSQL), "target_session_attrs", attributes)
			_, err := database.Open(t.Context(), database.Config{URL: address})
			require.ErrorContains(t, err, "target_session_attrs="+attributes)
			require.ErrorContains(t, err, "read-write or primary")
		})
	}
}

// thingsOf returns the ids of the things in a database.
func thingsOf(t *testing.T, db *database.DB) (ids []int64) {
	t.Helper()
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: "SELECT id FROM things ORDER BY id", Scan: func(row database.Row) error {
			var id int64
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		}})
	}))
	return ids
}

// A standby is refused, even for reading. Of several hosts the primary is found, at the start and after another host took over.
func TestConnectionsLeadToThePrimary(t *testing.T) {
	one, two := databasetest.StartServer(t), databasetest.StartServer(t)
	first, second := openScratchAt(t, one), openScratchAt(t, two)
	insert := func(db *database.DB, id int64) error {
		return db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, id) })
	}
	require.NoError(t, insert(first, 1))
	require.NoError(t, insert(second, 2))
	both := openScratchAt(t, one, two)
	require.Equal(t, []int64{1}, thingsOf(t, both))

	one.Demote(t)
	require.Equal(t, []int64{2}, thingsOf(t, both), "it reads from the other server")
	require.NoError(t, insert(both, 3))
	require.Equal(t, []int64{2, 3}, thingsOf(t, both))
	require.True(t, database.IsUnavailable(first.Ping(t.Context())), "a standby lags behind")
	require.True(t, database.IsUnavailable(insert(first, 4)))
	for _, address := range []string{
		one.Maintenance(),
		withSettings(t, one.Maintenance(), "target_session_attrs", "read-write"),
		withSettings(t, one.Maintenance(), "target_session_attrs", "primary"),
	} {
		_, err := database.Open(t.Context(), database.Config{URL: address})
		require.ErrorContains(t, err, "takes no writes, as a standby does")
		require.True(t, database.IsUnavailable(err), "%v", err)
	}
	one.Promote(t)
	require.NoError(t, insert(first, 4), "writing works as soon as the server is the primary")
	require.Equal(t, []int64{1, 4}, thingsOf(t, first))
}

// openScratchAt opens the maintenance database on the first of the servers that is a primary.
func openScratchAt(t *testing.T, servers ...*databasetest.Server) *database.DB {
	t.Helper()
	hosts, ports := "", ""
	for i, server := range servers {
		parsed, err := url.Parse(server.Maintenance())
		require.NoError(t, err)
		if i > 0 {
			hosts, ports = hosts+",", ports+","
		}
		hosts, ports = hosts+parsed.Hostname(), ports+parsed.Port()
	}
	return openScratch(t, database.Config{
		URL: "postgres://postgres@/postgres?sslmode=disable&target_session_attrs=read-write&host=" + hosts + "&port=" + ports,
	})
}

// A write that finds its session read-only gives its connection up, and no other such connection is used again.
func TestReadOnlySessionsAreLeft(t *testing.T) {
	for _, attributes := range []string{"any", "primary", "read-write"} {
		t.Run(attributes, func(t *testing.T) {
			address := databasetest.BlankURL(t, database.PostgreSQL)
			db := openServer(t, database.Config{URL: address}, "target_session_attrs", attributes)
			readOnly := func(setting string) {
				conn, err := pgx.Connect(t.Context(), address)
				require.NoError(t, err)
				_, err = conn.Exec(t.Context(), "SET default_transaction_read_only = off")
				require.NoError(t, err)
				name := pgx.Identifier{conn.Config().Database}.Sanitize()
				_, err = conn.Exec(t.Context(), "ALTER DATABASE "+name+" SET default_transaction_read_only = "+setting)
				require.NoError(t, err)
				require.NoError(t, conn.Close(t.Context()))
			}
			readOnly("on")
			databasetest.KillConnections(t, address)
			if attributes != "read-write" { // with read-write, such a connection is refused from the start
				occupyWriters(t, db)
			}
			for name, write := range map[string]func(context.Context, func(*database.Tx) error) error{
				"Write": db.Write, "WriteAtOnce": db.Lane().WriteAtOnce,
			} {
				err := write(t.Context(), func(tx *database.Tx) error {
					tx.AfterCommit(func() { t.Error("nothing is stored") })
					tx.SendWithCommit(database.Statement{SQL: "DELETE FROM things"})
					return nil
				})
				require.True(t, database.IsUnavailable(err), "%s: %v", name, err)
				require.False(t, database.IsCommitUnknown(err))
			}
			if attributes != "read-write" {
				occupyWriters(t, db)
			}
			require.Zero(t, count(t, db, "things"), "the database can still be read")

			readOnly("off")
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Gorm().Create(&thing{ID: 1, Owner: "o"}).Error
			}))
			for id := range int64(16) {
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 2+id) }))
			}
		})
	}
}

// occupyWriters uses all connections for writing simultaneously, without writing.
func occupyWriters(t *testing.T, db *database.DB) {
	t.Helper()
	var inside, all sync.WaitGroup
	inside.Add(8)
	for range 8 {
		all.Go(func() {
			assert.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				err := tx.Pipeline(database.Statement{SQL: "SELECT 1"})
				inside.Done()
				inside.Wait()
				return err
			}))
		})
	}
	all.Wait()
}
