package openintenttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	startsWithin = 30 * time.Second
	lookEvery    = 2 * time.Millisecond
)

// findProgram returns the path of the server's program.
func findProgram() (string, error) {
	if named := os.Getenv("OPENINTENT_PROGRAM"); named != "" {
		found, err := exec.LookPath(named)
		if err != nil {
			return "", fmt.Errorf("OPENINTENT_PROGRAM must name the server's program, and %s is none that can be run", named)
		}
		return found, nil
	}
	for _, name := range []string{"openintentd", "openintent"} {
		if found, err := exec.LookPath(name); err == nil {
			return found, nil
		}
	}
	return "", errors.New("the server's program was not found: put openintent on the PATH, or name the program in OPENINTENT_PROGRAM")
}

// program is a server that runs for a test.
type program struct {
	running *exec.Cmd
	// lifeline is the server's standard input. It ends with this process, however that ends, and then the server ends, too.
	lifeline   io.Closer
	exited     chan struct{} // closed once it has ended
	log        string
	http, grpc string
}

// startProgram starts the server, and waits until it answers.
func startProgram(tb testing.TB, arguments []string) *program {
	tb.Helper()
	path, err := findProgram()
	if err != nil {
		tb.Fatal(err)
	}
	folder := tb.TempDir()
	p := &program{log: filepath.Join(folder, "log"), exited: make(chan struct{})}
	ready := filepath.Join(folder, "ready.json")
	arguments = append([]string{
		"serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0", "--log-format=text", "--until-input-ends",
		"--ready-file=" + ready,
	}, arguments...)
	p.running = exec.Command(path, arguments...)
	p.running.Dir, p.running.Env = folder, append(withoutSettings(os.Environ()), "TMPDIR="+folder)
	log, err := os.Create(p.log)
	if err != nil {
		tb.Fatal(err)
	}
	p.running.Stdout, p.running.Stderr = log, log
	p.lifeline, err = p.running.StdinPipe()
	err = errors.Join(err, p.running.Start(), log.Close())
	if err != nil {
		tb.Fatalf("the server's program cannot be run: %v", err)
	}
	go func() {
		defer close(p.exited)
		_ = p.running.Wait() // the log says why it ended
	}()
	tb.Cleanup(func() { p.stop(tb) })
	if err := p.await(ready); err != nil {
		tb.Fatalf("%v; it said:\n%s", err, p.said())
	}
	return p
}

// withoutSettings leaves out the settings of whoever runs the tests.
func withoutSettings(environment []string) []string {
	return slices.DeleteFunc(environment, func(variable string) bool { return strings.HasPrefix(variable, "OPENINTENT_") })
}

// await waits until the server has written where it answers.
func (p *program) await(ready string) error {
	late, look := time.After(startsWithin), time.NewTicker(lookEvery)
	defer look.Stop()
	for {
		text, err := os.ReadFile(ready)
		if err == nil {
			var at struct{ HTTP, GRPC string }
			err = json.Unmarshal(text, &at)
			p.http, p.grpc = at.HTTP, at.GRPC
			return err
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		select {
		case <-look.C:
		case <-p.exited:
			return errors.New("the server did not start")
		case <-late:
			return fmt.Errorf("the server did not start within %s", startsWithin)
		}
	}
}

// said returns the server's log.
func (p *program) said() string {
	text, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// stop ends the server. Nobody needs its database any more.
func (p *program) stop(tb testing.TB) {
	if tb.Failed() {
		tb.Logf("log of the OpenIntent server:\n%s", p.said())
	}
	_ = p.running.Process.Kill() // it fails if the server has ended by itself
	<-p.exited
}
