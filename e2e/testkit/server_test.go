package testkit

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/sdk/go/openintenttest"
)

// Nothing answers any more when the test of a server has ended.
func TestNothingIsLeft(t *testing.T) {
	var address string
	t.Run("a test", func(t *testing.T) {
		server := start(t)
		server.Peer("data-agent", "").StaysSilent()
		address = server.Address()
	})
	_, err := net.Dial("tcp", address)
	require.Error(t, err)
}

// hosting makes TestAServerEndsWithAProcessThatIsKilled the process that is killed.
const hosting = "OPENINTENT_TESTKIT_HOSTS"

func TestAServerEndsWithAProcessThatIsKilled(t *testing.T) {
	if os.Getenv(hosting) != "" {
		fmt.Println(openintenttest.Start(t).Address())
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	host := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
	host.Env = append(os.Environ(), hosting+"=1", "OPENINTENT_PROGRAM="+harness.Executable(t), "TMPDIR="+t.TempDir())
	host.Stderr = os.Stderr
	input, err := host.StdinPipe()
	require.NoError(t, err)
	defer func() { _ = input.Close() }()
	output, err := host.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, host.Start())
	said, err := bufio.NewReader(output).ReadString('\n')
	require.NoError(t, err)
	address := strings.TrimSpace(said)
	listens := func() bool {
		connection, err := net.Dial("tcp", address)
		if err == nil {
			_ = connection.Close()
		}
		return err == nil
	}
	require.True(t, listens())
	require.NoError(t, host.Process.Kill())
	require.Error(t, host.Wait())
	require.Eventually(t, func() bool { return !listens() }, harness.Patience, 10*time.Millisecond)
}

func TestTheSettingsOfWhoeverTestsDoNotCount(t *testing.T) {
	t.Setenv("OPENINTENT_API_KEYS", "another-key")
	require.Equal(t, t.Name(), start(t).Intent().Title)
}

// scripted is a test that ends when it is told to, and notes what it logs.
type scripted struct {
	testing.TB
	failed bool
	ends   []func()
	logged string
}

func (s *scripted) Failed() bool       { return s.failed }
func (s *scripted) Cleanup(end func()) { s.ends = append(s.ends, end) }

func (s *scripted) Logf(format string, arguments ...any) {
	s.logged += fmt.Sprintf(format, arguments...)
}

func (s *scripted) end() {
	for _, end := range slices.Backward(s.ends) {
		end()
	}
}

func TestTheLogIsShownOnlyWhenATestFails(t *testing.T) {
	t.Setenv("OPENINTENT_PROGRAM", harness.Executable(t))
	passing, failing := &scripted{TB: t}, &scripted{TB: t, failed: true}
	for _, test := range []*scripted{passing, failing} {
		openintenttest.Start(test)
		test.end()
	}
	require.Empty(t, passing.logged)
	require.Contains(t, failing.logged, "msg=listening")
}
