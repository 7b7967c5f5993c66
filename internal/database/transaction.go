package database

import (
	"context"
	"fmt"
	"time"

	"gorm.io/gorm"
)

// writeAttempts is how many times Write runs its closure at most.
const writeAttempts = 5

// Tx is a transaction, or a single read, that a closure works with. It must not be used after the closure has returned, nor by
// several goroutines simultaneously.
type Tx struct {
	db   *DB
	ctx  context.Context
	mode mode
	conn connection
	gorm *gorm.DB
	// waited is how long it took to get the connection, if slow statements are logged.
	waited time.Duration
	// line is where the transaction must leave, or nil.
	line *line
	by   Reader
	// interrupts stops what interrupts the statements when the context ends, or is nil.
	interrupts func()
	// readAt is the time by which a reader decides. It was read before the first statement.
	readAt time.Time

	begin        string // the statement that still has to open the transaction; "" once it was sent, or if none is needed
	begun        bool
	atOnce       bool          // no statement may be sent before the commit
	waiting      waitingPlaces // where it has a place; nil if it does not wait for locks
	impatient    bool          // true if it found no place to wait for locks
	failed       error         // the first failure of a statement; the transaction cannot go on after it
	local        map[any]any
	beforeCommit []func() error
	withCommit   []Statement
	afterCommit  []func()
	tally        *tally // nil if nobody pays for what is stored
}

// Write runs fn in a transaction and commits it if fn returns nil. After an error or a panic it rolls everything back.
// If there is a conflict with another transaction, or the connection leads to a server that takes no writes, Write runs fn
// again: up to five times, or for fifteen seconds if too many transactions wait for locks. So fn must not keep anything from
// an earlier run. If IsCommitUnknown recognizes the error, the commit may have been stored.
func (db *DB) Write(ctx context.Context, fn func(tx *Tx) error) error {
	begun, pauses := time.Now(), growingPauses(longestRetryPause)
	for attempt := 1; ; attempt++ {
		tx, err := db.write(ctx, writing, fn)
		if tx.done(err) {
			return err
		}
		switch {
		case !IsConflict(err) && (tx == nil || !IsConflict(tx.failed)):
			return err
		case tx != nil && tx.impatient && time.Since(begun) < waitingPatience:
			attempt--
		case attempt >= writeAttempts:
			return err
		}
		if !pause(ctx, pauses.NextBackOff()) {
			return err
		}
	}
}

// write makes one attempt. The transaction that it returns has ended.
func (db *DB) write(ctx context.Context, mode mode, fn func(tx *Tx) error) (*Tx, error) {
	tx, err := db.take(ctx, mode, nil, Reader{})
	if err != nil {
		return nil, err
	}
	committed := false
	defer func() { tx.end(committed) }()
	if err := tx.payer(); err != nil {
		return tx, err
	}
	for _, begin := range db.onWrite {
		begin(tx)
	}
	if err := fn(tx); err != nil {
		return tx, endedBy(ctx, err)
	}
	err = tx.commit()
	committed = err == nil
	if committed || IsCommitUnknown(err) {
		tx.tally.charge()
	}
	return tx, err
}

// done reports whether an attempt to write was the last one, because it was stored or nobody knows whether it was. In this case
// it runs the functions that were registered with AfterCommit.
func (tx *Tx) done(err error) bool {
	if err != nil && !IsCommitUnknown(err) {
		return false
	}
	for _, then := range tx.afterCommit {
		then()
	}
	return true
}

// OnWrite adds a function that runs first in each run of Write. It may, for example, register an AfterCommit that reports what
// the closure did. Call OnWrite before the first Write.
func (db *DB) OnWrite(fn func(tx *Tx)) { db.onWrite = append(db.onWrite, fn) }

// commit runs the functions that were registered with BeforeCommit, and commits.
func (tx *Tx) commit() error {
	for i := 0; i < len(tx.beforeCommit); i++ { // a function may register another
		if err := tx.beforeCommit[i](); err != nil {
			return err
		}
	}
	if tx.failed != nil {
		return fmt.Errorf("the transaction cannot be committed, because a statement failed: %w", tx.failed)
	}
	if err := tx.ctx.Err(); err != nil {
		return err
	}
	if hook := tx.db.hooks.BeforeCommit; hook != nil {
		if err := hook(tx.ctx); err != nil {
			return err
		}
	}
	if tx.begun || len(tx.withCommit) > 0 {
		// From here on the caller's context cannot interrupt, because nobody would know the outcome of an interrupted commit.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), tx.db.commitPatience)
		defer cancel()
		err := tx.timed(tx.observed(tx.opened(tx.withCommit)), true, func(statements []Statement) error {
			return tx.tally.run(statements, func(statements []Statement) error { return tx.conn.commit(ctx, statements) })
		})
		if err != nil {
			return tx.note(err)
		}
	}
	if hook := tx.db.hooks.AfterCommit; hook != nil {
		if err := hook(tx.ctx); err != nil {
			return &commitUnknownError{err}
		}
	}
	return nil
}

