package packages

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/server"
)

func TestTheUnitOfSystemdFitsTheProgram(t *testing.T) {
	unit := read(t, "deploy/systemd/openintent.service")
	one := func(name string) string {
		t.Helper()
		found := values(unit, name+"=")
		require.Len(t, found, 1, name)
		return found[0]
	}
	command := strings.Fields(one("ExecStart"))
	require.Equal(t, "serve", command[1])
	for _, word := range command[2:] {
		if flag, ok := strings.CutPrefix(word, "--"); ok {
			require.Contains(t, slices.Collect(maps.Values(settings())), flag)
		}
	}
	require.Equal(t, "notify", one("Type"), "the program says when it is ready")
	require.Equal(t, "2", one("RestartPreventExitStatus"), "the exit code of settings that are refused")
	seconds, err := strconv.Atoi(one("TimeoutStopSec"))
	require.NoError(t, err)
	require.Greater(t, time.Duration(seconds)*time.Second, server.DefaultConfig().StopTimeout)
	require.Equal(t, "/var/lib/"+one("StateDirectory"), one("WorkingDirectory"), "SQLite's file lies where the program may write")
	require.Equal(t, []string{"u " + one("User") + ` - "openintent server" /var/lib/openintent`},
		slices.DeleteFunc(strings.Split(strings.TrimSpace(read(t, "deploy/systemd/openintent.sysusers")), "\n"),
			func(line string) bool { return strings.HasPrefix(line, "#") }))
}
