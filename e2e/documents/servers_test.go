package documents

import (
	"bufio"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// remarkServer stands before a block that starts a server, and then perhaps asks it something.
const remarkServer = "<!-- not run: starts a server -->"

// Each server that a page starts does start, with its settings as they stand. Only what is on other machines is replaced.
func TestServersStartAsShown(t *testing.T) {
	shown := 0
	for _, name := range pages(t) {
		for _, b := range blocks(readDocument(t, name)) {
			if b.remark == remarkServer {
				shown++
				t.Run(fmt.Sprintf("%s:%d", name, b.line), func(t *testing.T) { startAsShown(t, b.text) })
			}
		}
	}
	require.NotZero(t, shown)
}

// startAsShown starts the server of a block, waits until it listens, runs what follows in the block, and stops the server.
func startAsShown(t *testing.T, text string) {
	folder := t.TempDir()
	require.NoError(t, os.Symlink(harness.Executable(t), filepath.Join(folder, "openintent")))
	saveShown(t, folder, "docs/operating.md", "yaml", "keys.yaml")
	saveShown(t, folder, "docs/settings.md", "yaml", "settings.yaml")
	text = withPprof(t, folder, here(t, folder).Replace(text))
	starting, following, found := cutAfter(text, " serve\n", " settings.yaml\n")
	require.True(t, found, "the block starts no server:\n%s", text)

	command := exec.Command("bash", "-euc", starting)
	command.Dir = folder
	command.Env = append(os.Environ(), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"),
		"OPENINTENT_HTTP_ADDR=127.0.0.1:0", "OPENINTENT_GRPC_ADDR=127.0.0.1:0")
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	log, err := command.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, command.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-command.Process.Pid, syscall.SIGKILL)
		_ = command.Wait()
	})
	listening, said := make(chan bool, 1), &sharedBuffer{}
	go func() {
		for lines := bufio.NewScanner(log); lines.Scan(); {
			_, _ = said.Write(append(lines.Bytes(), '\n'))
			if strings.Contains(lines.Text(), `"msg":"listening"`) {
				listening <- true
			}
		}
		close(listening)
	}()
	select {
	case is := <-listening:
		require.True(t, is, "the server does not start:\n%s\n%s", starting, said)
	case <-time.After(harness.Patience):
		require.FailNow(t, "the server does not listen", "%s\n%s", starting, said)
	}
	follow := exec.Command("bash", "-euc", following)
	follow.Dir = folder
	output, err := follow.CombinedOutput()
	require.NoError(t, err, "%s\n%s", following, output)
}

// saveShown saves a page's first block in a language as a file.
func saveShown(t *testing.T, folder, page, language, name string) {
	t.Helper()
	for _, b := range blocks(readDocument(t, page)) {
		if b.language == language {
			require.NoError(t, os.WriteFile(filepath.Join(folder, name), []byte(b.text), 0o600))
			return
		}
	}
	require.FailNow(t, page+" shows no "+language)
}

// here replaces what is on other machines in the pages, and what takes long.
func here(t *testing.T, folder string) *strings.Replacer {
	at, err := url.Parse(databasetest.BlankURL(t, database.PostgreSQL))
	require.NoError(t, err)
	hosts := strings.Repeat(at.Hostname()+",", 2) + at.Hostname()
	ports := strings.Repeat(at.Port()+",", 2) + at.Port()
	certificate, key := harness.NewAuthority(t).Server(t)
	require.NoError(t, os.Rename(certificate, filepath.Join(folder, "tls.crt")))
	require.NoError(t, os.Rename(key, filepath.Join(folder, "tls.key")))
	free := "127.0.0.1:0"
	return strings.NewReplacer(
		"make build\n", "", "bin/openintent", "openintent", "go run ./cmd/openintent", "openintent",
		"/etc/openintent", folder, "0.0.0.0:8000", free, "0.0.0.0:50051", free,
		server.DefaultConfig().HTTPAddr, free, "127.0.0.1:8001", freeAddress(t), "seconds=10", "seconds=1",
		"postgres://openintent@db.internal/openintent", at.String(),
		"openintent:...@/openintent?host=db-1.internal,db-2.internal,db-3.internal",
		at.User.String()+"@"+at.Path+"?sslmode=disable&host="+hosts+"&port="+ports,
	)
}

// withPprof lets a block that uses Go's pprof start one that is built in a folder. `go tool` would first compile the standard library
// again, because it does not use the flags with which everything else is built for the tests.
func withPprof(t *testing.T, folder, text string) string {
	t.Helper()
	const shown = "go tool pprof"
	if !strings.Contains(text, shown) {
		return text
	}
	path := filepath.Join(folder, "pprof")
	output, err := exec.Command("go", "build", "-o", path, "cmd/pprof").CombinedOutput()
	require.NoError(t, err, "%s", output)
	return strings.ReplaceAll(text, shown, path)
}

// cutAfter cuts a text after the first of some ends that it has.
func cutAfter(text string, ends ...string) (before, after string, found bool) {
	for _, end := range ends {
		if before, after, found = strings.Cut(text, end); found {
			return before + end, after, true
		}
	}
	return text, "", false
}
