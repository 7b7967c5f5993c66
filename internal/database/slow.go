package database

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
)

// A database that becomes slow makes all statements slow at once. So the log gets slowLinesAtOnce lines in one go, then one in each
// slowLineEvery; each line says how many were left out before it.
const (
	slowLinesAtOnce = 10
	slowLineEvery   = 10 * time.Second
)

// slowStatements writes statements to the log that took long, without their values, because the values belong to the agents. It also
// writes how long transactions waited for a connection. A nil slowStatements writes and measures nothing.
type slowStatements struct {
	log   *slog.Logger
	least time.Duration // what counts as long
	now   func() time.Time

	lines  *rate.Limiter
	unsaid atomic.Int64 // lines that were left out since the last one
}

// newSlowStatements returns nil if nothing counts as long.
func newSlowStatements(log *slog.Logger, least time.Duration) *slowStatements {
	if least <= 0 {
		return nil
	}
	return &slowStatements{log: log, least: least, now: time.Now, lines: rate.NewLimiter(rate.Every(slowLineEvery), slowLinesAtOnce)}
}

// statement notes how long a statement took, after its transaction had waited for a connection.
func (s *slowStatements) statement(ctx context.Context, sql string, rows int64, took, waited time.Duration) {
	if took >= s.least {
		s.warn(ctx, "a statement was slow", "sql", strings.Join(strings.Fields(sql), " "), "took_seconds", took.Seconds(), "rows", rows,
			"waited_seconds", waited.Seconds())
	}
}

// connection notes how long a transaction waited for a connection.
func (s *slowStatements) connection(ctx context.Context, waited time.Duration) {
	if waited >= s.least {
		s.warn(ctx, "a transaction waited long for a connection to the database", "waited_seconds", waited.Seconds())
	}
}

func (s *slowStatements) warn(ctx context.Context, text string, about ...any) {
	if !s.lines.AllowN(s.now(), 1) {
		s.unsaid.Add(1)
		return
	}
	s.log.WarnContext(ctx, text, append(about, "left_out", s.unsaid.Swap(0))...)
}

// acquire waits for the reader's turn in a line, unless that is nil, and for a connection. It returns how long that took if it is
// measured.
func (db *DB) acquire(ctx context.Context, mode mode, in *line, by Reader) (conn connection, waited time.Duration, err error) {
	if db.slow == nil {
		conn, err = db.acquireNow(ctx, mode, in, by)
		return conn, 0, err
	}
	began := db.slow.now()
	conn, err = db.acquireNow(ctx, mode, in, by)
	waited = db.slow.now().Sub(began)
	db.slow.connection(ctx, waited)
	return conn, waited, err
}

// timed calls run with the statements, and notes how long each of them took, and the commit if run ends with one. PostgreSQL gets all of
// them in one go: there a statement takes from the answer to the one before it until its own.
func (tx *Tx) timed(statements []Statement, commits bool, run func(statements []Statement) error) error {
	slow := tx.db.slow
	if slow == nil {
		return run(statements)
	}
	watched, texts := make([]Statement, 0, 2*len(statements)), make([]string, 0, len(statements)+1)
	done, began := 0, slow.now()
	lap := func(rows int64) {
		now := slow.now()
		slow.statement(tx.ctx, texts[done], rows, now.Sub(began), tx.waited)
		done, began = done+1, now
	}
	for _, s := range statements {
		if s.local != nil {
			watched = append(watched, s)
			continue
		}
		if s.Affected == nil {
			s.Affected = new(int64)
		}
		texts = append(texts, s.SQL)
		watched = append(watched, s, Statement{local: func() { lap(*s.Affected) }})
	}
	if commits {
		texts = append(texts, "COMMIT")
	}
	err := run(watched)
	if done < len(texts) { // the commit, or the statement that failed
		lap(0)
	}
	return err
}
