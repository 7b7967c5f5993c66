package database

import (
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// The driver reads for 15 seconds what a connection that it has given up still brings, and then closes it. A commit may take longer.
func TestADeadlineDoesNotEndACommit(t *testing.T) {
	t.Parallel()
	near, far := net.Pipe()
	conn := &guardedConn{Conn: near, guard: &commitGuard{}}
	require.NoError(t, conn.SetDeadline(time.Now()))
	_, err := conn.Read(make([]byte, 1))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)

	conn.guard.committing.Store(true)
	require.NoError(t, conn.SetDeadline(time.Now()))
	go func() {
		_, _ = far.Write([]byte("the answer"))
		_ = far.Close()
	}()
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Equal(t, "the answer", string(answer))
}
