package harness

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"openintent/server"
)

// process runs the built program.
type process struct {
	options Options
	command *exec.Cmd  // nil while it does not run
	ended   chan error // the end of command, once
}

func (p *process) start(tb testing.TB, log *log) server.Addresses {
	tb.Helper()
	arguments := append([]string{
		"serve", "--database-url", p.options.URL, "--http-addr", "127.0.0.1:0", "--grpc-addr", "127.0.0.1:0",
		"--api-keys", p.options.APIKeys, "--log-format", "json",
	}, p.options.Flags...)
	command := exec.Command(p.options.Program, arguments...)
	command.Dir = tb.TempDir()
	stderr, err := command.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := command.Start(); err != nil {
		tb.Fatalf("starting the program: %v", err)
	}
	release, err := leash(command.Process.Pid)
	if err != nil {
		_ = command.Process.Kill()
		tb.Fatal(err)
	}
	listening := make(chan server.Addresses, 1)
	ended := make(chan error, 1)
	go func() {
		readLog(stderr, log, listening)
		err := command.Wait()
		release()
		ended <- err
	}()
	p.command, p.ended = command, ended
	select {
	case addresses := <-listening:
		return addresses
	case err := <-ended:
		p.command = nil
		tb.Fatalf("the program ended instead of listening: %v", err)
	case <-time.After(Patience):
		p.kill()
		tb.Fatal("the program did not listen in time")
	}
	return server.Addresses{}
}

// leash starts a helper that kills a process when this process ends, however it ends, because that closes the
// helper's standard input.
func leash(pid int) (release func(), err error) {
	helper := exec.Command("/bin/sh", "-c", `read -r _; kill -KILL "$1"`, "sh", strconv.Itoa(pid))
	input, err := helper.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := helper.Start(); err != nil {
		return nil, err
	}
	return func() {
		_ = helper.Process.Kill()
		_ = helper.Wait()
		_ = input.Close()
	}, nil
}

// readLog copies the program's log and finds the line with its addresses.
func readLog(stderr io.Reader, log *log, listening chan<- server.Addresses) {
	lines := bufio.NewScanner(stderr)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		_, _ = log.Write(append(lines.Bytes(), '\n'))
		var line struct{ Msg, HTTP, GRPC string }
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Msg == "listening" {
			listening <- server.Addresses{HTTP: line.HTTP, GRPC: line.GRPC}
		}
	}
	_, _ = io.Copy(log, stderr)
}

func (p *process) stop() error {
	if p.command == nil {
		return nil
	}
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	select {
	case err := <-p.ended:
		p.command = nil
		return err
	case <-time.After(Patience):
		p.kill()
		return errors.New("the program did not stop in time and was killed")
	}
}

func (p *process) kill() {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Kill() // it may have ended by itself
	<-p.ended                    //nolint:errcheck // how it ended does not matter
	p.command = nil
}

// programVariable is the environment variable that names the program, if it is already built. The Makefile builds it once for
// all packages.
const programVariable = "OPENINTENT_TEST_PROGRAM"

// build builds the program once for the test process.
var build = sync.OnceValues(func() (path string, err error) {
	folder, err := os.MkdirTemp("", "openintent-program-")
	if err != nil {
		return "", err
	}
	path = filepath.Join(folder, "openintent")
	command := exec.Command("go", "build", "-o", path, "openintent/cmd/openintent")
	if output, err := command.CombinedOutput(); err != nil {
		return path, fmt.Errorf("building the program: %w\n%s", err, output)
	}
	return path, nil
})

// built records that there is a program to remove.
var built atomic.Bool

// Executable returns the path of the program; the file is named openintent. It builds the program, once for the test process,
// unless OPENINTENT_TEST_PROGRAM names one.
func Executable(tb testing.TB) string {
	tb.Helper()
	if path := os.Getenv(programVariable); path != "" {
		return path
	}
	built.Store(true)
	path, err := build()
	if err != nil {
		tb.Fatal(err)
	}
	return path
}

// Main runs a package's tests and removes the program that they built. Call it from TestMain.
func Main(m *testing.M) {
	code := m.Run()
	if built.Load() {
		path, _ := build()
		_ = os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(code)
}
