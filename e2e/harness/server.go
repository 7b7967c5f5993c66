package harness

import (
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"openintent/database"
	"openintent/database/databasetest"
	"openintent/server"
)

// Patience bounds every wait of a test for something that must happen. It is generous: a busy machine is no fault.
const Patience = time.Minute

// Options differ from test to test; the zero value is a server on a fresh SQLite database.
type Options struct {
	// URL of the database; a fresh SQLite one when empty.
	URL string
	// APIKeys replaces the harness's keys, in the form of OPENINTENT_API_KEYS.
	APIKeys string
	// Configure changes further settings of a server within the process: its clock, hooks and bounds.
	Configure func(*server.Config)
	// Flags are further arguments of a server in a process of its own, such as --retention=1h.
	Flags []string
}

// Server is a server under test with its clients.
type Server struct {
	// DatabaseURL is where its data is.
	DatabaseURL string
	Clients

	run runner
	log *log

	mutex     sync.Mutex
	addresses server.Addresses
}

// runner is a way to run the server.
type runner interface {
	// start returns once the server listens.
	start(tb testing.TB, log *log) server.Addresses
	// stop ends it as SIGTERM does and waits. It gives what went wrong.
	stop() error
	// kill ends it at once.
	kill()
}

// Each runs a test against a fresh server of each engine, within the process, as subtests named after the engines.
func Each(t *testing.T, test func(t *testing.T, h *Server)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { test(t, Start(t, Options{URL: url})) })
}

// EachProcess is Each with a process for each server.
func EachProcess(t *testing.T, test func(t *testing.T, h *Server)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { test(t, StartProcess(t, Options{URL: url})) })
}

// Start runs a server within the test's process until the test ends.
func Start(tb testing.TB, options Options) *Server {
	tb.Helper()
	options = options.withDefaults(tb)
	cfg := server.DefaultConfig()
	cfg.DatabaseURL, cfg.APIKeys = options.URL, options.APIKeys
	cfg.HTTPAddr, cfg.GRPCAddr = "127.0.0.1:0", "127.0.0.1:0"
	if options.Configure != nil {
		options.Configure(&cfg)
	}
	return begin(tb, options.URL, &inProcess{cfg: cfg})
}

// StartProcess runs the built program until the test ends.
func StartProcess(tb testing.TB, options Options) *Server {
	tb.Helper()
	options = options.withDefaults(tb)
	return begin(tb, options.URL, &process{program: Executable(tb), options: options})
}

func (o Options) withDefaults(tb testing.TB) Options {
	if o.URL == "" {
		o.URL = databasetest.URL(tb, database.SQLite)
	}
	if o.APIKeys == "" {
		o.APIKeys = defaultKeys
	}
	return o
}

func begin(tb testing.TB, url string, run runner) *Server {
	tb.Helper()
	s := &Server{DatabaseURL: url, run: run, log: &log{}}
	tb.Cleanup(func() {
		if tb.Failed() {
			tb.Logf("the server's log:\n%s", s.log.String())
		}
	})
	s.addresses = run.start(tb, s.log)
	tb.Cleanup(func() {
		if err := s.run.stop(); err != nil {
			tb.Errorf("stopping the server: %v", err)
		}
	})
	s.Clients = newClients(tb, s.current)
	return s
}

func (s *Server) current() server.Addresses {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.addresses
}

// Log is what the server has logged so far, over all its starts.
func (s *Server) Log() string { return s.log.String() }

// Stop ends the server as SIGTERM does. It gives what went wrong: a process's exit code other than 0, say.
func (s *Server) Stop() error { return s.run.stop() }

// Kill ends the server as kill -9 does: at once, with whatever it was doing. A server within the test's process cannot be
// killed; that is a mistake of the test.
func (s *Server) Kill() { s.run.kill() }

// Freeze stops a process without its knowing, as a machine does that has no time for it, until Thaw.
func (s *Server) Freeze(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Thaw lets a frozen process go on.
func (s *Server) Thaw(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

// Hangup sends a process SIGHUP, which tells it to read its key file again.
func (s *Server) Hangup(tb testing.TB) { s.signal(tb, syscall.SIGHUP) }

// PID is the id of a process, by which the system tells what it uses.
func (s *Server) PID(tb testing.TB) int { return s.process(tb).Pid }

func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	if err := s.process(tb).Signal(signal); err != nil {
		tb.Fatal(err)
	}
}

func (s *Server) process(tb testing.TB) *os.Process {
	tb.Helper()
	process, ok := s.run.(*process)
	if !ok || process.command == nil {
		tb.Fatal("only a server in a process of its own that runs has an id and takes signals")
	}
	return process.command.Process
}

// Start starts a server that was stopped or killed again, on the same database.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	addresses := s.run.start(tb, s.log)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.addresses = addresses
}

// log is a buffer that the server writes while the test reads.
type log struct {
	mutex sync.Mutex
	text  []byte
}

func (l *log) Write(text []byte) (int, error) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.text = append(l.text, text...)
	return len(text), nil
}

func (l *log) String() string {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return string(l.text)
}
