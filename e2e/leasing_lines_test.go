//go:build leasemodel

package e2e

import (
	"context"
	"strings"
	"sync"

	"openintent/internal/database"
)

// lines tells when a call has got or given up its place among those who wait.
type lines struct {
	mutex    sync.Mutex
	changing map[context.Context]string
	changed  map[string]int
}

func (l *lines) hooks() database.Hooks {
	return database.Hooks{
		Statement: func(ctx context.Context, sql string) func() {
			what, rest, _ := strings.Cut(sql, " ")
			if (what == "INSERT" || what == "DELETE") && strings.Contains(strings.SplitN(rest, "WHERE", 2)[0], "lease_waiters") {
				l.mutex.Lock()
				defer l.mutex.Unlock()
				l.changing[ctx] = what
			}
			return nil
		},
		AfterCommit: func(ctx context.Context) error {
			l.mutex.Lock()
			defer l.mutex.Unlock()
			if what, changes := l.changing[ctx]; changes {
				l.changed[what]++
				delete(l.changing, ctx)
			}
			return nil
		},
	}
}

func (l *lines) count(what string) int {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.changed[what]
}
