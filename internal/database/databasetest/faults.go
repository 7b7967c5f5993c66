package databasetest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"openintent/internal/database"
)

// ErrInjected is the cause of every injected fault. It stands for a lost connection, so database.IsUnavailable recognizes it.
var ErrInjected = fmt.Errorf("injected by the test: %w", driver.ErrBadConn)

// CommitFaults makes chosen commits fail. Put its Hooks into the database.Config. It is safe for concurrent use.
type CommitFaults struct {
	mutex         sync.Mutex
	before, after int
	commits       int
}

// FailBefore makes the next n commits fail with nothing stored.
func (f *CommitFaults) FailBefore(n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.before = n
}

// FailAfter makes the next n commits fail although everything is stored, as when the acknowledgement is lost.
func (f *CommitFaults) FailAfter(n int) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	f.after = n
}

// Hooks returns the hooks that inject the faults into a database.
func (f *CommitFaults) Hooks() database.Hooks {
	return database.Hooks{
		BeforeCommit: func(context.Context) error { return f.take(&f.before) },
		AfterCommit: func(context.Context) error {
			f.mutex.Lock()
			f.commits++
			f.mutex.Unlock()
			return f.take(&f.after)
		},
	}
}

// Commits counts the commits that have met the faults. What a commit stored can be read a moment before.
func (f *CommitFaults) Commits() int {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	return f.commits
}

func (f *CommitFaults) take(left *int) error {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if *left == 0 {
		return nil
	}
	*left--
	return ErrInjected
}

// KillConnections makes the PostgreSQL server end all connections to the database that the URL names, as a restart or
// an administrator would, and returns how many there were.
func KillConnections(tb testing.TB, url string) int {
	tb.Helper()
	pool, err := sql.Open("pgx", url)
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	var killed int
	row := pool.QueryRow(`SELECT count(pg_terminate_backend(pid, 5000) OR NULL) FROM pg_stat_activity
		WHERE datname = current_database() AND pid <> pg_backend_pid()`)
	if err := row.Scan(&killed); err != nil {
		tb.Fatalf("ending the connections: %v", err)
	}
	return killed
}

// Busy returns an error as PostgreSQL gives it while others hold a lock for too long; database.IsBusy recognizes it.
func Busy() error { return &pgconn.PgError{Code: "55P03", Message: "a lock is not available"} }
