package database

import (
	"context"
	"database/sql"

	"gorm.io/gorm"
)

// Gorm returns a gorm session within this transaction. After one of the transaction's statements has failed, all further ones
// fail, including gorm's. Finding no row is not a failure.
func (tx *Tx) Gorm() *gorm.DB {
	if tx.gorm == nil {
		session := &gorm.Session{NewDB: true, Context: tx.ctx}
		if tx.db.slow != nil {
			session.Logger = statementLogger{log: tx.db.slow.log, tx: tx}
		}
		tx.gorm = tx.db.gorm.Session(session)
		tx.gorm.Statement.ConnPool = gormPool{tx}
	}
	return tx.gorm
}

// gormPool is the connection that gorm uses. It opens the transaction at the first statement and remembers failures.
type gormPool struct{ tx *Tx }

// ready opens the transaction if necessary, and fails if the transaction has failed before.
func (p gormPool) ready(query string) error {
	if err := p.tx.runNow(nil); err != nil {
		return err
	}
	p.tx.observed([]Statement{{SQL: query}})
	return nil
}

func (p gormPool) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := p.ready(query); err != nil {
		return nil, err
	}
	statement, err := p.tx.conn.PrepareContext(ctx, query)
	return statement, p.tx.note(err)
}

func (p gormPool) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := p.ready(query); err != nil {
		return nil, err
	}
	result, err := p.tx.conn.ExecContext(ctx, query, args...)
	if err == nil && p.tx.tally != nil && stores(query) {
		rows, _ := result.RowsAffected() // our drivers always know
		p.tx.tally.add(rows, args)
	}
	return result, p.tx.note(err)
}

func (p gormPool) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := p.ready(query); err != nil {
		return nil, err
	}
	rows, err := p.tx.conn.QueryContext(ctx, query, args...)
	if err == nil && p.tx.tally != nil && stores(query) {
		p.tx.tally.add(1, args) // a row that returns what the database filled in
	}
	return rows, p.tx.note(err)
}

func (p gormPool) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := p.ready(query); err != nil {
		// We cannot make a sql.Row with our own error, so we get one from an ended context.
		ended, cancel := context.WithCancelCause(ctx)
		cancel(err)
		ctx = ended
	}
	row := p.tx.conn.QueryRowContext(ctx, query, args...)
	_ = p.tx.note(row.Err())
	return row
}

// note remembers the first failure of a statement and returns it, marked if a write met a read-only session.
func (tx *Tx) note(err error) error {
	if tx.mode.writes() {
		err = refusedAsReadOnly(err)
	}
	if err != nil && tx.failed == nil {
		tx.failed = err
	}
	return err
}
