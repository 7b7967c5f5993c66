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

// Connections lead to the primary, those for reading too: a standby is behind, and what wakes a reader tells it to look for
// what was committed a moment ago. So each new connection is asked whether it leads there, and of several hosts the first
// that does is taken. A primary may become a standby, or the way to it may lead elsewhere, while connections exist: a write
// that finds its session read-only gives its connection up and tries another, and the other connections are asked again
// before their next use.

const (
	// readOnlySessions is the setting of the connections for reading.
	readOnlySessions = "default_transaction_read_only"
	// verifiedAt names the time when a connection was last known to lead to a primary.
	verifiedAt = "openintent verified at"
)

// readOnlyError is a write that was refused because its session takes none.
type readOnlyError struct{ cause error }

func (e *readOnlyError) Error() string {
	return "the database takes no writes on this connection, as a standby does: " + e.cause.Error()
}

func (e *readOnlyError) Unwrap() error { return e.cause }

// refusedAsReadOnly marks the error of a write that met a read-only session.
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

// target is what the URL says of the servers that a connection may lead to.
type target string

func targetOf(address string) target {
	_, options, _ := strings.Cut(address, "?") // an address of several hosts is not always a URL that net/url takes
	named, _ := url.ParseQuery(options)        // whatever of it is malformed, the driver has refused
	if attributes := named.Get("target_session_attrs"); attributes != "" {
		return target(attributes)
	}
	return target(os.Getenv("PGTARGETSESSIONATTRS"))
}

// check refuses what would lead the server to where it cannot write, or reads what is old.
func (t target) check() error {
	switch t {
	case "", "any", "primary", "read-write":
		return nil
	}
	return fmt.Errorf("target_session_attrs=%s leads to servers that take no writes or are behind; leave it out, or say "+
		"read-write or primary", string(t))
}

// writing gives what a new connection for writing must pass; nil when the URL takes any server.
func (t target) writing() pgconn.ValidateConnectFunc {
	switch t {
	case "any":
		return nil
	case "primary":
		return t.reading()
	}
	return takesWrites
}

// reading is writing for connections on which all transactions are read-only anyway.
func (t target) reading() pgconn.ValidateConnectFunc {
	if t == "any" {
		return nil
	}
	return explained(pgconn.ValidateConnectTargetSessionAttrsPrimary)
}

var takesWrites = explained(pgconn.ValidateConnectTargetSessionAttrsReadWrite)

// explained says what a refused server means for whoever set the URL.
func explained(validate pgconn.ValidateConnectFunc) pgconn.ValidateConnectFunc {
	return func(ctx context.Context, conn *pgconn.PgConn) error {
		err := validate(ctx, conn)
		if err == nil || isEnded(err) || isLost(err) {
			return err
		}
		return fmt.Errorf("the server takes no writes, as a standby does; the database URL must lead to the primary: %w", err)
	}
}

// verified notes of a new connection that it leads to a primary.
func verified(_ context.Context, conn *pgx.Conn) error {
	conn.PgConn().CustomData()[verifiedAt] = time.Now().UnixNano()
	return nil
}

// verifyAgain asks a connection again before its next use if a write has met a read-only session since it was last asked.
func (p *postgresServer) verifyAgain(config *pgx.ConnConfig) func(context.Context, *pgx.Conn) error {
	validate := config.ValidateConnect
	if config.RuntimeParams[readOnlySessions] != "on" {
		validate = takesWrites // whatever the URL takes, this is what the write has missed
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
