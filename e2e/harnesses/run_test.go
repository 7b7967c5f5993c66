//go:build harnesses

package harnesses

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// patience bounds a run of a harness.
const patience = 3 * time.Minute

// installed returns the folder into which scripts/harnesses.sh has installed the harnesses.
func installed(t *testing.T) string {
	t.Helper()
	folder, err := filepath.Abs("../../.cache/harnesses")
	require.NoError(t, err)
	return folder
}

func readJSON(t *testing.T, path string, into any) {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, into))
}

// home is a user's own: a folder, an environment, and a harness with an entry of the page.
type home struct {
	kind
	folder, work string
	environment  []string
	model        *Model
}

// newHome makes a home in which a harness finds its entry for one way to a server, and its model. Of the entry it changes the addresses,
// and what replaced has, in pairs.
func newHome(t *testing.T, k kind, way, key string, at *harness.Clients, plays map[string]Play, replaced ...string) *home {
	t.Helper()
	h := &home{kind: k, folder: t.TempDir(), model: NewModel(t, plays)}
	h.keepRequests(t, way)
	entry := strings.NewReplacer(append(replaced,
		addresses[overHTTP], strings.TrimPrefix(at.BaseURL(), "http://"), addresses[onStdio], at.GRPCAddress())...,
	).Replace(Entry(t, k.section, way))
	h.write(t, k.file, k.settled(t, entry, h.model.URL))

	programs := filepath.Join(h.folder, "bin")
	require.NoError(t, os.Mkdir(programs, 0o700))
	require.NoError(t, os.Symlink(harness.Executable(t), filepath.Join(programs, "openintent")))
	node, err := exec.LookPath("node")
	require.NoError(t, err)
	h.work = filepath.Join(h.folder, "work")
	require.NoError(t, exec.Command("git", "init", "--quiet", h.work).Run()) // harnesses expect a repository
	if k.trust != nil {
		file, text := k.trust(h.work)
		h.write(t, file, text)
	}
	h.environment = append([]string{
		"HOME=" + h.folder, "TERM=dumb", "LANG=C.UTF-8", "OPENINTENT_API_KEY=" + key,
		"PATH=" + strings.Join([]string{programs, filepath.Join(installed(t), "node_modules/.bin"), filepath.Dir(node), "/usr/bin", "/bin"}, ":"),
	}, k.environment(h.model.URL)...)
	return h
}

func (h *home) write(t *testing.T, name, text string) {
	t.Helper()
	file := filepath.Join(h.folder, name)
	require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
	require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
}

// keepRequests writes what the harness asks its model into a folder, if somebody wants to see it.
func (h *home) keepRequests(t *testing.T, way string) {
	folder := os.Getenv("OPENINTENT_HARNESSES_KEEP")
	if folder == "" {
		return
	}
	file, err := os.Create(filepath.Join(folder, strings.ReplaceAll(h.name, " ", "")+"-"+way+"-"+filepath.Base(t.Name())+".jsonl"))
	require.NoError(t, err)
	t.Cleanup(func() { _ = file.Close() })
	var mutex sync.Mutex
	h.model.Keep = func(path string, request []byte) {
		mutex.Lock()
		defer mutex.Unlock()
		_, _ = file.WriteString(path + " " + string(request) + "\n")
	}
}

// run is a run of a program in a home.
type run struct {
	ended  chan struct{}
	output func() string
	code   int // once it has ended
}

// start runs a program until it ends, or the test does.
func (h *home) start(t *testing.T, command []string, more ...string) *run {
	t.Helper()
	program := exec.Command("env", append([]string{"-i", "-C", h.work}, append(append(h.environment, more...), command...)...)...)
	program.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var output buffer
	program.Stdout, program.Stderr = &output, &output
	program.WaitDelay = time.Second
	require.NoError(t, program.Start())
	started := &run{ended: make(chan struct{}), output: output.String}
	go func() {
		defer close(started.ended)
		_ = program.Wait() // its code says more
		started.code = program.ProcessState.ExitCode()
	}()
	end := func() { _ = syscall.Kill(-program.Process.Pid, syscall.SIGKILL) }
	late := time.AfterFunc(patience, end)
	t.Cleanup(func() {
		late.Stop()
		end()
		<-started.ended
		if t.Failed() {
			t.Logf("%s:\n%s", strings.Join(command, " "), started.output())
		}
	})
	return started
}

// finish waits for the end of a run and returns all that it printed.
func (r *run) finish() string {
	<-r.ended
	return r.output()
}

// buffer keeps what a program prints.
type buffer struct {
	mutex sync.Mutex
	bytes.Buffer
}

func (b *buffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.Write(text)
}

func (b *buffer) String() string {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.Buffer.String()
}
