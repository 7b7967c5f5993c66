package database

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"strings"
	"sync"
	"time"

	"gorm.io/gorm"

	"openintent/database/migrations"
	"openintent/loop"
)

// Config says which database to open and how.
type Config struct {
	// URL is sqlite:PATH, sqlite::memory: (a temporary file, removed on Close) or postgres://...
	URL string
	// Clock gives the time. Nil is the production clock: the process's on SQLite, the database's on PostgreSQL.
	Clock func() time.Time
	// Logger gets the statements, without their values, at debug level. Nil discards.
	Logger *slog.Logger
	// Hooks are for tests.
	Hooks Hooks
	// MaxConnections bounds the connections. PostgreSQL: 16 by default, half of them for writing and half for reading, at
	// least one each; SQLite: the readers, 4 by default, besides the one writer. Heavy reads have two more, Ping one, and on
	// PostgreSQL the lane one.
	MaxConnections int
}

// Hooks let tests inject faults into Write and see what the database is asked. They get the context of the caller.
type Hooks struct {
	// BeforeCommit returning an error makes the transaction fail before anything is stored.
	BeforeCommit func(ctx context.Context) error
	// AfterCommit returning an error makes a stored transaction look as if the acknowledgement was lost.
	AfterCommit func(ctx context.Context) error
	// Statement is told of each statement before it runs. What it gives, unless that is nil, is called for each row of the
	// result; gorm's rows are not counted.
	Statement func(ctx context.Context, sql string) (row func())
}

// DB is an open database. It is safe for concurrent use.
type DB struct {
	dialect dialect
	heavy   *line
	clock   func() time.Time
	server  *loop.Loop // measures the database's clock; nil when that is not followed
	onClock bool       // whether transactions ask the database for the time
	hooks   Hooks
	gorm    *gorm.DB
	onWrite []func(tx *Tx)
	close   func() error // once
}

// Open opens the database and brings its schema up to date. It refuses, saying why, a URL it does not understand, a
// SQLite file that another process has open or another program made, PostgreSQL before 15, a PostgreSQL server that takes no
// writes, and a schema newer than this program.
func Open(ctx context.Context, cfg Config) (*DB, error) {
	return open(ctx, cfg, migrations.Files)
}

// open takes the migrations from the directories sqlite and postgres of files.
func open(ctx context.Context, cfg Config, files fs.FS) (*DB, error) {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	dialect, err := openDialect(ctx, cfg)
	if err != nil {
		return nil, fmt.Errorf("opening the database: %w", err)
	}
	db := &DB{dialect: dialect, clock: cfg.Clock, hooks: cfg.Hooks}
	db.heavy = newLine(heavyConnections, heavyWaiting, heavyWaitingEach)
	db.close = sync.OnceValue(db.finish)
	if err := db.start(ctx, cfg.Logger, files); err != nil {
		return nil, errors.Join(fmt.Errorf("opening the %s database: %w", dialect.engine(), err), db.Close())
	}
	return db, nil
}

func openDialect(ctx context.Context, cfg Config) (dialect, error) {
	switch scheme, rest, _ := strings.Cut(cfg.URL, ":"); scheme {
	case "sqlite":
		return openSQLite(rest, cfg.MaxConnections)
	case "postgres", "postgresql":
		return openPostgres(ctx, cfg.URL, cfg.MaxConnections)
	}
	return nil, errors.New("the database URL must begin with sqlite: or postgres://, " +
		"for example sqlite:openintent.db or postgres://user@localhost/openintent")
}

func (db *DB) start(ctx context.Context, log *slog.Logger, files fs.FS) error {
	migrator, err := db.dialect.migrator()
	if err != nil {
		return err
	}
	if err := migrator.up(ctx, files, log); err != nil {
		return err
	}
	if err := db.dialect.prepare(ctx); err != nil {
		return err
	}
	if err := db.openGorm(ctx, log); err != nil {
		return err
	}
	return db.startClock(ctx, log)
}

// openGorm makes the gorm session from which each transaction's is derived.
func (db *DB) openGorm(ctx context.Context, log *slog.Logger) error {
	conn, err := db.dialect.acquire(ctx, readingOnce)
	if err != nil {
		return err
	}
	defer conn.leave(nil)
	db.gorm, err = gorm.Open(db.dialect.gorm(conn), &gorm.Config{
		Logger:                   statementLogger{log},
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

// Close turns new work away, waits a few seconds for transactions under way, and closes the connections. Closing twice
// is safe.
func (db *DB) Close() error { return db.close() }

func (db *DB) finish() error {
	if db.server != nil {
		db.server.Stop()
	}
	ctx, cancel := context.WithTimeout(context.Background(), finishPatience)
	defer cancel()
	return db.dialect.close(ctx)
}

// Now is the time, in UTC and whole microseconds: the injected clock's or the production clock's. On PostgreSQL
// that is the database's clock, followed closely enough that replicas agree within a round trip.
func (db *DB) Now() time.Time { return db.clock().UTC().Truncate(time.Microsecond) }

// Ping tells whether the database answers. It waits for nobody's reads.
func (db *DB) Ping(ctx context.Context) error {
	return db.read(ctx, pinging, func(tx *Tx) error { return tx.Pipeline(Statement{SQL: "SELECT 1"}) })
}

// Engine tells which engine stores the data.
func (db *DB) Engine() Engine { return db.dialect.engine() }
