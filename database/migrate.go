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

	"openintent/database/migrations"
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
	pool    *sql.DB
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
	outlook, err := withMigrator(ctx, cfg, func(m *migrator) (Outlook, error) {
		_, outlook, err := m.look(ctx, of)
		return outlook, err
	})
	return outlook, err
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

// look reads the books and compares them with the program's schema.
func (m *migrator) look(ctx context.Context, of migrations.Schema) (known *knownSchema, outlook Outlook, err error) {
	if known, err = newSchema(of, m.engine); err != nil {
		return nil, outlook, err
	}
	found, err := m.readBooks(ctx)
	if err != nil {
		return nil, outlook, fmt.Errorf("reading the schema's version: %w", err)
	}
	outlook, err = known.outlook(found)
	if err == nil && len(outlook.Pending) == 0 && known.kept(found) {
		known = nil
	}
	return known, outlook, err
}

// use makes sure that the program can use the schema. It applies what is pending, or refuses the database if it may not.
func (m *migrator) use(ctx context.Context, of migrations.Schema, asItIs bool, log *slog.Logger) error {
	if !asItIs {
		_, err := m.up(ctx, of, log)
		return err
	}
	_, outlook, err := m.look(ctx, of)
	if err == nil && len(outlook.Pending) > 0 {
		err = fmt.Errorf("%w: %d of release %s, and the server may not apply them (OPENINTENT_MIGRATE=false); run openintent migrate first",
			ErrBehind, len(outlook.Pending), outlook.Release)
	}
	return err
}

// up applies the migrations that the database lacks, and says which it lacked.
func (m *migrator) up(ctx context.Context, of migrations.Schema, log *slog.Logger) (Outlook, error) {
	known, outlook, err := m.look(ctx, of)
	if err != nil || known == nil {
		return outlook, err
	}
	conn, err := m.pool.Conn(ctx)
	if err != nil {
		return outlook, err
	}
	defer func() { _ = conn.Close() }()
	if m.locker != nil {
		if err := m.locker.SessionLock(ctx, conn); err != nil {
			return outlook, fmt.Errorf("waiting for another program that migrates the database: %w", err)
		}
		defer func() { _ = m.locker.SessionUnlock(context.WithoutCancel(ctx), conn) }()
		if known, outlook, err = m.look(ctx, of); err != nil || known == nil { // another program may have been faster
			return outlook, err
		}
	}
	return outlook, m.apply(ctx, known, conn, outlook, log)
}

// apply applies what is pending, book by book. The connection holds the lock.
func (m *migrator) apply(ctx context.Context, known *knownSchema, conn *sql.Conn, outlook Outlook, log *slog.Logger) error {
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
	if len(outlook.Pending) > 0 {
		log.InfoContext(ctx, "migrated the database", "release", outlook.Release, "migrations", len(outlook.Pending))
	}
	return nil
}

// provider returns goose's view of the migrations that belong into a book; nil if there are none.
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
		case !isConflict(err) || time.Now().Sub(begun) > migrationPatience:
			return fmt.Errorf("migrating the schema: %w", err)
		}
		log.WarnContext(ctx, "a migration waits for a table that others use; it tries again", "error", err)
		if !pause(ctx, migrationPause) {
			return ctx.Err()
		}
	}
}
