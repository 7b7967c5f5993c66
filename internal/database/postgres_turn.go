package database

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// turnPatience is how long a replica keeps its turns without asking for one; the server then ends its session. So the
	// others do not wait for a replica that hangs, or for a machine that has vanished.
	turnPatience = 30 * time.Second
	// turnLocks distinguishes the locks for turns from other locks in the same database.
	turnLocks = 0x6f69
)

// postgresTurns are the turns that this process has: advisory locks of one session outside the pools.
type postgresTurns struct {
	mutex    sync.Mutex
	patience time.Duration
	session  *pgx.Conn // nil until the first turn is requested, and after the session was lost
	closed   bool
}

func (p *postgresServer) turn(ctx context.Context, name string) (ours bool, err error) {
	t := &p.turns
	t.mutex.Lock()
	defer t.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	ours, err = p.tryTurn(ctx, name)
	if isLost(err) && !t.closed { // for example after long work; another replica may have the turn by now
		ours, err = p.tryTurn(ctx, name)
	}
	return ours, err
}

// tryTurn takes the lock, even if the session has it already. Programs in different schemas use different locks.
func (p *postgresServer) tryTurn(ctx context.Context, name string) (ours bool, err error) {
	t := &p.turns
	if t.closed {
		return false, errClosed
	}
	if t.session == nil {
		t.session, err = p.connectBeside(ctx, map[string]string{"idle_session_timeout": milliseconds(t.patience)})
		if err != nil {
			t.session = nil
			return false, err
		}
	}
	const try = "SELECT pg_try_advisory_lock($1, hashtext(coalesce(current_schema(), '') || '/' || $2))"
	if err = t.session.QueryRow(ctx, try, turnLocks, name).Scan(&ours); err != nil {
		closeBeside(t.session)
		t.session = nil
	}
	return ours, err
}

// close gives up all turns.
func (t *postgresTurns) close() {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.closed = true
	if t.session != nil {
		closeBeside(t.session)
		t.session = nil
	}
}
