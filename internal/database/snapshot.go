package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"openintent/internal/database/migrations"
)

// ReadSnapshot runs fn on one snapshot of a database that exists, beside the servers that use it: a SQLite file is not locked, and
// nothing is written or brought up to date. fn may take as long as it wants, and may use tables as a whole. It must not use gorm.
// ReadSnapshot refuses a database whose schema is not that of this program.
func ReadSnapshot(ctx context.Context, address string, fn func(tx *Tx) error) error {
	dialect, err := openSnapshot(ctx, address)
	if err != nil {
		return fmt.Errorf("opening the database: %w", err)
	}
	db := &DB{dialect: dialect, clock: time.Now}
	if err = requireSchema(ctx, dialect, migrations.Current); err == nil {
		err = db.Read(ctx, fn)
	}
	return errors.Join(err, db.finish())
}

func openSnapshot(ctx context.Context, address string) (dialect, error) {
	path, err := existingFile(address)
	if errors.Is(err, ErrNotSQLite) {
		return openPostgresSnapshot(ctx, address)
	}
	if err != nil {
		return nil, err
	}
	return openSQLiteSnapshot(path)
}

func openSQLiteSnapshot(path string) (dialect, error) {
	pool, err := sql.Open("sqlite", readOnlyAddress(path))
	if err != nil {
		return nil, err
	}
	s := &sqliteFile{path: path, readOnly: true, writePool: pool, readPool: pool}
	s.writer, s.readers = s.connections(pool, 1), s.connections(pool, 1)
	s.heavy, s.ping = s.connections(pool, 1), s.connections(pool, 1)
	return s, nil
}

// openPostgresSnapshot opens a database for statements that run long and read whole tables.
func openPostgresSnapshot(ctx context.Context, address string) (dialect, error) {
	config, err := parsePostgres(address)
	if err != nil {
		return nil, err
	}
	for _, limit := range []string{"statement_timeout", "idle_in_transaction_session_timeout"} {
		config.RuntimeParams[limit] = "0"
	}
	for _, plan := range []string{"enable_seqscan", "enable_hashjoin", "enable_mergejoin"} {
		config.RuntimeParams[plan] = "on"
	}
	return connectPostgres(ctx, Config{URL: address, Connections: Connections{Write: 1, Read: 1, Heavy: 1}}, config)
}

// requireSchema refuses a database whose schema is older or newer than that of this program.
func requireSchema(ctx context.Context, dialect dialect, of migrations.Schema) error {
	migrator, err := dialect.migrator()
	if err != nil {
		return err
	}
	defer func() { _ = migrator.pool.Close() }()
	seen, err := migrator.look(ctx, of)
	switch {
	case err != nil:
		return err
	case len(seen.Pending) > 0:
		return fmt.Errorf("%w: %d of release %s; run openintent migrate first, or use the program that wrote it",
			ErrBehind, len(seen.Pending), seen.Release)
	case seen.Newer != "":
		return fmt.Errorf("the database has the schema of release %s, and this program that of %s; use the newer program",
			seen.Newer, seen.Release)
	}
	return nil
}
