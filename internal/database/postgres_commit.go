package database

import (
	"context"
	"errors"
	"net"
	"os"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// A commit that waits for a synchronous standby is on the primary's disk already, but nobody sees it yet. If the wait is cancelled,
// PostgreSQL shows the commit, although no standby has it: should a standby become the primary, readers have seen what never was. The
// driver asks the server to cancel whatever runs on a connection that it gives up. So while a commit may be running, the connection
// keeps the driver from asking.
//
// A server without its standby answers no commit until the standby is back. A caller waits for commitPatience and is then told
// that the outcome is unknown. The connection goes on waiting, and keeps its place in the pool. So a server never has more commits that
// wait than it has connections for writing.

// errUnanswered says that a commit takes longer than its caller waits.
var errUnanswered = errors.New("the database has not answered a commit yet")

// errCommitting refuses to cancel what runs on a connection.
var errCommitting = errors.New("a commit is not cancelled")

// committingKey is the key under which a connection has its commitGuard.
const committingKey = "openintent committing"

// commitGuard keeps the driver from cancelling a commit, and from closing the connection before the server has answered.
type commitGuard struct{ committing atomic.Bool }

// guardedConn is a network connection with a guard.
type guardedConn struct {
	net.Conn
	guard *commitGuard
}

// SetDeadline implements net.Conn. The driver sets a deadline during a commit only once it has given the connection up, to read the rest of
// what the server sends. That may take as long as the commit.
func (c *guardedConn) SetDeadline(at time.Time) error {
	if c.guard.committing.Load() {
		at = time.Time{}
	}
	return c.Conn.SetDeadline(at)
}

// guardCommits gives a commitGuard to the connection that is made with a configuration.
func guardCommits(config *pgx.ConnConfig) {
	guard := &commitGuard{}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if guard.committing.Load() { // the connection is made already, so the driver wants to cancel
			return nil, errCommitting
		}
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return &guardedConn{Conn: conn, guard: guard}, nil
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[committingKey] = guard
		return nil
	}
}

// commit sends the statements with the commit, and waits for the answer until the context's deadline.
func (c *postgresConnection) commit(ctx context.Context, statements []Statement) error {
	statements = append(statements[:len(statements):len(statements)], Statement{SQL: postgresCommit})
	var givenUp <-chan struct{} // closed once the server has answered on a connection that was given up
	err := c.driver(func(conn *pgx.Conn) error {
		err := c.sendGuarded(ctx, conn, statements)
		if conn.IsClosed() {
			givenUp = conn.PgConn().CleanupDone()
		}
		return err
	})
	if givenUp != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		c.unanswered = givenUp
		c.pool.unanswered.Add(1)
	}
	var unsent pgx.ErrPreprocessingBatch
	switch {
	case err == nil || pgconn.SafeToRetry(err) || errors.As(err, &unsent) || givenUp == nil:
		return err // if the connection works, the server has answered that the commit failed
	case c.unanswered != nil:
		return &commitUnknownError{errUnanswered}
	}
	return &commitUnknownError{err} // it may have broken after the commit
}

// sendGuarded sends statements with a commit. Until the server has answered, the connection is guarded.
func (c *postgresConnection) sendGuarded(ctx context.Context, conn *pgx.Conn, statements []Statement) error {
	driver := conn.PgConn()
	guard, network := driver.CustomData()[committingKey].(*commitGuard), driver.Conn()
	if deadline, ok := ctx.Deadline(); ok {
		_ = network.SetDeadline(deadline) // fails only if the connection is lost, which sending finds, too
	}
	guard.committing.Store(true)
	err := c.sendOn(context.WithoutCancel(ctx), conn, statements)
	if !conn.IsClosed() {
		guard.committing.Store(false)
		_ = network.SetDeadline(time.Time{})
	}
	return err
}

// awaitAnswer waits until the server has answered what commit has given up, or the connection is lost.
func (c *postgresConnection) awaitAnswer() {
	<-c.unanswered
	c.pool.unanswered.Add(-1)
}

// enter waits for a place in the pool.
func (p *postgresPool) enter(ctx context.Context) error {
	_, err := p.gate.enter(ctx)
	if errors.Is(err, context.DeadlineExceeded) && p.unanswered.Load() > 0 {
		return errUnanswered
	}
	return err
}
