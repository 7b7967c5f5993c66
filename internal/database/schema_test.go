package database_test

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/database/migrations"
)

// upTo returns the schema that a program of a release knows, counted from 1. Each release after the first brings one migration.
func upTo(release int) migrations.Schema {
	of := migrations.Schema{Files: maps.Clone(scratch)}
	for i := range release {
		name := string(rune('1' + i))
		of.Releases = append(of.Releases, migrations.Release{Name: "0." + name, Newest: int64(i + 1)})
		for _, engine := range databasetest.Engines() {
			if i > 0 {
				of.Files.(fstest.MapFS)[engine.String()+"/0000"+name+"_more_"+name+".sql"] = &fstest.MapFile{
					Data: []byte("-- +goose Up\nALTER TABLE things ADD COLUMN more_" + name + " bigint;\n"),
				}
			}
		}
	}
	of.Releases[release-1].Newest = 0 // it is under way
	return of
}

// eachBlank runs a test with a database of each engine that has no schema yet. open lets a program of a release open it and close it.
func eachBlank(t *testing.T, run func(t *testing.T, cfg database.Config, open func(release int) error)) {
	t.Helper()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			cfg := database.Config{URL: databasetest.BlankURL(t, engine)}
			run(t, cfg, func(release int) error {
				db, err := database.OpenWithSchema(t.Context(), cfg, upTo(release))
				if err == nil {
					err = db.Close()
				}
				return err
			})
		})
	}
}

// in reads a column of a database, in order, with a program of a release.
func in[T any](t *testing.T, cfg database.Config, release int, column, table string) (values []T) {
	t.Helper()
	db, err := database.OpenWithSchema(t.Context(), cfg, upTo(release))
	require.NoError(t, err)
	defer func() { require.NoError(t, db.Close()) }()
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValues(&values, "SELECT "+column+" FROM "+table+" ORDER BY "+column))
	}))
	return values
}

// change changes the database behind the programs' backs.
func change(t *testing.T, cfg database.Config, release int, statements ...string) {
	t.Helper()
	db, err := database.OpenWithSchema(t.Context(), cfg, upTo(release))
	require.NoError(t, err)
	require.NoError(t, db.Write(t.Context(), func(tx *database.Tx) error {
		for _, statement := range statements {
			if err := tx.Pipeline(database.Statement{SQL: statement}); err != nil {
				return err
			}
		}
		return nil
	}))
	require.NoError(t, db.Close())
}

// A program serves a schema that is newer by one release, and refuses one that is newer by more, with a sentence that says what to do.
func TestAProgramServesTheSchemaOfTheNextRelease(t *testing.T) {
	eachBlank(t, func(t *testing.T, cfg database.Config, open func(int) error) {
		require.NoError(t, open(2))
		require.NoError(t, open(3))
		require.NoError(t, open(2), "the release before")
		require.Equal(t, []string{"0.1", "0.2", "0.3"}, in[string](t, cfg, 2, "name", "schema_releases"), "it has forgotten nothing")

		outlook, err := database.InspectFor(t.Context(), cfg, upTo(2))
		require.NoError(t, err)
		require.Equal(t, database.Outlook{Release: "0.2", Newer: "0.3"}, outlook)

		require.NoError(t, open(4))
		err = open(2)
		require.ErrorContains(t, err, "the releases 0.3, 0.4, and this program is of release 0.2")
		require.ErrorContains(t, err, "run a program of release 0.3 or a newer one")
		_, err = database.InspectFor(t.Context(), cfg, upTo(2))
		require.ErrorContains(t, err, "newer by one release at most")
		require.NoError(t, open(3), "the refusal did no harm")
		require.NoError(t, open(4))
	})
}

