package testkit

import (
	"fmt"
	"net"
	"slices"
	"testing"

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
