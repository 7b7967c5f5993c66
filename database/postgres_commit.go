package database

import (
	"context"
	"errors"
	"net"
	"sync/atomic"

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

// commitGuard keeps the driver from cancelling a commit.
type commitGuard struct{ committing atomic.Bool }

// guardCommits gives a commitGuard to the connection that is made with a configuration.
func guardCommits(config *pgx.ConnConfig) {
	guard := &commitGuard{}
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if guard.committing.Load() { // the connection is made already, so the driver wants to cancel
			return nil, errCommitting
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(_ context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[committingKey] = guard
		return nil
	}
}

// commit sends the statements with the commit, and waits for the answer as long as the context lasts.
func (c *postgresConnection) commit(ctx context.Context, statements []Statement) error {
	answer := make(chan error, 1)
	go func() { answer <- c.sendCommit(context.WithoutCancel(ctx), statements) }()
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		c.unanswered = answer
		c.pool.unanswered.Add(1)
		return &commitUnknownError{errUnanswered}
	}
}

func (c *postgresConnection) sendCommit(ctx context.Context, statements []Statement) error {
	statements = append(statements[:len(statements):len(statements)], Statement{SQL: postgresCommit})
	broken := false
	err := c.driver(func(conn *pgx.Conn) error {
		guard := conn.PgConn().CustomData()[committingKey].(*commitGuard)
		guard.committing.Store(true)
		err := c.sendOn(ctx, conn, statements)
		if broken = conn.IsClosed(); !broken {
			guard.committing.Store(false)
		}
		return err
	})
	var unsent pgx.ErrPreprocessingBatch
	if err == nil || pgconn.SafeToRetry(err) || errors.As(err, &unsent) || !broken {
		return err // if the connection works, the server has answered that the commit failed
	}
	return &commitUnknownError{err} // it may have broken after the commit
}

// awaitAnswer waits for the answer that the caller of commit did not wait for.
func (c *postgresConnection) awaitAnswer() {
	<-c.unanswered //nolint:errcheck // the caller was told that it is unknown
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
