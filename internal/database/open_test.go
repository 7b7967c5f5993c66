package database_test

import (
	"context"
	"maps"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestOpenRefusesBadURLs(t *testing.T) {
	for _, address := range []string{
		"", "openintent.db", "mysql://root:secret@localhost/x", "sqlite", "sqlite:", "sqlite://openintent.db",
		"sqlite:/nowhere/at/all/openintent.db",
		"postgres://user:sec/ret@localhost:port/x",
		"postgres://user:secret@localhost:port/x",
		"postgres://user:secret@localhost/x?sslmode=secretive",
		"postgres://user:secret@127.0.0.1:1/x?sslmode=disable",
		"postgres://user@127.0.0.1:1/x?sslmode=bad&password=secret",
	} {
		t.Run(address, func(t *testing.T) {
			db, err := database.Open(t.Context(), database.Config{URL: address})
			require.Error(t, err)
			require.Nil(t, db)
			require.NotContains(t, strings.ReplaceAll(err.Error(), "secretive", ""), "secret")
			require.NotContains(t, err.Error(), "ret@")
			require.Contains(t, err.Error(), "opening the database: ")
		})
	}
}

func TestUnreachableServerIsUnavailable(t *testing.T) {
	_, err := database.Open(t.Context(), database.Config{URL: "postgres://user@127.0.0.1:1/x?sslmode=disable"})
	require.True(t, database.IsUnavailable(err), "%v", err)
}

func TestSecondOpenOfSQLiteFile(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, "an odd näme %41?&#.db")
	db := openScratch(t, database.Config{URL: "sqlite:" + path})
	require.FileExists(t, path)
	link := filepath.Join(folder, "link.db")
	require.NoError(t, os.Symlink(path, link))
	for _, name := range []string{path, link} {
		_, err := database.Open(t.Context(), database.Config{URL: "sqlite:" + name})
		require.ErrorContains(t, err, "another process")
		require.ErrorContains(t, err, "PostgreSQL")
	}
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }),
		"the refusals did no harm")
}

func TestSQLiteFileIsFreeAfterClose(t *testing.T) {
	address := databasetest.BlankURL(t, database.SQLite)
	for range 2 {
		db, err := database.OpenWithMigrations(t.Context(), database.Config{URL: address}, scratch)
		require.NoError(t, err)
		require.NoError(t, db.Close())
	}
	path := strings.TrimPrefix(address, "sqlite:")
	require.NoFileExists(t, path+"-wal", "SQLite wrote the log back into the file")
}

func TestMemoryIsATemporaryFile(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	files := func() []os.DirEntry {
		entries, err := os.ReadDir(os.TempDir())
		require.NoError(t, err)
		return entries
	}
	first, err := database.OpenWithMigrations(t.Context(), database.Config{URL: "sqlite::memory:"}, scratch)
	require.NoError(t, err)
	second, err := database.OpenWithMigrations(t.Context(), database.Config{URL: "sqlite::memory:"}, scratch)
	require.NoError(t, err)
	require.NoError(t, first.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
	require.EqualValues(t, 1, count(t, first, "things"))
	require.Zero(t, count(t, second, "things"), "each process has its own database")
	require.Len(t, files(), 2)
	require.NoError(t, first.Close())
	require.NoError(t, second.Close())
	require.Empty(t, files())
}

func TestCloseLeavesNoGoroutines(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			address := databasetest.URL(t, engine)
			before := goleak.IgnoreCurrent()
			db, err := database.Open(t.Context(), database.Config{URL: address})
			require.NoError(t, err)
			require.NoError(t, db.Ping(t.Context()))
			require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return tx.Gorm().Exec("SELECT 1").Error }))
			require.True(t, leads(t, db, "sweep"))
			require.NoError(t, db.Close())
			goleak.VerifyNone(t, before)
		})
	}
}

func TestSQLiteSettings(t *testing.T) {
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.SQLite)})
	settings := func(tx *database.Tx) error {
		for pragma, want := range map[string]string{"journal_mode": "wal", "synchronous": "2", "foreign_keys": "0"} {
			var got string
			require.NoError(t, tx.Pipeline(scanOne("PRAGMA "+pragma, &got)))
			require.Equal(t, want, got, pragma)
		}
		return nil
	}
	require.NoError(t, db.Write(t.Context(), settings))
	require.NoError(t, db.Read(t.Context(), settings))
	require.Error(t, db.Read(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{SQL: `SELECT "misspelt" FROM things`})
	}))
}

