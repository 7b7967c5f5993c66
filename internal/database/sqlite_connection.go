package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"

	codes "modernc.org/sqlite/lib"
)

// sqliteStatements bounds the prepared statements that a connection keeps.
const sqliteStatements = 256

// sqliteConnection is one of the few connections to a file, with its prepared statements. It stays open as long as the file.
type sqliteConnection struct {
	pool *sql.DB
	home *gate[*sqliteConnection]

	conn       *sql.Conn // nil until the first use, and after a use that left a doubt about its state
	statements map[string]*sql.Stmt
	handle     uintptr                       // SQLite's own of conn; 0 if it is not known
	steps      func(sql string, steps int64) // a test's; nil if nobody counts
}

func (c *sqliteConnection) open(ctx context.Context) error {
	if c.conn != nil {
		return nil
	}
	conn, err := c.pool.Conn(ctx)
	if err != nil {
		return err
	}
	c.conn, c.statements = conn, make(map[string]*sql.Stmt)
	return conn.Raw(func(driverConn any) error {
		c.handle = handleOf(driverConn)
		return nil
	})
}

func (c *sqliteConnection) leave(doubt error) {
	c.countSteps()
	if doubt != nil {
		_ = c.discard() // a new one is opened at the next use
	}
	c.home.leave(c)
}

// discard closes the connection for good.
func (c *sqliteConnection) discard() error {
	if c.conn == nil {
		return nil
	}
	err := c.forget()
	_ = c.conn.Raw(func(any) error { return driver.ErrBadConn }) // makes the pool drop the connection
	c.conn = nil
	return err
}

// forget closes the prepared statements.
func (c *sqliteConnection) forget() error {
	var errs []error
	for text, statement := range c.statements {
		errs = append(errs, statement.Close())
		delete(c.statements, text)
	}
	return errors.Join(errs...)
}

// prepared returns the prepared statement for a text that is used again and again. Only statements that always run to their end
// are prepared, because two runs of one statement cannot overlap.
func (c *sqliteConnection) prepared(ctx context.Context, text string) (*sql.Stmt, error) {
	if statement, ok := c.statements[text]; ok {
		return statement, nil
	}
	if len(c.statements) >= sqliteStatements {
		if err := c.forget(); err != nil {
			return nil, err
		}
	}
	// SQLite plans by the value of a plain LIMIT parameter, and plans again whenever the value changes; it does not plan by the
	// value of an expression.
	statement, err := c.conn.PrepareContext(ctx, strings.ReplaceAll(text, "LIMIT ?", "LIMIT ?+0"))
	if err != nil {
		return nil, err
	}
	c.statements[text] = statement
	return statement, nil
}

func (c *sqliteConnection) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return c.conn.PrepareContext(ctx, query)
}

func (c *sqliteConnection) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	ctx, err := uninterrupted(ctx)
	if err != nil {
		return nil, err
	}
	statement, err := c.prepared(ctx, query) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return nil, err
	}
	result, err := statement.ExecContext(ctx, args...)
	return result, err
}

func (c *sqliteConnection) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return c.conn.QueryContext(ctx, query, args...)
}

func (c *sqliteConnection) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return c.conn.QueryRowContext(ctx, query, args...)
}

// uninterrupted returns the context for a statement, or an error if the caller's context has ended. For a context that can end,
// the driver would start a goroutine per statement, which costs as much as the statement itself. What may run long is interrupted
// otherwise (sqlite_interrupt.go).
func uninterrupted(ctx context.Context) (context.Context, error) {
	return context.WithoutCancel(ctx), ctx.Err()
}

func (c *sqliteConnection) run(ctx context.Context, statements []Statement) error {
	for i := range statements {
		if err := c.runOne(ctx, &statements[i]); err != nil {
			return err
		}
	}
	return nil
}

func (c *sqliteConnection) runOne(ctx context.Context, s *Statement) error {
	switch {
	case s.local != nil:
		s.local()
		return nil
	case s.Scan != nil:
		return c.scan(ctx, s)
	}
	result, err := c.ExecContext(ctx, s.SQL, s.Args...)
	if err != nil || s.Affected == nil {
		return err
	}
	*s.Affected, err = result.RowsAffected()
	return err
}

func (c *sqliteConnection) scan(ctx context.Context, s *Statement) error {
	ctx, err := uninterrupted(ctx)
	if err != nil {
		return err
	}
	statement, err := c.prepared(ctx, s.SQL) //nolint:sqlclosecheck // kept for the next time
	if err != nil {
		return err
	}
	rows, err := statement.QueryContext(ctx, s.Args...)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	var returned int64
	for rows.Next() {
		returned++
		if err := s.Scan(rows); err != nil {
			return err
		}
	}
	if s.Affected != nil {
		*s.Affected = returned
	}
	return rows.Err()
}

func (c *sqliteConnection) commit(ctx context.Context, statements []Statement) error {
	if err := c.run(ctx, statements); err != nil {
		return err
	}
	_, err := c.ExecContext(ctx, "COMMIT")
	if sqliteCode(err)&0xff == codes.SQLITE_IOERR {
		// The commit may have reached the disk before the error, and may take effect after a crash.
		return &commitUnknownError{err}
	}
	return err
}
