package database

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"gorm.io/gorm/logger"
)

// statementLogger writes gorm's statements to the log at debug level, with placeholders instead of values, because the values
// belong to the agents. It does not log errors; the code that receives an error decides whether to.
type statementLogger struct {
	log *slog.Logger
	tx  *Tx // whose slow statements are noted; nil if none are
}

func (l statementLogger) LogMode(logger.LogLevel) logger.Interface { return l }

func (l statementLogger) Info(ctx context.Context, text string, args ...any) {
	l.log.DebugContext(ctx, fmt.Sprintf(text, args...))
}

func (l statementLogger) Warn(ctx context.Context, text string, args ...any) {
	l.log.WarnContext(ctx, fmt.Sprintf(text, args...))
}

func (l statementLogger) Error(ctx context.Context, text string, args ...any) {
	l.log.ErrorContext(ctx, fmt.Sprintf(text, args...))
}

func (l statementLogger) Trace(ctx context.Context, begin time.Time, statement func() (string, int64), _ error) {
	debug, took := l.log.Enabled(ctx, slog.LevelDebug), time.Since(begin)
	slow := l.tx != nil && took >= l.tx.db.slow.least
	if !debug && !slow {
		return
	}
	sql, rows := statement()
	if slow {
		l.tx.db.slow.statement(ctx, sql, rows, took, l.tx.waited)
	}
	if debug {
		l.log.DebugContext(ctx, "statement", "sql", sql, "rows", rows, "took", took)
	}
}

// ParamsFilter keeps the values out of the logged text.
func (statementLogger) ParamsFilter(_ context.Context, sql string, _ ...any) (string, []any) {
	return sql, nil
}
