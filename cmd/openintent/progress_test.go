package main

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// lockedBuffer is a buffer that may be read while it is written.
type lockedBuffer struct {
	lock sync.Mutex
	text bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.Write(text)
}

func (b *lockedBuffer) String() string {
	b.lock.Lock()
	defer b.lock.Unlock()
	return b.text.String()
}

// ticking runs a command whose progress is shown all the time.
func ticking(t *testing.T, arguments ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ticks := make(chan time.Time)
	var feeding sync.WaitGroup
	feeding.Go(func() {
		for {
			select {
			case ticks <- time.Now():
			case <-ctx.Done():
				return
			}
		}
	})
	defer feeding.Wait()
	defer cancel()
	var stdout, stderr lockedBuffer
	exit := run(ctx, arguments, terminal{stdin: strings.NewReader(""), stdout: &stdout, stderr: &stderr, ticks: ticks})
	return outcome{exit, stdout.String(), stderr.String()}
}

// Commands that may take long say how far they have come, on standard error alone, and not with --quiet.
func TestLongCommandsSayHowFarTheyHaveCome(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		for range 3 {
			alice.does(t, "notify", "data", "bob", "{}")
		}
		intent := strings.TrimSpace(alice.does(t, "intents", "--ids"))
		url := alice.server.DatabaseURL
		folder := t.TempDir()
		for _, test := range []struct {
			says      string
			arguments []string
		}{
			{"openintent: rule 1: checking that ", []string{"check", "--database-url", url}},
			{"openintent: checking the copy, ", []string{"backup", filepath.Join(folder, "one"), "--database-url", url}},
			{"openintent: exported 1 rows, ", []string{"agent-data", "export", "bob", "--database-url", url}},
			{"openintent: read ", append([]string{"replay", intent}, bob.connection()...)},
		} {
			require.Eventually(t, func() bool {
				did := ticking(t, test.arguments...)
				require.Equal(t, exitOK, did.exit, did.stderr)
				require.NotContains(t, did.stdout, "openintent: ")
				if test.arguments[0] == "backup" {
					test.arguments[1] += "x"
				}
				return strings.Contains(did.stderr, test.says)
			}, time.Minute, time.Millisecond, "%s", test.arguments)
			if test.arguments[0] == "backup" {
				test.arguments[1] += "x"
			}
			did := ticking(t, append(test.arguments, "--quiet")...)
			require.Equal(t, exitOK, did.exit)
			require.Empty(t, did.stderr, "%s", test.arguments)
		}
		require.Empty(t, bob.run(t.Context(), "inbox", "-q").stderr, "no counts")
		require.Equal(t, "openintent: nothing came in time\n", alice.run(t.Context(), "inbox", "--wait", "1ms", "-q").stderr, "errors stay")
	})
}

// On a terminal there is one line, which is gone before a result is written and in the end.
func TestProgressOnATerminalIsOneLine(t *testing.T) {
	var screen lockedBuffer
	p := &progress{to: terminal{stderr: &screen}, began: time.Now(), live: true, ended: make(chan struct{})}
	p.show()
	require.Empty(t, screen.String(), "nothing to say yet")
	p.say("read %d entries", 1)
	p.show()
	p.say("read %d entries", 2)
	p.show()
	_, err := clearing{p, &screen}.Write([]byte("a result\n"))
	require.NoError(t, err)
	p.show()
	p.end()
	require.Equal(t, "openintent: read 1 entries, 0s"+"\r\x1b[K"+"openintent: read 2 entries, 0s"+"\r\x1b[K"+"a result\n"+
		"openintent: read 2 entries, 0s"+"\r\x1b[K", screen.String())
}
