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

// ErrNotAtOnce is what a statement gets that is made within WriteAtOnce.
var ErrNotAtOnce = errors.New("a transaction at once makes no statement before its commit")

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

// IsCommitUnknown tells whether a Write may have been stored although it returned an error. Whoever wants to try again
// has to look for what it should have stored first.
func IsCommitUnknown(err error) bool {
	var unknown *commitUnknownError
	return errors.As(err, &unknown)
}

// IsData tells whether the error is the fault of a row's values, a violated constraint included: the same row will be
// refused again.
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

// IsUnavailable tells whether the database could not do its work for now: connection refused or lost, or leading to a server
// that takes no writes, out of connections, space or patience, closed, or the outcome of a commit unknown. Trying again later is right. The end of
// the caller's own context is none of these.
func IsUnavailable(err error) bool {
	if err == nil {
		return false
	}
	if IsCommitUnknown(err) || isConflict(err) {
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

// isConflict tells whether another transaction stood in the way before the commit.
func isConflict(err error) bool {
	if IsCommitUnknown(err) {
		return false
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

// IsConflict tells whether the whole transaction can be tried again at once: nothing of it is stored, and what stood in its
// way was another transaction, or a connection that leads to where nothing can be written and is given up.
func IsConflict(err error) bool { return isConflict(err) || isReadOnly(err) }

// isEnded tells whether the caller's context ended. The driver closes the connection then, which says nothing about the
// server.
func isEnded(err error) bool {
	return errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// isLost tells whether there is no connection that is of use, or no longer, and the caller did not end it.
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

// sqliteCode is SQLite's extended result code, or 0.
func sqliteCode(err error) int {
	var failed *sqlite.Error
	if errors.As(err, &failed) {
		return failed.Code()
	}
	return 0
}

// postgresCode is the SQLSTATE, or "".
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
