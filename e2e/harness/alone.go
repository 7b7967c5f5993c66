package harness

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
)

// Program takes the place of the test when a program uses the harness without one.
type Program struct {
	testing.TB // panics on the methods that are not implemented below

	mutex    sync.Mutex
	failed   bool
	cleanups []func()
}

// Alone lets a program use the harness. It gives run a Program in place of a test, and ends everything that belongs
// to it when run returns. It returns run's result, or 1 when run ended early, for example through Fatal.
func Alone(run func(tb *Program) int) int {
	tb := &Program{}
	result := make(chan int, 1)
	go func() {
		code := 1
		defer func() { result <- code }()
		defer tb.end()
		code = run(tb)
	}()
	code := <-result
	if built.Load() {
		path, _ := build()
		_ = os.RemoveAll(filepath.Dir(path))
	}
	return code
}

func (p *Program) end() {
	for {
		p.mutex.Lock()
		if len(p.cleanups) == 0 {
			p.mutex.Unlock()
			return
		}
		last := p.cleanups[len(p.cleanups)-1]
		p.cleanups = p.cleanups[:len(p.cleanups)-1]
		p.mutex.Unlock()
		last()
	}
}

// Helper does nothing.
func (p *Program) Helper() {}

// Cleanup registers a function to call at the end, last one first.
func (p *Program) Cleanup(do func()) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.cleanups = append(p.cleanups, do)
}

// Fail records that something failed.
func (p *Program) Fail() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.failed = true
}

// Failed reports whether something failed.
func (p *Program) Failed() bool {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.failed
}

// Logf writes to the standard error.
func (p *Program) Logf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, format+"\n", arguments...)
}

// Errorf logs and fails.
func (p *Program) Errorf(format string, arguments ...any) {
	p.Logf(format, arguments...)
	p.Fail()
}

// Fatal logs, fails and ends the goroutine.
func (p *Program) Fatal(arguments ...any) {
	p.Errorf("%s", fmt.Sprint(arguments...))
	runtime.Goexit()
}

// Fatalf logs, fails and ends the goroutine.
func (p *Program) Fatalf(format string, arguments ...any) {
	p.Errorf(format, arguments...)
	runtime.Goexit()
}

// TempDir makes a folder that is removed at the end.
func (p *Program) TempDir() string {
	folder, err := os.MkdirTemp("", "openintent-alone-")
	if err != nil {
		p.Fatal(err)
	}
	p.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}