func TestMigrations(t *testing.T) {
	newer := maps.Clone(scratch)
	for _, engine := range databasetest.Engines() {
		newer[engine.String()+"/00002_more.sql"] = &fstest.MapFile{
			Data: []byte("-- +goose Up\nALTER TABLE things ADD COLUMN more bigint;\n"),
		}
	}
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			cfg := database.Config{URL: databasetest.BlankURL(t, engine)}
			open := func(files fstest.MapFS, work func(db *database.DB)) error {
				db, err := database.OpenWithMigrations(t.Context(), cfg, files)
				if err != nil {
					return err
				}
				work(db)
				return db.Close()
			}
			require.NoError(t, open(scratch, func(db *database.DB) {
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, 1) }))
			}))
			require.NoError(t, open(newer, func(db *database.DB) {
				require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
					return tx.Pipeline(database.Statement{SQL: "UPDATE things SET more = 1"})
				}))
				require.EqualValues(t, 1, count(t, db, "things"), "the rows survived")
			}))
			require.NoError(t, open(newer, func(*database.DB) {}), "nothing left to do")
			err := open(scratch, func(*database.DB) {})
			require.ErrorContains(t, err, "schema version 2")
			require.ErrorContains(t, err, "only versions up to 1")
			require.NoError(t, open(newer, func(*database.DB) {}), "the refusal did no harm")
		})
	}
}

func TestFailedMigrationLeavesNothing(t *testing.T) {
	broken := maps.Clone(scratch)
	for _, engine := range databasetest.Engines() {
		broken[engine.String()+"/00002_broken.sql"] = &fstest.MapFile{
			Data: []byte("-- +goose Up\nCREATE TABLE half (a bigint);\nnonsense;\n"),
		}
		t.Run(engine.String(), func(t *testing.T) {
			cfg := database.Config{URL: databasetest.BlankURL(t, engine)}
			_, err := database.OpenWithMigrations(t.Context(), cfg, broken)
			require.ErrorContains(t, err, "version:2")
			db := openScratch(t, cfg)
			require.Error(t, db.Read(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{SQL: "SELECT 1 FROM half"})
			}))
		})
	}
}

// The real migrations apply to an empty database, and the two engines end up with the same tables and columns, except for the word index.
func TestRealMigrations(t *testing.T) {
	databasetest.NeedsPostgreSQL(t) // because the test compares the engines
	columns := map[database.Engine][]string{}
	queries := map[database.Engine]string{
		database.SQLite: `SELECT t.name || '.' || c.name FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
			WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite%' AND t.name NOT LIKE 'goose%' AND t.name NOT LIKE 'search_words%' `,
		database.PostgreSQL: `SELECT table_name || '.' || column_name FROM information_schema.columns
			WHERE table_schema = 'public' AND table_name NOT LIKE 'goose%' AND table_name <> 'search_words'`,
	}
	for _, engine := range databasetest.Engines() {
		db := databasetest.Open(t, database.Config{URL: databasetest.BlankURL(t, engine)})
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{SQL: queries[engine], Scan: func(row database.Row) error {
				var name string
				err := row.Scan(&name)
				columns[engine] = append(columns[engine], name)
				return err
			}})
		}))
	}
	require.NotEmpty(t, columns[database.SQLite])
	require.ElementsMatch(t, columns[database.SQLite], columns[database.PostgreSQL])
}

// A server that finds the schema up to date has no need of a connection for migrations.
func TestMigrationsHaveAConnectionOnlyWhenSomeArePending(t *testing.T) {
	count, err := database.MigrationConnections(t.Context(), database.Config{URL: databasetest.URL(t, database.PostgreSQL)})
	require.NoError(t, err)
	require.Zero(t, count)
	count, err = database.MigrationConnections(t.Context(), database.Config{URL: databasetest.BlankURL(t, database.PostgreSQL)})
	require.NoError(t, err)
	require.Positive(t, count)
}

// If several replicas start simultaneously on the same fresh database, all of them find it migrated.
func TestReplicasOpenTogether(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	var all sync.WaitGroup
	results := make([]error, 4)
	for i := range results {
		all.Go(func() {
			db, err := database.OpenWithMigrations(t.Context(), database.Config{URL: address, Connections: database.Connections{Write: 1, Read: 1}}, scratch)
			if err != nil {
				results[i] = err
				return
			}
			results[i] = db.Write(t.Context(), func(tx *database.Tx) error { return insertThing(tx, int64(i)) })
			if err := db.Close(); err != nil {
				results[i] = err
			}
		})
	}
	all.Wait()
	for _, err := range results {
		require.NoError(t, err)
	}
}

