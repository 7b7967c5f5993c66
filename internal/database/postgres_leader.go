package database

import (
	"context"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
)

const (
	// leaderPatience is how long a replica leads without asking; the server then ends its session. So the
	// others do not wait for a replica that hangs, or for a machine that has vanished.
	leaderPatience = 30 * time.Second
	// leaderLocks distinguishes the locks of leaders from other locks in the same database.
	leaderLocks = 0x6f69
)

// postgresLeader is what this process leads: advisory locks of one session outside the pools.
type postgresLeader struct {
	mutex    sync.Mutex
	patience time.Duration
	session  *pgx.Conn // nil until it is first asked, and after the session was lost
	closed   bool
}

func (p *postgresServer) leads(ctx context.Context, name string) (ours bool, err error) {
	l := &p.leader
	l.mutex.Lock()
	defer l.mutex.Unlock()
	ctx, cancel := context.WithTimeout(ctx, finishPatience)
	defer cancel()
	ours, err = p.tryToLead(ctx, name)
	if isLost(err) && !l.closed { // for example after long work; another replica may lead by now
		ours, err = p.tryToLead(ctx, name)
	}
	return ours, err
}

// tryToLead takes the lock, even if the session has it already. Programs in different schemas use different locks.
func (p *postgresServer) tryToLead(ctx context.Context, name string) (ours bool, err error) {
	l := &p.leader
	if l.closed {
		return false, errClosed
	}
	if l.session == nil {
		l.session, err = p.connectBeside(ctx, map[string]string{"idle_session_timeout": milliseconds(l.patience)})
		if err != nil {
			l.session = nil
			return false, err
		}
	}
	const try = "SELECT pg_try_advisory_lock($1, hashtext(coalesce(current_schema(), '') || '/' || $2))"
	if err = l.session.QueryRow(ctx, try, leaderLocks, name).Scan(&ours); err != nil {
		closeBeside(l.session)
		l.session = nil
	}
	return ours, err
}

// close leads nothing any more.
func (l *postgresLeader) close() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.closed = true
	if l.session != nil {
		closeBeside(l.session)
		l.session = nil
	}
}
