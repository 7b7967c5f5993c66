package databasetest

import (
	"context"
	"hash/fnv"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"openintent/internal/database"
)

// onlySQLite is the environment variable with which make check leaves PostgreSQL out. make test, which every change must pass,
// does not set it.
const onlySQLite = "OPENINTENT_TEST_ONLY_SQLITE"

// everyEngine is the environment variable with which make engines has the tests run on each engine that otherwise take one (OneEngine).
const everyEngine = "OPENINTENT_TEST_EVERY_ENGINE"

// inMemory is the environment variable that names a folder in memory for SQLite's files. Whoever sets it removes the folder. On a
// disk, SQLite waits at each commit.
const inMemory = "OPENINTENT_TEST_MEMORY"

// Engines returns the engines that every store test runs on.
func Engines() []database.Engine {
	if os.Getenv(onlySQLite) != "" {
		return []database.Engine{database.SQLite}
	}
	return []database.Engine{database.SQLite, database.PostgreSQL}
}

// oneEngine is set by OneEngine.
var oneEngine atomic.Bool

// OneEngine lets each test of this process that calls Each, EachURL or EnginesOf take one engine; its name decides which. Call it from TestMain
// in packages about what lies in front of the store: doors, pages and clients. The store's own tests show that a server gives the same answers
// on both.
func OneEngine() { oneEngine.Store(!EveryEngine()) }

// onOneEngine has the names of the tests that have called OneEngineOf.
var onOneEngine sync.Map

// OneEngineOf lets this test take one engine, as OneEngine does for all tests of a process. It is for tests about what is decided in front of
// the store that stand beside tests about the store.
func OneEngineOf(t *testing.T) {
	t.Helper()
	if EveryEngine() {
		return
	}
	onOneEngine.Store(t.Name(), nil)
	t.Cleanup(func() { onOneEngine.Delete(t.Name()) })
}

// EveryEngine reports whether make engines runs the tests.
func EveryEngine() bool { return os.Getenv(everyEngine) != "" }

// EnginesOf returns the engines that a test takes: both, or one if OneEngine or OneEngineOf was called for it.
func EnginesOf(t *testing.T) []database.Engine {
	engines := Engines()
	_, one := onOneEngine.Load(t.Name())
	if !one && !oneEngine.Load() || len(engines) == 1 {
		return engines
	}
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(t.Name()))
	i := hash.Sum32() % uint32(len(engines))
	return engines[i : i+1]
}

// Each runs a test on a fresh database of each engine that it takes, as subtests named after the engines.
func Each(t *testing.T, run func(t *testing.T, db *database.DB)) {
	t.Helper()
	EachURL(t, func(t *testing.T, url string) {
		run(t, Open(t, database.Config{URL: url}))
	})
}

// EachURL is Each for tests that open the fresh database themselves: with a clock, with hooks, or several times.
func EachURL(t *testing.T, run func(t *testing.T, url string)) {
	t.Helper()
	for _, engine := range EnginesOf(t) {
		t.Run(engine.String(), func(t *testing.T) { run(t, URL(t, engine)) })
	}
}

// Open opens a database and closes it when the test ends.
func Open(tb testing.TB, cfg database.Config) *database.DB {
	tb.Helper()
	db, err := database.Open(context.Background(), cfg)
	if err != nil {
		tb.Fatalf("opening the test's database: %v", err)
	}
	tb.Cleanup(func() {
		if err := db.Close(); err != nil {
			tb.Errorf("closing the test's database: %v", err)
		}
	})
	return db
}

// URL returns the address of a fresh database with the current schema and no rows, which is removed when the test ends. On
// PostgreSQL a test can open it several times simultaneously.
func URL(tb testing.TB, engine database.Engine) string {
	tb.Helper()
	if engine == database.PostgreSQL {
		return postgresURL(tb, true)
	}
	template, err := sqliteTemplate()
	if err != nil {
		tb.Fatalf("making the SQLite template: %v", err)
	}
	path := sqlitePath(tb)
	if err := os.WriteFile(path, template, 0o600); err != nil {
		tb.Fatal(err)
	}
	return "sqlite:" + path
}

// BlankURL is URL for a database without even a schema, for tests of migrations.
func BlankURL(tb testing.TB, engine database.Engine) string {
	tb.Helper()
	if engine == database.PostgreSQL {
		return postgresURL(tb, false)
	}
	return "sqlite:" + sqlitePath(tb)
}

// sqlitePath is where a test's file may be, in a folder that is removed when the test ends.
func sqlitePath(tb testing.TB) string {
	tb.Helper()
	const name = "openintent.db"
	parent := os.Getenv(inMemory)
	if parent == "" {
		return filepath.Join(tb.TempDir(), name)
	}
	folder, err := os.MkdirTemp(parent, "sqlite-")
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := os.RemoveAll(folder); err != nil {
			tb.Errorf("removing the test's database: %v", err)
		}
	})
	return filepath.Join(folder, name)
}

// sqliteTemplate returns the content of a migrated file.
var sqliteTemplate = sync.OnceValues(func() ([]byte, error) {
	folder, err := os.MkdirTemp("", "openintent-template-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	path := filepath.Join(folder, "template.db")
	db, err := database.Open(context.Background(), database.Config{URL: "sqlite:" + path})
	if err != nil {
		return nil, err
	}
	if err := db.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})
