package database

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"openintent/internal/database/migrations"
	"openintent/internal/loop"
)

// Config says which database to open and how.
type Config struct {
	// URL is sqlite:PATH, sqlite::memory: (a temporary file, removed on Close) or postgres://...
	URL string
	// Clock returns the time. Nil means the production clock: the process's clock on SQLite, the database's on PostgreSQL.
	Clock func() time.Time
	// Logger receives gorm's statements, without their values, at debug level; nil discards them.
	Logger *slog.Logger
	// SlowStatements is how long a statement, or the wait for a connection, must take to be logged as a warning, without
	// values; 0 means that nothing is measured.
	SlowStatements time.Duration
	// Hooks are for tests.
	Hooks Hooks
	// Connections bounds the connections. Zero means the defaults.
	Connections Connections
	// AsItIs makes Open refuse a database that lacks migrations, with ErrBehind, instead of applying them.
	AsItIs bool
}

// Hooks let tests inject faults into Write and observe the statements. They get the caller's context.
type Hooks struct {
	// BeforeCommit makes the transaction fail before anything is stored, if it returns an error.
	BeforeCommit func(ctx context.Context) error
	// AfterCommit makes a stored transaction look as if its acknowledgement was lost, if it returns an error.
	AfterCommit func(ctx context.Context) error
	// Statement is called before each statement runs. If it returns a function, that is called for each row of the result,
	// except for gorm's rows.
	Statement func(ctx context.Context, sql string) (row func())
	// Steps is called, on SQLite, with the steps of the statements that a transaction ran, after its end. It may be called simultaneously.
	Steps func(sql string, steps int64)
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect dialect
	reads   *line // callers' reads
	heavy   *line
	clock   func() time.Time
	server  *loop.Loop // measures the database's clock; nil if this DB does not follow it
	onClock bool       // whether transactions ask the database for the time
	hooks   Hooks
	gorm    *gorm.DB
	slow    *slowStatements
	onWrite []func(tx *Tx)
	// account finds who pays for what a transaction stores; nil if nobody does.
	account func(ctx context.Context) Account
	close   func() error // does its work only once

	commitPatience time.Duration // how long a caller waits for a commit
}

// Open opens the database and brings its schema up to date. It refuses a URL that it does not understand, a SQLite file that
// another process has open or that another program made, PostgreSQL before 15, a PostgreSQL server that takes no writes, and a
// schema that is newer than this program by more than one release. The error says why.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	return open(ctx, cfg, migrations.Current)
}

// open is Open with another schema.
func open(ctx context.Context, cfg Config, of migrations.Schema) (*DB, error) {
	cfg.Logger = cfg.logger()
	dialect, err := openDialect(ctx, cfg)
	if err != nil {
		return nil, explainFull(fmt.Errorf("opening the database: %w", err), cfg.URL)
	}
	db := &DB{dialect: dialect, clock: cfg.Clock, hooks: cfg.Hooks, commitPatience: commitPatience}
	db.reads, db.heavy = cfg.Connections.orDefaults(dialect.engine()).lines(dialect.engine())
	db.close = sync.OnceValue(db.finish)
	if err := db.start(ctx, cfg, of); err != nil {
		err = explainFull(fmt.Errorf("opening the %s database: %w", dialect.engine(), err), cfg.URL)
		return nil, errors.Join(err, db.Close())
	}
	return db, nil
}

// logger returns the Logger, or one that discards what it gets.
func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

func openDialect(ctx context.Context, cfg Config) (dialect, error) {
	switch scheme, rest, _ := strings.Cut(cfg.URL, ":"); scheme {
	case "sqlite":
		return openSQLite(rest, cfg.Connections.orDefaults(SQLite), cfg.Hooks.Steps)
	case "postgres", "postgresql":
		return openPostgres(ctx, cfg)
	}
	return nil, errUnknownURL
}

var errUnknownURL = errors.New("the database URL must begin with sqlite: or postgres://, " +
	"for example sqlite:openintent.db or postgres://user@localhost/openintent")

func (db *DB) start(ctx context.Context, cfg Config, of migrations.Schema) error {
	migrator, err := db.dialect.migrator()
	if err != nil {
		return err
	}
	log := cfg.Logger
	err = migrator.use(ctx, of, cfg.AsItIs, log)
	if err := errors.Join(err, migrator.pool.Close()); err != nil {
		return err
	}
	if err := db.dialect.prepare(ctx); err != nil {
		return err
	}
	if err := db.openGorm(ctx, log); err != nil {
		return err
	}
	db.slow = newSlowStatements(log, cfg.SlowStatements)
	return db.startClock(ctx, log)
}

// openGorm makes the gorm session from which each transaction derives its own.
func (db *DB) openGorm(ctx context.Context, log *slog.Logger) error {
	conn, err := db.dialect.acquire(ctx, readingOnce)
	if err != nil {
		return err
	}
	defer conn.leave(nil)
	db.gorm, err = gorm.Open(db.dialect.gorm(conn), &gorm.Config{
		Logger:                   statementLogger{log: log},
		SkipDefaultTransaction:   true,
		DisableNestedTransaction: true,
		DisableAutomaticPing:     true,
	})
	return err
}

func (db *DB) startClock(ctx context.Context, log *slog.Logger) error {
	switch {
	case db.clock != nil:
		return nil
	case db.dialect.clock() == "":
		db.clock = time.Now
		return nil
	}
	db.clock = time.Now // for the reads that ask for the database's time; they decide nothing
	db.onClock = true
	var clock serverClock
	measure := func(ctx context.Context) error { return clock.measure(ctx, db.askClock) }
	if err := measure(ctx); err != nil {
		return fmt.Errorf("reading the database's clock: %w", err)
	}
	db.clock = clock.now
	db.server = loop.New("following the database's clock", clockInterval, log, measure)
	db.server.Start()
	return nil
}

func (db *DB) askClock(ctx context.Context) (now time.Time, err error) {
	err = db.ReadStatement(ctx, func(tx *Tx) error { return tx.Pipeline(clockStatement(db.dialect, &now)) })
	return now, err
}

// Close refuses new work, waits a few seconds for transactions under way, and closes the connections. Closing twice is safe.
func (db *DB) Close() error { return db.close() }

func (db *DB) finish() error {
	if db.server != nil {
		db.server.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishPatience)
	defer cancel()
	return db.dialect.close(ctx)
}

// Now returns the time of the injected clock or the production clock, in UTC and whole microseconds. On PostgreSQL the
// production clock is the database's, which each replica follows closely enough to agree with the others to within one round
// trip.
func (db *DB) Now() time.Time { return db.clock().UTC().Truncate(time.Microsecond) }

// Ping reports whether the database answers. It does not wait for any reads.
func (db *DB) Ping(ctx context.Context) error {
	return db.read(ctx, pinging, nil, Reader{}, func(tx *Tx) error { return tx.Pipeline(Statement{SQL: "SELECT 1"}) })
}

// Moves counts how often another server of the database has become the primary while this DB was open. It counts only if the URL
// names several hosts.
func (db *DB) Moves() int64 { return db.dialect.moves() }

// Engine returns the engine that stores the data.
func (db *DB) Engine() Engine { return db.dialect.engine() }