// While a release is under way, a program of an earlier state of it serves a database of a later state, and says that it is newer.
func TestALaterStateOfTheReleaseUnderWay(t *testing.T) {
	eachBlank(t, func(t *testing.T, cfg database.Config, open func(int) error) {
		later := upTo(3)
		later.Releases = later.Releases[:2]
		later.Releases[1].Newest = 0
		_, err := database.MigrateTo(t.Context(), cfg, later)
		require.NoError(t, err)
		outlook, err := database.InspectFor(t.Context(), cfg, upTo(2))
		require.NoError(t, err)
		require.Equal(t, database.Outlook{Release: "0.2", Newer: "0.2"}, outlook)
		require.NoError(t, open(2))
		require.Equal(t, []int64{1, 3}, in[int64](t, cfg, 2, "newest", "schema_releases"), "it has forgotten nothing")
	})
}

// A release that skips another one brings both, so older programs count both.
func TestSkippedReleasesCount(t *testing.T) {
	eachBlank(t, func(t *testing.T, _ database.Config, open func(int) error) {
		require.NoError(t, open(2))
		require.NoError(t, open(4))
		require.ErrorContains(t, open(2), "the releases 0.3, 0.4")
	})
}

// Programs of the first release refuse a number in goose_db_version that they do not know. The second release writes none, and the
// third, which they may no longer meet, does.
func TestTheFirstReleaseIsLetInByTheSecondAlone(t *testing.T) {
	eachBlank(t, func(t *testing.T, cfg database.Config, open func(int) error) {
		require.NoError(t, open(2))
		require.Equal(t, []int64{0, 1}, in[int64](t, cfg, 2, "version_id", "goose_db_version"))
		require.Equal(t, []int64{0, 2}, in[int64](t, cfg, 2, "version_id", "schema_versions"))
		require.NoError(t, open(1))
		require.NoError(t, open(3))
		require.Equal(t, []int64{0, 1, 1_000_000}, in[int64](t, cfg, 3, "version_id", "goose_db_version"))
		require.NoError(t, open(3))
		require.NoError(t, open(2), "the release before the third is still let in")
		require.Equal(t, []int64{0, 1, 1_000_000}, in[int64](t, cfg, 2, "version_id", "goose_db_version"), "and reopens nothing")
	})
}

// Programs between the first two releases wrote all numbers into goose_db_version. Such databases open, and the first release may use
// them afterwards.
func TestDatabasesFromBetweenTheReleasesOpen(t *testing.T) {
	eachBlank(t, func(t *testing.T, cfg database.Config, open func(int) error) {
		require.NoError(t, open(2))
		change(t, cfg, 2, "INSERT INTO goose_db_version (version_id, is_applied) SELECT 2, is_applied FROM goose_db_version WHERE version_id = 0",
			"DROP TABLE schema_versions", "DROP TABLE schema_releases", "INSERT INTO things (id, owner, more_2) VALUES (1, 'o', 7)")

		outlook, err := database.InspectFor(t.Context(), cfg, upTo(2))
		require.NoError(t, err)
		require.Empty(t, outlook.Pending, "what they applied counts")
		require.NoError(t, open(2))
		require.Equal(t, []int64{0, 1}, in[int64](t, cfg, 2, "version_id", "goose_db_version"))
		require.Equal(t, []int64{0, 2}, in[int64](t, cfg, 2, "version_id", "schema_versions"))
		require.Equal(t, []int64{7}, in[int64](t, cfg, 2, "more_2", "things"))
		require.NoError(t, open(3))
	})
}

// A program that may not migrate refuses a database that lacks migrations, and serves one that openintent migrate has brought up to
// date, or that is newer.
func TestADatabaseIsMigratedApartFromServing(t *testing.T) {
	eachBlank(t, func(t *testing.T, cfg database.Config, open func(int) error) {
		require.NoError(t, open(1))
		asItIs := cfg
		asItIs.AsItIs = true
		_, err := database.OpenWithSchema(t.Context(), asItIs, upTo(2))
		require.ErrorIs(t, err, database.ErrBehind)
		require.ErrorContains(t, err, "1 of release 0.2")
		require.ErrorContains(t, err, "run openintent migrate")

		pending := []database.Migration{{Number: 2, Name: "more_2", Release: "0.2"}, {Number: 3, Name: "more_3", Release: "0.3"}}
		for range 2 {
			outlook, err := database.InspectFor(t.Context(), cfg, upTo(3))
			require.NoError(t, err)
			require.Equal(t, database.Outlook{Release: "0.3", Pending: pending}, outlook)
		}
		outlook, err := database.MigrateTo(t.Context(), cfg, upTo(3))
		require.NoError(t, err)
		require.Equal(t, pending, outlook.Pending)
		outlook, err = database.MigrateTo(t.Context(), cfg, upTo(3))
		require.NoError(t, err)
		require.Equal(t, database.Outlook{Release: "0.3"}, outlook)
		for _, release := range []int{3, 2} {
			db, err := database.OpenWithSchema(t.Context(), asItIs, upTo(release))
			require.NoError(t, err)
			require.NoError(t, db.Close())
		}
	})
}

