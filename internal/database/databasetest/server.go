package databasetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// startPatience bounds the start and the stop of a private server.
const startPatience = time.Minute

var errNoServer = errors.New("PostgreSQL 15 or newer is needed for this test: install it (on Debian, apt-get install " +
	"postgresql), or set " + environment + " to the URL of a server whose user may create databases")

// Shutdown is the way in which a server is stopped.
type Shutdown syscall.Signal

const (
	// Fast ends all sessions and writes everything to disk, as a restart by an administrator does.
	Fast = Shutdown(syscall.SIGINT)
	// Immediate ends the server without writing anything to disk, as a crash does; the next start recovers.
	Immediate = Shutdown(syscall.SIGQUIT)
)

// Server is a private PostgreSQL server. It does not wait for the disk, but its commits survive its own crash. When the process
// that started it ends, in whatever way, the server ends too and its files are removed.
type Server struct {
	binaries, folder string
	account          *syscall.SysProcAttr
	port             int
	command          *exec.Cmd
	ended            chan error // receives one value when command ends
	// lifeline is a pipe that closes when this process ends, which ends the server.
	lifeline io.Closer
	watcher  *exec.Cmd
}

// StartServer starts a private server for one test. The test may stop the server and start it again.
func StartServer(tb testing.TB) *Server {
	tb.Helper()
	NeedsPostgreSQL(tb)
	s, err := newServer()
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = s.command.Process.Signal(syscall.SIGQUIT) // it may have ended by itself
		_ = s.lifeline.Close()
		_ = s.watcher.Wait()
	})
	return s
}

// NeedsPostgreSQL skips a test that needs PostgreSQL if PostgreSQL is left out by the setting. Without the setting the test runs,
// and fails if PostgreSQL is not installed.
func NeedsPostgreSQL(tb testing.TB) {
	tb.Helper()
	if os.Getenv(onlySQLite) != "" {
		tb.Skip("PostgreSQL is left out by " + onlySQLite) //nolint:forbidigo // somebody set the variable on purpose, and make test never does
	}
}

// Database makes a database without even a schema and returns its URL.
func (s *Server) Database(tb testing.TB) string {
	tb.Helper()
	pool, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	name := fmt.Sprintf("openintent_test_%016x", rand.Uint64())
	if _, err := pool.Exec("CREATE DATABASE " + name + freshOptions); err != nil {
		tb.Fatalf("making the test's database: %v", err)
	}
	return s.url(name)
}

// Stop stops the server and returns when it has ended.
func (s *Server) Stop(tb testing.TB, how Shutdown) {
	tb.Helper()
	if err := s.command.Process.Signal(syscall.Signal(how)); err != nil {
		tb.Fatalf("stopping PostgreSQL: %v", err)
	}
	select {
	case <-s.ended: //nolint:errcheck // the way in which it ended does not matter
	case <-time.After(startPatience):
		tb.Fatal("PostgreSQL does not stop")
	}
}

// Start starts a stopped server again, with its databases and at its old address.
func (s *Server) Start(tb testing.TB) {
	tb.Helper()
	if err := s.start(); err != nil {
		tb.Fatal(err)
	}
}

// Demote restarts the server as a standby without a primary: it can be read, but takes no writes.
func (s *Server) Demote(tb testing.TB) {
	tb.Helper()
	s.Stop(tb, Fast)
	if err := os.WriteFile(filepath.Join(s.folder, "data", "standby.signal"), nil, 0o644); err != nil {
		tb.Fatal(err)
	}
	s.Start(tb)
}

// Promote makes a standby a primary again.
func (s *Server) Promote(tb testing.TB) {
	tb.Helper()
	pool, err := sql.Open("pgx", s.url("postgres"))
	if err != nil {
		tb.Fatal(err)
	}
	defer func() { _ = pool.Close() }()
	if _, err := pool.Exec("SELECT pg_promote()"); err != nil {
		tb.Fatalf("promoting PostgreSQL: %v", err)
	}
}

// Data returns the path of the server's data, in a folder of its own.
func (s *Server) Data() string { return filepath.Join(s.folder, "data") }

// Shell runs commands under the server's account, in the folder around its data, and returns what they print. PostgreSQL's programs are
// those of the server.
func (s *Server) Shell(tb testing.TB, commands string, environment ...string) string {
	tb.Helper()
	shell := exec.Command("bash", "-euc", commands)
	shell.Dir, shell.SysProcAttr = s.folder, s.account
	shell.Env = append(append(os.Environ(), "PATH="+s.binaries+string(os.PathListSeparator)+os.Getenv("PATH")), environment...)
	output, err := shell.CombinedOutput()
	if err != nil {
		tb.Fatalf("running commands beside PostgreSQL: %v\n%s\n%s", err, commands, output)
	}
	return strings.TrimSpace(string(output))
}

// Freeze suspends the server with all its processes, until Thaw. It still takes connections, as a machine that hangs does, and answers
// nothing.
func (s *Server) Freeze(tb testing.TB) { s.signal(tb, syscall.SIGSTOP) }

// Thaw resumes a frozen server.
func (s *Server) Thaw(tb testing.TB) { s.signal(tb, syscall.SIGCONT) }

// signal sends a signal to all of the server's processes.
func (s *Server) signal(tb testing.TB, signal syscall.Signal) {
	tb.Helper()
	pid := s.command.Process.Pid
	children, err := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/children", pid, pid))
	if err != nil {
		tb.Fatal(err)
	}
	for _, child := range append([]string{strconv.Itoa(pid)}, strings.Fields(string(children))...) {
		if pid, err = strconv.Atoi(child); err == nil {
			_ = syscall.Kill(pid, signal) // some may have ended meanwhile
		}
	}
}

