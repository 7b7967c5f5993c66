package database

import (
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"log/slog"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrator brings a schema up to date.
type migrator struct {
	pool    *sql.DB // up closes it at its end
	engine  Engine
	dialect goose.Dialect
	locker  lock.SessionLocker // nil if opening the database already excludes other processes
}

// up applies the migrations that the database lacks, and refuses a database that has more migrations than this program knows.
func (m *migrator) up(ctx context.Context, files fs.FS, log *slog.Logger) error {
	defer func() { _ = m.pool.Close() }()
	provider, err := m.provider(files, log)
	if err != nil {
		return err
	}
	current, newest, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("reading the schema's version: %w", err)
	}
	if current > newest {
		return fmt.Errorf("the database has schema version %d, but this program knows only versions up to %d; "+
			"run the newer program that wrote it, or open another database", current, newest)
	}
	applied, err := provider.Up(ctx)
	if err != nil {
		return fmt.Errorf("migrating the schema from version %d to %d: %w", current, newest, err)
	}
	if len(applied) > 0 {
		log.InfoContext(ctx, "migrated the database", "from", current, "to", newest)
	}
	return nil
}

func (m *migrator) provider(files fs.FS, log *slog.Logger) (*goose.Provider, error) {
	directory, err := fs.Sub(files, m.engine.String())
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{goose.WithDisableGlobalRegistry(true), goose.WithSlog(log)}
	if m.locker != nil {
		options = append(options, goose.WithSessionLocker(m.locker))
	}
	provider, err := goose.NewProvider(m.dialect, m.pool, directory, options...)
	if err != nil {
		return nil, fmt.Errorf("loading the migrations: %w", err)
	}
	return provider, nil
}
