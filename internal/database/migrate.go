package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"openintent/internal/database/migrations"
)

const (
	// migrationLockWait is how long a migration waits for a lock at a time. Whoever wants the table meanwhile waits behind it, so it
	// gives up soon, lets the others pass, and tries again.
	migrationLockWait = 2 * time.Second
	// migrationPatience is how long it tries.
	migrationPatience = 3 * time.Minute
	migrationPause    = time.Second
)

// ErrBehind refuses to open a database that lacks migrations, if the program may not apply them.
var ErrBehind = errors.New("the database lacks migrations")

// migrator brings a schema up to date.
type migrator struct {
	pool    *sql.DB // applies migrations, which may take very long
	books   *sql.DB // reads the books
	engine  Engine
	dialect goose.Dialect
	locker  lock.SessionLocker // nil if opening the database already excludes other processes
}

// Inspect says how a database's schema compares with the program's. It changes nothing. The URL of a SQLite file that does not exist
// means an empty database.
func Inspect(ctx context.Context, cfg Config) (Outlook, error) {
	return inspect(ctx, cfg, migrations.Current)
}

func inspect(ctx context.Context, cfg Config, of migrations.Schema) (Outlook, error) {
	if path, ok := strings.CutPrefix(cfg.URL, "sqlite:"); ok && path != "" {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			known, err := newSchema(of, SQLite)
			if err != nil {
				return Outlook{}, err
			}
			return known.outlook(books{})
		}
	}
	return withMigrator(ctx, cfg, func(m *migrator) (Outlook, error) {
		seen, err := m.look(ctx, of)
		return seen.Outlook, err
	})
}

// Migrate brings the schema of a database up to date, and says what it found pending and applied.
func Migrate(ctx context.Context, cfg Config) (Outlook, error) {
	return migrate(ctx, cfg, migrations.Current)
}

func migrate(ctx context.Context, cfg Config, of migrations.Schema) (Outlook, error) {
	return withMigrator(ctx, cfg, func(m *migrator) (Outlook, error) { return m.up(ctx, of, cfg.logger()) })
}

// withMigrator opens a database for its schema alone.
func withMigrator(ctx context.Context, cfg Config, do func(m *migrator) (Outlook, error)) (outlook Outlook, err error) {
	dialect, err := openDialect(ctx, cfg)
	if err != nil {
		return outlook, fmt.Errorf("opening the database: %w", err)
	}
	defer func() { err = errors.Join(err, dialect.close(context.WithoutCancel(ctx))) }()
	m, err := dialect.migrator()
	if err != nil {
		return outlook, err
	}
	defer func() { _ = m.pool.Close() }()
	if outlook, err = do(m); err != nil {
		err = fmt.Errorf("the %s database: %w", dialect.engine(), err)
	}
	return outlook, err
}

// view is what a migrator sees of a database.
type view struct {
	Outlook
	known *knownSchema
	// upToDate is true if there is nothing to do, not even in the books.
	upToDate bool
}

// look reads the books and compares them with the program's schema.
func (m *migrator) look(ctx context.Context, of migrations.Schema) (seen view, err error) {
	if seen.known, err = newSchema(of, m.engine); err != nil {
		return seen, err
	}
	found, err := m.readBooks(ctx)
	if err != nil {
		return seen, fmt.Errorf("reading the schema's version: %w", err)
	}
	seen.Outlook, err = seen.known.outlook(found)
	seen.upToDate = len(seen.Pending) == 0 && seen.known.kept(found)
	return seen, err
}

// use makes sure that the program can use the schema. It applies what is pending, or refuses the database if it may not.
func (m *migrator) use(ctx context.Context, of migrations.Schema, asItIs bool, log *slog.Logger) error {
	if !asItIs {
		_, err := m.up(ctx, of, log)
		return err
	}
	seen, err := m.look(ctx, of)
	if err == nil && len(seen.Pending) > 0 {
		err = fmt.Errorf("%w: %d of release %s, and the server may not apply them (OPENINTENT_MIGRATE=false); run openintent migrate first",
			ErrBehind, len(seen.Pending), seen.Release)
	}
	return err
}

// up applies the migrations that the database lacks, and says which it lacked.
func (m *migrator) up(ctx context.Context, of migrations.Schema, log *slog.Logger) (Outlook, error) {
	seen, err := m.look(ctx, of)
	if err != nil || seen.upToDate {
		return seen.Outlook, err
	}
	conn, err := m.pool.Conn(ctx)
	if err != nil {
		return seen.Outlook, err
	}
	defer func() { _ = conn.Close() }()
	if m.locker != nil {
		if err := m.locker.SessionLock(ctx, conn); err != nil {
			return seen.Outlook, fmt.Errorf("waiting for another program that migrates the database: %w", err)
		}
		defer func() { _ = m.locker.SessionUnlock(context.WithoutCancel(ctx), conn) }()
		if seen, err = m.look(ctx, of); err != nil || seen.upToDate { // another program may have been faster
			return seen.Outlook, err
		}
	}
	return seen.Outlook, m.apply(ctx, seen, conn, log)
}

// apply applies what is pending, book by book. The connection holds the lock.
func (m *migrator) apply(ctx context.Context, seen view, conn *sql.Conn, log *slog.Logger) error {
	known := seen.known
	last := known.lastInFirstBook()
	first, err := m.provider(known, firstBook, func(number int64) bool { return number <= last })
	if err != nil {
		return err
	}
	later, err := m.provider(known, laterBook, func(number int64) bool { return number > last })
	if err != nil {
		return err
	}
	if err := m.insist(ctx, first, log); err != nil {
		return err
	}
	if later != nil {
		if _, _, err := later.GetVersions(ctx); err != nil { // which makes the book
			return fmt.Errorf("making the table %s: %w", laterBook, err)
		}
	}
	if err := known.write(ctx, conn, later != nil); err != nil {
		return fmt.Errorf("noting the release %s in the database: %w", known.release(), err)
	}
	if err := m.insist(ctx, later, log); err != nil {
		return err
	}
	if len(seen.Pending) > 0 {
		log.InfoContext(ctx, "migrated the database", "release", seen.Release, "migrations", len(seen.Pending))
	}
	return nil
}

// provider returns goose's provider of the migrations that belong into a book; nil if there are none.
func (m *migrator) provider(known *knownSchema, book string, belongs func(number int64) bool) (*goose.Provider, error) {
	var others []int64
	for _, migration := range known.migrations {
		if !belongs(migration.Number) {
			others = append(others, migration.Number)
		}
	}
	if len(others) == len(known.migrations) {
		return nil, nil
	}
	provider, err := goose.NewProvider(m.dialect, m.pool, known.files, goose.WithDisableGlobalRegistry(true),
		goose.WithTableName(book), goose.WithExcludeVersions(others))
	if err != nil {
		return nil, fmt.Errorf("loading the migrations: %w", err)
	}
	return provider, nil
}

// insist applies a book's migrations. If one cannot get a lock on a table soon, it gives way and tries again.
func (m *migrator) insist(ctx context.Context, provider *goose.Provider, log *slog.Logger) error {
	if provider == nil {
		return nil
	}
	for begun := time.Now(); ; {
		_, err := provider.Up(ctx)
		switch {
		case err == nil:
			return nil
		case !isConflict(err) || time.Since(begun) > migrationPatience:
			return fmt.Errorf("migrating the schema: %w", err)
		}
		log.WarnContext(ctx, "a migration waits for a table that others use; it tries again", "error", err)
		if !pause(ctx, migrationPause) {
			return ctx.Err()
		}
	}
}
