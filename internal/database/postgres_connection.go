package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const postgresCommit = "COMMIT"

// postgresConnection is a connection from a pool. The driver prepares statements by itself and keeps them.
type postgresConnection struct {
	*sql.Conn
	pool *postgresPool
	// answered is true once the server has answered on this connection.
	answered bool
	// unanswered is closed when the server has answered a commit that was given up, or the connection is lost; nil if there is none.
	unanswered <-chan struct{}
}

// interruptible has nothing to do: when a context ends, the driver makes the server cancel the statement, and gives the connection up.
func (c *postgresConnection) interruptible(context.Context) func() { return nil }

func (c *postgresConnection) leave(doubt error) {
	if c.unanswered != nil {
		go func() {
			c.awaitAnswer()
			c.release(doubt)
		}()
		return
	}
	c.release(doubt)
}

func (c *postgresConnection) release(doubt error) {
	c.giveBack(doubt)
	c.pool.gate.leave(struct{}{})
}

// giveBack returns the connection to the pool. The pool does not keep it if there is a doubt about it.
func (c *postgresConnection) giveBack(doubt error) {
	if isLost(doubt) {
		c.pool.server.lost.Store(time.Now().UnixNano())
	}
	if isReadOnly(doubt) {
		c.pool.server.readOnly.Store(time.Now().UnixNano())
	}
	if doubt != nil {
		_ = c.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = c.Close() // fails only if the connection is gone already
}

// renew replaces a lost connection by a fresh one.
func (c *postgresConnection) renew(ctx context.Context, lost error) error {
	c.giveBack(lost)
	fresh, err := c.pool.db.Conn(ctx)
	if err == nil {
		c.Conn = fresh
	}
	return err
}

// driver calls fn with the driver's own connection.
func (c *postgresConnection) driver(fn func(conn *pgx.Conn) error) error {
	return c.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// run sends all statements in one round trip (two the first time, when they are prepared). Only now does it notice that a
// connection was lost while it was idle in the pool. Nothing has happened on it, so run sends the statements over a fresh one.
func (c *postgresConnection) run(ctx context.Context, statements []Statement) error {
	if c.unanswered != nil {
		return errUnanswered
	}
	err := c.send(ctx, statements)
	if c.answered || !isLost(err) {
		return err
	}
	if failed := c.renew(ctx, err); failed != nil {
		return failed
	}
	return c.send(ctx, statements)
}

func (c *postgresConnection) send(ctx context.Context, statements []Statement) error {
	return c.driver(func(conn *pgx.Conn) error { return c.sendOn(ctx, conn, statements) })
}

func (c *postgresConnection) sendOn(ctx context.Context, conn *pgx.Conn, statements []Statement) error {
	batch := &pgx.Batch{}
	for i := range statements {
		if statements[i].local == nil {
			batch.Queue(numbered(statements[i].SQL), statements[i].Args...)
		}
	}
	results := conn.SendBatch(ctx, batch)
	for i := range statements {
		if err := c.receive(results, &statements[i]); err != nil {
			_ = results.Close() // repeats the error
			return err
		}
	}
	return results.Close()
}

func (c *postgresConnection) receive(results pgx.BatchResults, s *Statement) error {
	var tag pgconn.CommandTag
	var err error
	switch {
	case s.local != nil:
		s.local()
		return nil
	case s.Scan != nil:
		tag, err = receiveRows(results, func(row Row) error {
			c.answered = true
			return s.Scan(row)
		})
	default:
		tag, err = results.Exec()
	}
	if err != nil {
		return err
	}
	c.answered = true
	if s.SQL == postgresCommit && tag.String() != postgresCommit {
		return errRolledBack
	}
	if s.Affected != nil {
		*s.Affected = tag.RowsAffected()
	}
	return nil
}

func receiveRows(results pgx.BatchResults, scan func(Row) error) (pgconn.CommandTag, error) {
	rows, err := results.Query()
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	defer rows.Close()
	for rows.Next() {
		if err := scan(rows); err != nil {
			return pgconn.CommandTag{}, err
		}
	}
	return rows.CommandTag(), rows.Err()
}
