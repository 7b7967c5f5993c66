package database

import (
	"context"
	"time"

	"gorm.io/gorm"
)

// Engine names a kind of database.
type Engine int

// The engines.
const (
	SQLite Engine = iota + 1
	PostgreSQL
)

// String returns the engine's name in lower case, as in URLs.
func (e Engine) String() string {
	switch e {
	case SQLite:
		return "sqlite"
	case PostgreSQL:
		return "postgres"
	}
	return "unknown"
}

// mode is the kind of a transaction.
type mode int

const (
	writing       mode = iota
	writingInLane      // in a Lane
	reading
	readingInTurn // for a caller
	readingOnce   // a single statement, which needs no transaction
	readingHeavily
	pinging // a single statement that reads no data
)

func (m mode) writes() bool { return m == writing || m == writingInLane }

// snapshot reports whether all statements read as of one moment.
func (m mode) snapshot() bool { return m == reading || m == readingInTurn || m == readingHeavily }

// long reports whether the mode's statements may run long, so that they end with the caller's context.
func (m mode) long() bool { return m == readingInTurn || m == readingHeavily }

// dialect is the part of the store that differs between the engines.
type dialect interface {
	engine() Engine
	// acquire waits in line for a connection of the mode's pool.
	acquire(ctx context.Context, mode mode) (connection, error)
	// begin returns the statement that opens a transaction, or "" if the mode needs none.
	begin(mode mode) string
	gorm(pool gorm.ConnPool) gorm.Dialector
	migrator() (*migrator, error)
	// prepare is called once the schema is up to date.
	prepare(ctx context.Context) error
	// clock returns the statement that reads the database's clock in microseconds, or "" if the process's clock is as good.
	clock() string

	forUpdate() string
	indexedBy(index string) string
	// alone returns the statement that tries to be alone under a name; none if a transaction that writes is alone anyway.
	alone(name string) []Statement
	// waitingPlaces returns the bound on transactions that wait for locks; nil if none ever waits.
	waitingPlaces() waitingPlaces
	// moves counts the failovers, see DB.Moves.
	moves() int64
	in(column string, values any) (sql string, arg any)
	inRows(columns []Column) (sql string, args []any)
	contains(column string) string
	keyed(key, number string, of Keyed) Selection
	insert(s shape, columns []Column) []Statement
	// updateRows returns the statements of an update from the columns' rows; text returns the SQL for a row source called v.
	updateRows(s shape, columns []Column, text func(rows string) string) []Statement

	// wordNumber is the column of search_words with the documents' numbers.
	wordNumber() string
	indexWords(documents []IndexedWords) []Statement
	emptyWords(others []string) []Statement
	mergeWords() []Statement
	purgeWords() []Statement
	commitLazily() []Statement
	findWords(tx *Tx, w *WordSearch, limit int) (numbers []int64, done bool, err error)

	close(ctx context.Context) error
}

// connection is a database connection that one transaction uses. It also serves as gorm's pool.
type connection interface {
	gorm.ConnPool
	// run executes the statements in order and stops at the first failure.
	run(ctx context.Context, statements []Statement) error
	// commit does what run does, with COMMIT at the end. If it cannot know whether the commit took place, its error says so.
	commit(ctx context.Context, statements []Statement) error
	// interruptible lets the end of the context interrupt statements under way, for drivers that would not do so by themselves. stop ends
	// that; it is nil if there is nothing to end.
	interruptible(ctx context.Context) (stop func())
	// leave returns the connection to its pool. If there is a doubt about the connection's state, leave closes it.
	leave(doubt error)
}

// Limits for both engines.
const (
	lockPatience   = 3 * time.Second
	commitPatience = 30 * time.Second
	finishPatience = 5 * time.Second // for a rollback, and for transactions under way at Close
)
