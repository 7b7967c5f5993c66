package database

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// All connections lead to the primary, even those for reading: a standby lags behind, and a reader that is woken looks for
// something that was committed a moment ago. So each new connection is checked, and of several hosts the first primary is
// used. While connections exist, a primary may become a standby, or its address may lead to another server. A write that finds
// its session read-only therefore gives its connection up and tries another one, and all other connections are checked again
// before their next use.

const (
	// readOnlySessions is the setting of the connections for reading.
	readOnlySessions = "default_transaction_read_only"
	// verifiedAt is the key of the time when a connection was last known to lead to a primary.
	verifiedAt = "openintent verified at"
)

// readOnlyError means that the server refused a write because the session is read-only.
type readOnlyError struct{ cause error }

func (e *readOnlyError) Error() string {
	return "the database takes no writes on this connection, as a standby does: " + e.cause.Error()
}

func (e *readOnlyError) Unwrap() error { return e.cause }

// refusedAsReadOnly marks the error of a write that found its session read-only.
func refusedAsReadOnly(err error) error {
	if postgresCode(err) != "25006" || isReadOnly(err) {
		return err
	}
	return &readOnlyError{err}
}

func isReadOnly(err error) bool {
	var refused *readOnlyError
	return errors.As(err, &refused)
}

// target is what the URL says about the servers that a connection may lead to.
type target string

func targetOf(address string) target {
	_, options, _ := strings.Cut(address, "?") // net/url does not accept every address with several hosts
	named, _ := url.ParseQuery(options)        // the driver has refused malformed options already
	if attributes := named.Get("target_session_attrs"); attributes != "" {
		return target(attributes)
	}
	return target(os.Getenv("PGTARGETSESSIONATTRS"))
}

// check refuses a target that would lead to servers that take no writes or that lag behind.
func (t target) check() error {
	switch t {
	case "", "any", "primary", "read-write":
		return nil
	}
	return fmt.Errorf("target_session_attrs=%s leads to servers that take no writes or lag behind; leave it out, or set it to "+
		"read-write or primary", string(t))
}

// writing returns the check for a new connection for writing; nil if the URL allows any server.
func (t target) writing() pgconn.ValidateConnectFunc {
	switch t {
	case "any":
		return nil
	case "primary":
		return t.reading()
	}
	return takesWrites
}

// reading returns the check for a new connection on which all transactions are read-only anyway.
func (t target) reading() pgconn.ValidateConnectFunc {
	if t == "any" {
		return nil
	}
	return explained(pgconn.ValidateConnectTargetSessionAttrsPrimary)
}

var takesWrites = explained(pgconn.ValidateConnectTargetSessionAttrsReadWrite)

// explained adds to the refusal of a server what it means for the person who set the URL.
func explained(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err == nil || isEnded(err) || isLost(err) {
			return err
		}
		return fmt.Errorf("the server takes no writes, as a standby does; the database URL must lead to the primary: %w", err)
	}
}

// verified notes that a new connection leads to a primary.
func verified(_ context.Context, conn *pgx.Conn) error {
	conn.PgConn().CustomData()[verifiedAt] = time.Now().UnixNano()
	return nil
}

// verifyAgain checks a connection again before its next use, if a write has found a read-only session since the last check.
func (p *postgresServer) verifyAgain(config *pgx.ConnConfig) func(context.Context, *pgx.Conn) error {
	validate := config.ValidateConnect
	if config.RuntimeParams[readOnlySessions] != "on" {
		validate = takesWrites // the write needs this, whatever the URL allows
	}
	return func(ctx context.Context, conn *pgx.Conn) error {
		if at, _ := conn.PgConn().CustomData()[verifiedAt].(int64); validate == nil || at > p.readOnly.Load() {
			return nil
		}
		now := time.Now().UnixNano()
		if err := validate(ctx, conn.PgConn()); err != nil {
			return driver.ErrBadConn
		}
		conn.PgConn().CustomData()[verifiedAt] = now
		return nil
	}
}