// opened puts the statement that opens the transaction before its first statements.
func (tx *Tx) opened(statements []Statement) []Statement {
	if tx.begin == "" {
		return statements
	}
	opened := append([]Statement{{SQL: tx.begin}}, statements...)
	tx.begin, tx.begun = "", true
	return opened
}

// end rolls back unless the transaction was committed, and returns the connection to its pool.
func (tx *Tx) end(committed bool) {
	tx.endWaiting()
	if tx.interrupts != nil {
		tx.interrupts()
	}
	if tx.line != nil {
		defer tx.line.leave(tx.by)
	}
	var doubt error
	if isLost(tx.failed) {
		doubt = tx.failed
	} else if tx.begun && !committed {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(tx.ctx), finishPatience)
		defer cancel()
		doubt = tx.conn.run(ctx, []Statement{{SQL: "ROLLBACK"}})
	}
	tx.conn.leave(doubt)
}

// Engine returns the engine that runs the transaction.
func (tx *Tx) Engine() Engine { return tx.db.Engine() }

// Snapshot reports whether the transaction reads everything as of one moment, as in Read, ReadFor and ReadHeavy. A Write sees what other transactions
// commit meanwhile, except in rows that it has locked.
func (tx *Tx) Snapshot() bool { return tx.mode.snapshot() }

// Now is the time for decisions of this transaction. If the clock cannot be read, the transaction fails.
//
// A reader gets the time just before its snapshot. The snapshot then holds everything that was stored by that time. With a
// later time, a reader that was held up after its snapshot would find that a deadline had passed, although something that it
// does not see had moved the deadline or met it.
//
// In a Write on PostgreSQL, Now reads the database's clock at each call: call it once, after locking. In other writes, and
// in WriteAtOnce, it is DB.Now.
func (tx *Tx) Now() time.Time {
	if !tx.mode.writes() {
		return tx.readAt
	}
	now := tx.db.Now()
	if tx.db.onClock && !tx.atOnce {
		_ = tx.Pipeline(tx.Clock(&now)) // a failure dooms the transaction
	}
	return now
}

// Clock returns Now as a statement, so that a Pipeline can lock and read the clock in one round trip.
func (tx *Tx) Clock(now *time.Time) Statement {
	if tx.mode.writes() && tx.db.onClock {
		return clockStatement(tx.db.dialect, now)
	}
	return Statement{local: func() { *now = tx.Now() }}
}

func clockStatement(d dialect, now *time.Time) Statement {
	return Statement{SQL: d.clock(), Scan: func(row Row) error {
		var micros int64
		err := row.Scan(&micros)
		*now = Time(micros)
		return err
	}}
}

// BeforeCommit adds a function that Write runs right before the commit, once the closure has returned nil, in the order of
// registration. An error of the function rolls back.
func (tx *Tx) BeforeCommit(fn func() error) { tx.beforeCommit = append(tx.beforeCommit, fn) }

// SendWithCommit adds statements that Write sends together with the commit, in one round trip on PostgreSQL. If one fails,
// nothing is stored and Write returns its error. They cannot have a Scan, because nobody could act on its result.
func (tx *Tx) SendWithCommit(statements ...Statement) {
	for _, statement := range statements {
		if statement.Scan != nil {
			panic("database: a statement sent with the commit cannot scan")
		}
	}
	tx.withCommit = append(tx.withCommit, statements...)
}

// AfterCommit adds a function that runs once after a successful Write, in the order of registration, and never after a rollback.
// It also runs after a commit with an unknown outcome, so it may only wake code that looks again.
func (tx *Tx) AfterCommit(fn func()) { tx.afterCommit = append(tx.afterCommit, fn) }

// Local returns the value that SetLocal stored in this transaction under the key, or nil.
func (tx *Tx) Local(key any) any { return tx.local[key] }

// SetLocal stores a value for as long as the transaction lasts. A Write that runs again begins without it.
func (tx *Tx) SetLocal(key, value any) {
	if tx.local == nil {
		tx.local = make(map[any]any, 1)
	}
	tx.local[key] = value
}

// ForUpdate returns the clause that makes a SELECT lock its rows: " FOR UPDATE", or "" on SQLite, where Write runs alone anyway.
func (tx *Tx) ForUpdate() string { return tx.db.dialect.forUpdate() }

// IndexedBy returns the clause after a table's name that makes SQLite go by an index. SQLite takes the primary key where an index of few rows
// begins with the same column. It returns "" on PostgreSQL, which knows how many rows an index has.
func (tx *Tx) IndexedBy(index string) string { return tx.db.dialect.indexedBy(index) }

// ForUpdateNoWait is ForUpdate for a SELECT that fails if another transaction has locked one of its rows.
func (tx *Tx) ForUpdateNoWait() string {
	if clause := tx.db.dialect.forUpdate(); clause != "" {
		return clause + " NOWAIT"
	}
	return ""
}

// ForUpdateSkipLocked is ForUpdate for a SELECT that leaves out rows that another transaction has locked.
func (tx *Tx) ForUpdateSkipLocked() string {
	if clause := tx.db.dialect.forUpdate(); clause != "" {
		return clause + " SKIP LOCKED"
	}
	return ""
}
