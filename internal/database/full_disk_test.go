package database

import (
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
)

// Whoever starts a server on a full disk learns what is full and what to do, and the cause stays.
func TestAStartOnAFullDiskSaysSo(t *testing.T) {
	address := filepath.Join(t.TempDir(), "a.db")
	pool, err := sql.Open("sqlite", address)
	require.NoError(t, err)
	defer func() { require.NoError(t, pool.Close()) }()
	pool.SetMaxOpenConns(1)
	for _, statement := range []string{"CREATE TABLE t (x blob)", "PRAGMA max_page_count = 3"} {
		_, err = pool.ExecContext(t.Context(), statement)
		require.NoError(t, err)
	}
	_, full := pool.ExecContext(t.Context(), "INSERT INTO t VALUES (zeroblob(100000))")
	require.Error(t, full)
	for _, row := range []struct {
		cause error
		says  string
	}{
		{full, "the disk of " + address + " is full"},
		{&os.PathError{Op: "open", Path: address, Err: syscall.ENOSPC}, "the disk of " + address + " is full"},
		{fmt.Errorf("writing: %w", syscall.EROFS), address + " takes no writes"},
		{syscall.EFBIG, "ulimit -f"},
	} {
		err := explainFull(row.cause, "sqlite:"+address)
		require.ErrorContains(t, err, row.says)
		require.ErrorIs(t, err, row.cause)
	}
	require.ErrorContains(t, explainFull(&pgconn.PgError{Code: "53100"}, "postgres://secret@host/db"), "the disk of the database's server is full")
	other := errors.New("another cause")
	require.Equal(t, other, explainFull(other, "sqlite:a.db"))
}
