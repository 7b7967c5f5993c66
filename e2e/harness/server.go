package harness

import (
	"crypto/tls"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// Patience bounds every wait of a test for something that must happen. It is generous, because a busy machine is not
// a failure.
const Patience = time.Minute

// Options are the settings that differ between tests; the zero value means a server on a fresh SQLite database.
type Options struct {
	// URL is the database's URL; empty means a fresh SQLite database.
	URL string
	// APIKeys replaces the harness's keys, in the form of OPENINTENT_API_KEYS.
	APIKeys string
	// Configure changes further settings of a server within the test's process: its clock, hooks and bounds.
	Configure func(*server.Config)
	// TLS is how the clients of a server with TLS connect; nil means without TLS.
	TLS *tls.Config
	// Flags are further arguments of a server in a separate process, such as --retention=1h.
	Flags []string
	// Program is the path of the program that a separate process runs, such as that of another release; empty means this one's.
	Program string
}

// Server is a server under test with its clients.
type Server struct {
	// DatabaseURL is where its data is.
	DatabaseURL string
	Clients

	run   runner
	log   *log
	shown sync.Once // the log

	mutex     sync.Mutex
	addresses server.Addresses
}

// runner is one way to run the server.
type runner interface {
	// start returns once the server listens.
	start(tb testing.TB, log *log) server.Addresses
	// stop ends the server as SIGTERM does, waits for the end, and returns what went wrong.
	stop() error
	// kill ends the server immediately.
	kill()
}

// Each runs a test against a fresh server on each engine that it takes (databasetest.EnginesOf), within the process, as subtests named after the
// engines.
func Each(t *testing.T, test func(t *testing.T, h *Server)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { test(t, Start(t, Options{URL: url})) })
}

// EachWith does what Each does, with further settings.
func EachWith(t *testing.T, configure func(*server.Config), test func(t *testing.T, h *Server)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) { test(t, Start(t, Options{URL: url, Configure: configure})) })
}

// EachProcess does what Each does, with a separate process for each server.
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
	// Each connection to PostgreSQL is a process there. With these few in place of the usual ones, e2e/strangers needs a seventh less of its time.
	cfg.DatabaseWriteConnections, cfg.DatabaseReadConnections, cfg.DatabaseHeavyConnections = 2, 3, 1
	if options.Configure != nil {
		options.Configure(&cfg)
	}
	return begin(tb, options, &inProcess{cfg: cfg})
}

// StartProcess runs the built program until the test ends.
func StartProcess(tb testing.TB, options Options) *Server {
	tb.Helper()
	options = options.withDefaults(tb)
	if options.Program == "" {
		options.Program = Executable(tb)
	}
	return begin(tb, options, &process{options: options})
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

func begin(tb testing.TB, options Options, run runner) *Server {
	tb.Helper()
	s := &Server{DatabaseURL: options.URL, run: run, log: &log{}}
	tb.Cleanup(func() {
		if tb.Failed() {
			s.ShowLog(tb)
		}
	})
	s.addresses = run.start(tb, s.log)
	tb.Cleanup(func() {
		if err := s.run.stop(); err != nil {
			tb.Errorf("stopping the server: %v", err)
		}
	})
	s.Clients = newClients(tb, s.current, options.TLS)
	return s
}

func (s *Server) current() server.Addresses {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.addresses
}

// Log returns what the server has logged so far, over all its starts.
func (s *Server) Log() string { return s.log.String() }

// Stop ends the server as SIGTERM does. It returns what went wrong, such as a process's exit code other than 0.
func (s *Server) Stop() error { return s.run.stop() }

// Kill ends the server as kill -9 does: immediately, whatever it was doing. A server within the test's process cannot
// be killed; calling Kill on it is a mistake in the test.
func (s *Server) Kill() { s.run.kill() }

// Freeze suspends a process without its knowledge until Thaw, as an overloaded machine might.
func (s *Server) Freeze(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Thaw resumes a frozen process.
func (s *Server) Thaw(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

// Hangup sends a process SIGHUP, which tells it to read its key file again.
func (s *Server) Hangup(tb testing.TB) { s.signal(tb, syscall.SIGHUP) }

// PID returns the id of the process, under which the system reports its resource use.
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
		tb.Fatal("only a running server in a separate process has an id and takes signals")
	}
	return process.command.Process
}

// Become makes a stopped or killed server in a separate process run another program from its next start on.
func (s *Server) Become(tb testing.TB, program string) {
	tb.Helper()
	process, ok := s.run.(*process)
	if !ok {
		tb.Fatal("only a server in a separate process can become another program")
	}
	process.options.Program = program
}

// Start starts a stopped or killed server again, on the same database.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	addresses := s.run.start(tb, s.log)
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.addresses = addresses
}