// A look at a database changes nothing: it makes neither tables nor files.
func TestInspectingChangesNothing(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			cfg := database.Config{URL: databasetest.BlankURL(t, engine)}
			for range 2 {
				outlook, err := database.InspectFor(t.Context(), cfg, upTo(1))
				require.NoError(t, err)
				require.Equal(t, []database.Migration{{Number: 1, Name: "things", Release: "0.1"}}, outlook.Pending)
			}
			if path, ok := strings.CutPrefix(cfg.URL, "sqlite:"); ok {
				entries, err := os.ReadDir(filepath.Dir(path))
				require.NoError(t, err)
				require.Empty(t, entries)
			}
		})
	}
}

// A migration that waits for a table lets those pass who wait behind it, and tries again.
func TestAMigrationGivesWay(t *testing.T) {
	cfg := database.Config{URL: databasetest.BlankURL(t, database.PostgreSQL)}
	db, err := database.OpenWithSchema(t.Context(), cfg, upTo(1))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })

	waits := make(chan struct{}, 100)
	migrated := make(chan error, 1)
	require.NoError(t, db.Read(t.Context(), func(tx *database.Tx) error { // which holds a lock on the table until it ends
		var n int64
		require.NoError(t, tx.Pipeline(scanOne("SELECT count(*) FROM things", &n)))
		migrating := cfg
		migrating.Logger = slog.New(told{slog.DiscardHandler, waits})
		go func() {
			_, err := database.MigrateTo(t.Context(), migrating, upTo(2))
			migrated <- err
		}()
		within(t, waits)
		require.EqualValues(t, 0, count(t, db, "things"), "others read the table meanwhile")
		return nil
	}))
	require.NoError(t, within(t, migrated))
}

// A migration may take very long, as the building of an index does: what bounds the server's statements does not bound it.
func TestAMigrationHasTime(t *testing.T) {
	files := maps.Clone(scratch)
	files["postgres/00002_limits.sql"] = &fstest.MapFile{Data: []byte("-- +goose Up\nINSERT INTO things (id, owner, name)" +
		" SELECT row_number() OVER (ORDER BY name), name, setting FROM pg_settings WHERE name IN" +
		" ('idle_in_transaction_session_timeout', 'lock_timeout', 'statement_timeout');\n")}
	db, err := database.OpenWithMigrations(t.Context(), database.Config{URL: databasetest.BlankURL(t, database.PostgreSQL)}, files)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	var limits []string
	require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		return tx.Pipeline(database.ReadValues(&limits, "SELECT name FROM things ORDER BY id"))
	}))
	require.Equal(t, []string{"0", "2000", "0"}, limits)
}

// told is a log that tells about each warning.
type told struct {
	slog.Handler
	about chan struct{}
}

func (told) Enabled(context.Context, slog.Level) bool { return true }

func (h told) Handle(_ context.Context, record slog.Record) error {
	if record.Level == slog.LevelWarn {
		h.about <- struct{}{}
	}
	return nil
}

// The real schema of a fresh database keeps programs of release 0.1 out: they refuse a number that they do not know.
func TestAFreshDatabaseKeepsRelease01Out(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			db := databasetest.Open(t, database.Config{URL: databasetest.BlankURL(t, engine)})
			var newest int64
			require.NoError(t, db.ReadStatement(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(scanOne("SELECT max(version_id) FROM goose_db_version", &newest))
			}))
			require.EqualValues(t, 1_000_000, newest)
		})
	}
}
