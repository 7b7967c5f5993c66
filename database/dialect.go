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

// String gives the engine's name in lower case, as it stands in URLs.
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
	writingInLane      // as in a Lane
	reading
	readingOnce // a single statement, which needs no transaction
	readingHeavily
	pinging // a single statement that asks for nothing
)

func (m mode) writes() bool { return m == writing || m == writingInLane }

// dialect is all that differs between the engines.
type dialect interface {
	engine() Engine
	// acquire waits in line for a connection of the mode's pool.
	acquire(ctx context.Context, mode mode) (connection, error)
	// begin is the statement that opens a transaction.
	begin(mode mode) string
	gorm(pool gorm.ConnPool) gorm.Dialector
	migrator() (*migrator, error)
	// prepare is called once the schema is up to date.
	prepare(ctx context.Context) error
	// clock is the statement that reads the database's clock in microseconds; "" when the process's clock is as good.
	clock() string

	forUpdate() string
	// waitingPlaces bound how many transactions wait for locks; nil where none does.
	waitingPlaces() waitingPlaces
	in(column string, values any) (sql string, arg any)
	inRows(columns []Column) (sql string, args []any)
	insert(table string, columns []Column, suffix string) []Statement
	// updateRows makes the statements of an update from the columns' rows; text makes one from a row source called v.
	updateRows(columns []Column, text func(rows string) string) []Statement

	close(ctx context.Context) error
}

// connection is a database connection in use by one transaction. It is gorm's pool as well.
type connection interface {
	gorm.ConnPool
	// run executes the statements in order and stops at the first failure.
	run(ctx context.Context, statements []Statement) error
	// commit is run with COMMIT at the end. When it cannot tell whether the commit took place, the error says so.
	commit(ctx context.Context, statements []Statement) error
	// leave gives the connection back; with a doubt about its state it is closed.
	leave(doubt error)
}

// Limits that hold for both engines.
const (
	lockPatience   = 3 * time.Second
	commitPatience = 30 * time.Second
	finishPatience = 5 * time.Second // for a rollback, and for transactions under way at Close
)
