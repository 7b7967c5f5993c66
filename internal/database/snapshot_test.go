package database_test

import (
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// A snapshot is read beside whoever has the database open, sees one moment, and changes nothing.
func TestReadSnapshot(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, address string) {
		db := databasetest.Open(t, database.Config{URL: address})
		states := func(tx *database.Tx) (n int64) {
			require.NoError(t, tx.Pipeline(scanOne("SELECT version FROM search_state", &n)))
			return n
		}
		require.NoError(t, database.ReadSnapshot(t.Context(), address, func(tx *database.Tx) error {
			before := states(tx)
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: "UPDATE search_state SET version = version + 1"})
			}))
			require.Equal(t, before, states(tx))
			return nil
		}))
		require.Error(t, database.ReadSnapshot(t.Context(), address, func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: "UPDATE search_state SET version = 100"})
		}))
		if db.Engine() == database.PostgreSQL {
			require.NoError(t, database.ReadSnapshot(t.Context(), address, func(tx *database.Tx) error {
				var limits []string
				err := tx.Pipeline(database.ReadValues(&limits, "SELECT setting FROM pg_settings WHERE name IN"+
					" ('statement_timeout', 'idle_in_transaction_session_timeout', 'enable_seqscan') ORDER BY name"))
				require.Equal(t, []string{"on", "0", "0"}, limits, "it may take as long as it wants, and read tables as a whole")
				return err
			}))
		}
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			require.EqualValues(t, 1, states(tx))
			return nil
		}))
	})
}

func TestReadSnapshotRefusesOtherSchemas(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			address := databasetest.BlankURL(t, engine)
			nothing := func(*database.Tx) error { return nil }
			openScratch(t, database.Config{URL: address})
			err := database.ReadSnapshot(t.Context(), address, nothing)
			require.ErrorIs(t, err, database.ErrBehind)
			require.ErrorContains(t, err, "run openintent migrate first")

			address = databasetest.BlankURL(t, engine)
			newer := fstest.MapFS{engine.String() + "/99999_later.sql": {Data: []byte("-- +goose Up\nCREATE TABLE later (a bigint);\n")}}
			db, err := database.OpenWithMigrations(t.Context(), database.Config{URL: address}, newer)
			require.NoError(t, err)
			t.Cleanup(func() { require.NoError(t, db.Close()) })
			require.ErrorContains(t, database.ReadSnapshot(t.Context(), address, nothing), "the newer program")
		})
	}
}

// An invariant reports each row that breaks it, counts the rows that it speaks of, and fails if its statement does.
func TestInvariantsFindWhatBreaksThem(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(
				database.Statement{SQL: "INSERT INTO things (id, owner) VALUES (1, 'o'), (2, 'o')"},
				database.Statement{SQL: "INSERT INTO pairs (a, b) VALUES (1, 'x'), (3, 'y'), (4, 'z')"},
			)
		}))
		check := func(invariant database.Invariant) (rows int64, places []string, err error) {
			err = db.Read(t.Context(), func(tx *database.Tx) error {
				rows, err = invariant.Check(tx, func(where string) { places = append(places, where) })
				return err
			})
			return rows, places, err
		}
		rows, places, err := check(database.Invariant{
			Of: "pairs", Broken: "FROM pairs p WHERE NOT EXISTS (SELECT 1 FROM things t WHERE t.id = p.a) ORDER BY p.a", At: []string{"p.a", "p.b", "p.n"},
		})
		require.NoError(t, err)
		require.EqualValues(t, 3, rows)
		require.Equal(t, []string{"a 3, b y, n ", "a 4, b z, n "}, places)

		_, places, err = check(database.Refers("pairs", "pairs", "a", "b"))
		require.NoError(t, err)
		require.Empty(t, places)
		_, _, err = check(database.Invariant{Of: "pairs", Broken: "FROM nowhere p", At: []string{"p.a"}})
		require.Error(t, err)
	})
}
