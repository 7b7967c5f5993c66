package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

const postgresCommit = "COMMIT"

// postgresConnection is a connection out of a pool. The driver prepares and keeps statements by itself.
type postgresConnection struct {
	*sql.Conn
	pool *postgresPool
	// answered is true once the server has answered anything on it.
	answered bool
}

func (c *postgresConnection) leave(doubt error) {
	c.giveBack(doubt)
	c.pool.gate.leave(struct{}{})
}

// giveBack returns the connection to the pool, which does not keep one in doubt.
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
	_ = c.Close() // it is an error only when it is gone already
}

// renew exchanges a lost connection for a fresh one.
func (c *postgresConnection) renew(ctx context.Context, lost error) error {
	c.giveBack(lost)
	fresh, err := c.pool.db.Conn(ctx)
	if err == nil {
		c.Conn = fresh
	}
	return err
}

// driver gives the connection to fn as the driver knows it.
func (c *postgresConnection) driver(fn func(conn *pgx.Conn) error) error {
	return c.Raw(func(conn any) error { return fn(conn.(*stdlib.Conn).Conn()) })
}

// run sends all statements in one round trip (two the first time, when they are prepared). A connection that was lost
// while it lay in the pool is only noticed now: nothing has happened on it, so the statements go over a fresh one.
func (c *postgresConnection) run(ctx context.Context, statements []Statement) error {
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
	batch := &pgx.Batch{}
	for i := range statements {
		if statements[i].local == nil {
			batch.Queue(numbered(statements[i].SQL), statements[i].Args...)
		}
	}
	return c.driver(func(conn *pgx.Conn) error {
		results := conn.SendBatch(ctx, batch)
		for i := range statements {
			if err := c.receive(results, &statements[i]); err != nil {
				_ = results.Close() // which repeats the error
				return err
			}
		}
		return results.Close()
	})
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

func (c *postgresConnection) commit(ctx context.Context, statements []Statement) error {
	err := c.send(ctx, append(statements[:len(statements):len(statements)], Statement{SQL: postgresCommit}))
	var unsent pgx.ErrPreprocessingBatch
	if err == nil || pgconn.SafeToRetry(err) || errors.As(err, &unsent) {
		return err
	}
	// On a connection that still works the server has said what became of the commit: nothing. A connection that broke
	// may have broken after the commit.
	alive := false
	if c.driver(func(conn *pgx.Conn) error { alive = !conn.IsClosed(); return nil }) == nil && alive {
		return err
	}
	return &commitUnknownError{err}
}
