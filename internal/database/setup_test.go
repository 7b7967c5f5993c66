package database_test

import (
	"context"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

const patience = 20 * time.Second

// scratch is a schema for these tests only.
var scratch = fstest.MapFS{
	"sqlite/00001_things.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (
    id    integer PRIMARY KEY,
    owner text NOT NULL,
    name  text,
    size  integer CHECK (size IS NULL OR size >= 0),
    body  blob,
    big   boolean
);
CREATE UNIQUE INDEX things_name ON things (owner, name);
CREATE TABLE pairs (a integer NOT NULL, b text NOT NULL, n integer, PRIMARY KEY (a, b)) WITHOUT ROWID;
`)},
	"postgres/00001_things.sql": {Data: []byte(`-- +goose Up
CREATE TABLE things (
    id    bigint PRIMARY KEY,
    owner text COLLATE "C" NOT NULL,
    name  text COLLATE "C",
    size  bigint CHECK (size >= 0),
    body  bytea,
    big   boolean
);
CREATE UNIQUE INDEX things_name ON things (owner, name);
CREATE TABLE pairs (a bigint NOT NULL, b text COLLATE "C" NOT NULL, n bigint, PRIMARY KEY (a, b));
`)},
}

// thing is gorm's model of a row.
type thing struct {
	ID    int64 `gorm:"primaryKey;autoIncrement:false"`
	Owner string
	Name  *string
	Size  *int64
	Body  []byte
	Big   *bool
}

// each runs a test on both engines with the scratch schema; adjust may change how the database is opened.
func each(t *testing.T, adjust func(cfg *database.Config), run func(t *testing.T, db *database.DB)) {
	t.Helper()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			cfg := database.Config{URL: databasetest.BlankURL(t, engine)}
			if adjust != nil {
				adjust(&cfg)
			}
			run(t, openScratch(t, cfg))
		})
	}
}

func openScratch(t *testing.T, cfg database.Config) *database.DB {
	t.Helper()
	db, err := database.OpenWithMigrations(t.Context(), cfg, scratch)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func insertThing(tx *database.Tx, id int64) error {
	return tx.Pipeline(database.Statement{
		SQL: "INSERT INTO things (id, owner, size) VALUES (?, ?, 0)", Args: []any{id, "o"},
	})
}

func count(t *testing.T, db *database.DB, table string) (n int64) {
	t.Helper()
	require.NoError(t, db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(scanOne("SELECT count(*) FROM "+table, &n))
	}))
	return n
}

// scanOne returns a statement that reads one value.
func scanOne(sql string, into any, args ...any) database.Statement {
	return database.Statement{SQL: sql, Args: args, Scan: func(row database.Row) error { return row.Scan(into) }}
}

// within receives from a channel, and fails the test if nothing comes in time.
func within[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case value := <-ch:
		return value
	case <-time.After(patience):
		require.FailNow(t, "nothing happened in time")
		panic("unreachable")
	}
}