// Texts compare by their bytes, although the default collation of the test databases is that of a language.
func TestTextComparesByBytes(t *testing.T) {
	each(t, nil, func(t *testing.T, db *database.DB) {
		sorted := []string{"", " a", "-b", "A", "B", "Z", "_", "a", "a b", "ab", "b", "z", "É", "é", "ｚ", "𝔸"}
		ids := make([]int64, len(sorted))
		for i := range ids {
			ids[i] = int64(len(sorted) - i)
		}
		var got []string
		require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(append(
				tx.Insert("things", database.Column{Name: "id", Values: ids}, database.Column{Name: "owner", Values: sorted}),
				database.Statement{SQL: "SELECT owner FROM things ORDER BY owner", Scan: func(row database.Row) error {
					var owner string
					err := row.Scan(&owner)
					got = append(got, owner)
					return err
				}})...)
		}))
		require.Equal(t, sorted, got)
		var above int64
		require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
			return tx.Pipeline(scanOne("SELECT count(*) FROM things WHERE owner > ?", &above, "Z"))
		}))
		require.EqualValues(t, 10, above)
	})
}

func TestTheDefaultCollationIsNotByBytes(t *testing.T) {
	db := openScratch(t, database.Config{URL: databasetest.BlankURL(t, database.PostgreSQL)})
	var linguistic bool
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(scanOne("SELECT CAST(? AS text) < CAST(? AS text)", &linguistic, "a", "B"))
	}))
	require.True(t, linguistic, "otherwise the tests could not notice a forgotten collation")
}

func TestPostgresSettings(t *testing.T) {
	address := databasetest.BlankURL(t, database.PostgreSQL)
	read := func(found map[string]string) func(tx *database.Tx) error {
		return func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: `SELECT name, setting FROM pg_settings WHERE name IN ('application_name', 'TimeZone', 'lock_timeout',
					'statement_timeout', 'idle_in_transaction_session_timeout')`,
				Scan: func(row database.Row) error {
					var name, setting string
					err := row.Scan(&name, &setting)
					found[name] = setting
					return err
				},
			})
		}
	}
	settings := func(address string) map[string]string {
		found, inLane := map[string]string{}, map[string]string{}
		db := openScratch(t, database.Config{URL: address})
		require.NoError(t, db.ReadStatement(t.Context(), read(found)))
		require.NoError(t, db.Lane().Write(t.Context(), read(inLane)))
		require.Equal(t, "100", inLane["lock_timeout"], "whoever uses the lane cannot wait")
		require.Equal(t, "10000", inLane["idle_in_transaction_session_timeout"])
		return found
	}
	require.Equal(t, map[string]string{"application_name": "openintent 0.3", "TimeZone": "UTC", "lock_timeout": "3000",
		"statement_timeout": "30000", "idle_in_transaction_session_timeout": "30000"}, settings(address))

	parsed, err := url.Parse(address)
	require.NoError(t, err)
	query := parsed.Query()
	query.Set("application_name", "mine")
	query.Set("lock_timeout", "77")
	query.Set("options", "-c statement_timeout=88")
	parsed.RawQuery = strings.ReplaceAll(query.Encode(), "+", "%20")
	require.Equal(t, map[string]string{"application_name": "mine", "TimeZone": "UTC", "lock_timeout": "77",
		"statement_timeout": "88", "idle_in_transaction_session_timeout": "30000"}, settings(parsed.String()))
}

// Pings and the lane have connections of their own, so neither waits for transactions that wait. On SQLite, the lane writes in turn.
func TestPingsAndTheLaneWaitForNobody(t *testing.T) {
	each(t, func(cfg *database.Config) { cfg.Connections = database.Connections{Write: 1, Read: 2} }, func(t *testing.T, db *database.DB) {
		var inside, all sync.WaitGroup
		release := make(chan struct{})
		occupy := func(*database.Tx) error {
			inside.Done()
			<-release
			return nil
		}
		inside.Add(3)
		all.Go(func() { assert.NoError(t, db.Write(t.Context(), occupy)) })
		for range 2 {
			all.Go(func() { assert.NoError(t, db.Read(t.Context(), occupy)) })
		}
		inside.Wait()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		assert.NoError(t, db.Ping(ctx))
		if db.Engine() == database.PostgreSQL {
			assert.NoError(t, db.Lane().Write(ctx, func(tx *database.Tx) error { return insertThing(tx, 1) }))
		}
		close(release)
		all.Wait()
	})
}

// A DB has as many places for transactions as its configuration says, and otherwise the usual number.
func TestPoolsAreAsLargeAsConfigured(t *testing.T) {
	for _, test := range []struct {
		connections  database.Connections
		writers      int
		reads, heavy int
	}{
		{database.Connections{}, 8, 8, 2},
		{database.Connections{Write: 3, Read: 2, Heavy: 5}, 3, 2, 5},
	} {
		each(t, func(cfg *database.Config) { cfg.Connections = test.connections }, func(t *testing.T, db *database.DB) {
			writers, reads := test.writers, test.reads
			if db.Engine() == database.SQLite {
				writers = 1
				if test.connections.Read == 0 {
					reads = 4
				}
			}
			freeWriters, freeReaders, freeHeavy := db.FreePlaces()
			require.Equal(t, []int{writers, reads, test.heavy}, []int{freeWriters, freeReaders, freeHeavy})
		})
	}
}