// Maintenance returns the URL of the database that every server has under the same name.
func (s *Server) Maintenance() string { return s.url("postgres") }

func (s *Server) url(name string) string {
	return fmt.Sprintf("postgres://postgres@127.0.0.1:%d/%s?sslmode=disable", s.port, name)
}

// shared is the server that all tests of the process share. This variable keeps it alive, because its lifeline would close if
// nothing referred to it.
var shared *Server

// startServer starts the shared server and returns the URL of its maintenance database.
func startServer() (_ string, err error) {
	if shared, err = newServer(); err != nil {
		return "", err
	}
	return shared.url("postgres"), nil
}

func newServer() (*Server, error) {
	binaries, err := findBinaries()
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "openintent-postgres-")
	if err != nil {
		return nil, err
	}
	s := &Server{binaries: binaries, folder: folder}
	if s.account, err = serverAccount(folder); err != nil {
		return nil, err
	}
	initdb := exec.Command(filepath.Join(binaries, "initdb"), "--pgdata", filepath.Join(folder, "data"),
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = folder, s.account
	if output, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w\n%s", err, output)
	}
	if err := s.watch(); err != nil {
		return nil, err
	}
	var failures []error
	for range 5 { // another process may take the port before the server does
		if s.port, err = freePort(); err != nil {
			return nil, err
		}
		if err = s.start(); err == nil {
			return s, nil
		}
		failures = append(failures, err)
	}
	return nil, errors.Join(failures...)
}

// findBinaries finds the newest installed server.
func findBinaries() (string, error) {
	candidates, err := filepath.Glob("/usr/lib/postgresql/*/bin/postgres")
	if err != nil {
		return "", err
	}
	best, newest := "", 14
	for _, candidate := range candidates {
		version, err := strconv.Atoi(filepath.Base(filepath.Dir(filepath.Dir(candidate))))
		if err == nil && version > newest {
			best, newest = filepath.Dir(candidate), version
		}
	}
	if best != "" {
		return best, nil
	}
	if path, err := exec.LookPath("postgres"); err == nil {
		return filepath.Dir(path), nil
	}
	return "", errNoServer
}

// serverAccount returns the account under which the server runs, because PostgreSQL refuses to run as root.
func serverAccount(folder string) (*syscall.SysProcAttr, error) {
	attributes := &syscall.SysProcAttr{Setsid: true} // an interrupt from the keyboard is for the tests
	if os.Getuid() != 0 {
		return attributes, nil
	}
	account, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("the tests run as root, and PostgreSQL needs another account: %w", err)
	}
	uid, err := strconv.ParseUint(account.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(account.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	attributes.Credential = &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}
	return attributes, os.Chown(folder, int(uid), int(gid))
}

// start starts the server on its port and returns once it answers.
func (s *Server) start() error {
	log, err := os.OpenFile(filepath.Join(s.folder, "log"), os.O_CREATE|os.O_APPEND|os.O_RDWR, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	command := exec.Command(filepath.Join(s.binaries, "postgres"), "-D", filepath.Join(s.folder, "data"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(s.port), "-c", "unix_socket_directories="+s.folder,
		"-c", "max_connections=400", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "timezone=UTC")
	command.Dir, command.SysProcAttr, command.Stdout, command.Stderr = s.folder, s.account, log, log
	if err := command.Start(); err != nil {
		return err
	}
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	s.command, s.ended = command, ended
	if err := awaitServer(s.url("postgres"), ended); err != nil {
		output, _ := os.ReadFile(log.Name())
		return fmt.Errorf("starting PostgreSQL: %w\n%s", err, output)
	}
	return nil
}

// watch starts a helper that waits until its lifeline closes, and then stops the server and removes its files. The lifeline
// closes when this process ends, in whatever way.
func (s *Server) watch() error {
	const script = `cat >/dev/null
if read -r pid <"$1/data/postmaster.pid"; then
	kill -QUIT "$pid"
	while kill -0 "$pid"; do sleep 0.05; done
fi 2>/dev/null
rm -rf "$1"`
	helper := exec.Command("/bin/sh", "-c", script, "sh", s.folder)
	helper.Dir, helper.SysProcAttr = "/", s.account
	lifeline, err := helper.StdinPipe()
	if err != nil {
		return err
	}
	s.lifeline, s.watcher = lifeline, helper
	return helper.Start()
}

// freePort finds a port below the range that the system uses for outgoing connections, so that no connection takes the port
// while a server restarts.
func freePort() (int, error) {
	var failures []error
	for range 100 {
		listener, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 10_000+rand.IntN(20_000)))
		if err == nil {
			defer func() { _ = listener.Close() }()
			return listener.Addr().(*net.TCPAddr).Port, nil
		}
		failures = append(failures, err)
	}
	return 0, errors.Join(failures...)
}

// awaitServer returns once the server answers.
func awaitServer(address string, ended <-chan error) error {
	pool, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer func() { _ = pool.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), startPatience)
	defer cancel()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		err := pool.PingContext(ctx)
		if err == nil {
			return nil
		}
		select {
		case reason := <-ended:
			return fmt.Errorf("the server ended: %w", errors.Join(reason, err))
		case <-ctx.Done():
			return err
		case <-again.C:
		}
	}
}
