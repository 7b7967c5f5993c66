package database

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
	codes "modernc.org/sqlite/lib"
)

// ErrNotAtOnce refuses a statement that is made within WriteAtOnce.
var ErrNotAtOnce = errors.New("a transaction that is written at once cannot make statements before its commit")

var (
	errClosed     = errors.New("the database is closed")
	errRolledBack = errors.New("the database rolled the transaction back instead of committing it")
)

// commitUnknownError says that the transaction may or may not have been stored.
type commitUnknownError struct{ cause error }

func (e *commitUnknownError) Error() string {
	return "it is unknown whether the transaction was stored, because its commit was not acknowledged: " + e.cause.Error()
}

func (e *commitUnknownError) Unwrap() error { return e.cause }

// IsCommitUnknown reports whether a Write may have been stored although it returned an error. Before trying again, a caller has
// to check whether the result is already stored.
func IsCommitUnknown(err error) bool {
	var unknown *commitUnknownError
	return errors.As(err, &unknown)
}

// IsData reports whether a row's values caused the error, for example by violating a constraint. The database will refuse the
// same row again.
func IsData(err error) bool {
	switch sqliteCode(err) & 0xff {
	case codes.SQLITE_CONSTRAINT, codes.SQLITE_MISMATCH, codes.SQLITE_TOOBIG:
		return true
	}
	switch code := postgresCode(err); {
	case strings.HasPrefix(code, "22"), strings.HasPrefix(code, "23"):
		return true
	case code == "54000": // too large for its index
		return true
	}
	return false
}

// IsUnavailable reports whether the database could not do its work for now, so that trying again later is right. This includes
// a connection that was refused or lost or leads to a server that takes no writes, a lack of connections or space, a timeout, a
// closed DB, and a commit with an unknown outcome. It does not include the end of the caller's own context.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	if IsCommitUnknown(err) || isConflict(err) || errors.Is(err, errUnanswered) {
		return true
	}
	if isEnded(err) {
		return false
	}
	switch sqliteCode(err) & 0xff {
	case codes.SQLITE_FULL, codes.SQLITE_IOERR, codes.SQLITE_CANTOPEN, codes.SQLITE_NOMEM:
		return true
	}
	switch code := postgresCode(err); {
	case code == "57014", code == "25P03": // statement_timeout, idle_in_transaction_session_timeout
		return true
	case hasClass(code, "53", "58"): // resources, the server's system
		return true
	}
	return isLost(err)
}

// isConflict reports whether a conflict with another transaction caused the error before the commit.
func isConflict(err error) bool {
	switch {
	case IsCommitUnknown(err):
		return false
	case errors.Is(err, errNotAlone):
		return true
	}
	switch sqliteCode(err) & 0xff {
	case codes.SQLITE_BUSY, codes.SQLITE_LOCKED:
		return true
	}
	switch postgresCode(err) {
	case "40001", "40P01", "55P03": // serialization_failure, deadlock_detected, lock_not_available
		return true
	case "0A000": // a prepared statement that a migration made obsolete; it is prepared anew
		return strings.Contains(err.Error(), "cached plan must not change result type")
	}
	return false
}

// IsConflict reports whether the whole transaction can be tried again immediately. Nothing of it is stored, and the cause was
// either another transaction, or a connection to a server that takes no writes, which is given up.
func IsConflict(err error) bool { return isConflict(err) || isReadOnly(err) }

// IsBusy reports whether others who were at work kept a transaction from what it needed. It says nothing about the database's state.
func IsBusy(err error) bool { return isConflict(err) && !isReadOnly(err) }

// isEnded reports whether the caller's context ended. The driver then closes the connection, which says nothing about the
// server.
func isEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// endedBy returns the context's end if that explains the error. Once a context has ended, SQLite calls its statements interrupted, and the
// driver of PostgreSQL calls the connection bad that it gave up for it. endedBy returns any other error as it is.
func endedBy(ctx context.Context, err error) error {
	ended := ctx.Err()
	if ended == nil || IsCommitUnknown(err) {
		return err
	}
	if sqliteCode(err) == codes.SQLITE_INTERRUPT || isLost(err) {
		return ended
	}
	return err
}

// isLost reports whether a connection could not be made or is no longer usable, for another reason than the caller's context.
func isLost(err error) bool {
	if err == nil || isEnded(err) {
		return false
	}
	if isReadOnly(err) {
		return true
	}
	if hasClass(postgresCode(err), "08", "57P") { // connection, shutdown
		return true
	}
	for _, lost := range []error{errClosed, driver.ErrBadConn, sql.ErrConnDone, pgconn.ErrConnClosed, net.ErrClosed,
		io.EOF, io.ErrUnexpectedEOF, syscall.EPIPE, syscall.ECONNRESET, syscall.ECONNREFUSED} {
		if errors.Is(err, lost) {
			return true
		}
	}
	var refused *pgconn.ConnectError
	var network net.Error
	return errors.As(err, &refused) || errors.As(err, &network) || pgconn.SafeToRetry(err)
}

// sqliteCode returns SQLite's extended result code, or 0.
func sqliteCode(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// postgresCode returns the SQLSTATE, or "".
func postgresCode(err error) string {
	var failed *pgconn.PgError
	if errors.As(err, &failed) {
		return failed.Code
	}
	return ""
}

func hasClass(code string, classes ...string) bool {
	for _, class := range classes {
		if strings.HasPrefix(code, class) {
			return true
		}
	}
	return false
}
