package c2a

import (
	"bufio"
	"io"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
)

// start starts `openintent c2a` for an agent, as its harness does.
func start(t *testing.T, address, agent string) *played.Harness {
	t.Helper()
	command := exec.Command(harness.Executable(t), "c2a", "--server", address, "--api-key", harness.Key, "--agent", agent)
	in, err := command.StdinPipe()
	require.NoError(t, err)
	out, err := command.StdoutPipe()
	require.NoError(t, err)
	var log strings.Builder
	command.Stderr = &log
	require.NoError(t, command.Start())
	s := played.New(func(text []byte) error {
		_, err := in.Write(append(text, '\n'))
		return err
	})
	s.Leave = func() { _ = in.Close() }
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 8<<20)
	go s.Read(func() ([]byte, error) {
		if !lines.Scan() {
			return nil, io.EOF
		}
		return lines.Bytes(), nil
	})
	t.Cleanup(func() {
		s.Leave()
		<-s.Over
		_ = command.Wait()
		require.Contains(t, log.String(), "connected; waiting for the client's calls")
	})
	return s
}

// The program serves a harness on standard input and output, and goes on when the server is back.
func TestTheProgramServesOnStandardInputAndOutput(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		line := h.Line(t)
		bob := start(t, line.GRPCAddress(), "bob")
		bob.Initialize(t, played.June2, played.Every)
		s.ready(t, bob)
		require.NoError(t, h.Stop())
		require.Equal(t, "UNAVAILABLE", bob.Refused(t, "chat.list_events", nil))
		h.Start(t)
		question := s.asks(t, "ann", "bob", "still there?")
		d := bob.Next(t)
		require.Equal(t, question.GetId(), d.Event())
		bob.Accept(t, d)
		bob.Tool(t, "chat.react", object{"inReplyTo": d.Event(), "signal": "done"})

		// Another connection takes the place of the program, which ends.
		other := played.Connect(t, &h.Clients, "bob", played.June24, played.Every)
		<-bob.Over
		s.message(t, "ann", "bob", "hello", nil)
		require.Equal(t, []string{"hello"}, other.Next(t).Content())
	})
}
