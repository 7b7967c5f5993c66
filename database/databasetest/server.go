package databasetest

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// startPatience bounds the start of the private server.
const startPatience = time.Minute

var errNoServer = errors.New("PostgreSQL 15 or newer is needed for this test: install it (on Debian, apt-get install " +
	"postgresql), or set " + environment + " to the URL of a server whose user may create databases")

// lifelines are pipes whose ends, which come with the end of this process, end the private server. There is one for
// each attempt to start it.
var lifelines []io.WriteCloser

// startServer makes a private PostgreSQL server without durability and returns the URL of its maintenance database.
func startServer() (string, error) {
	binaries, err := findBinaries()
	if err != nil {
		return "", err
	}
	folder, err := os.MkdirTemp("", "openintent-postgres-")
	if err != nil {
		return "", err
	}
	account, err := serverAccount(folder)
	if err != nil {
		return "", err
	}
	initdb := exec.Command(filepath.Join(binaries, "initdb"), "--pgdata", filepath.Join(folder, "data"),
		"--username", "postgres", "--auth", "trust", "--encoding", "UTF8", "--locale", "C", "--no-sync")
	initdb.Dir, initdb.SysProcAttr = folder, account
	if output, err := initdb.CombinedOutput(); err != nil {
		return "", fmt.Errorf("initdb: %w\n%s", err, output)
	}
	var failures []error
	for range 5 { // somebody else may take the port in between
		address, err := startOnPort(binaries, folder, account)
		if err == nil {
			return address, nil
		}
		failures = append(failures, err)
	}
	return "", errors.Join(failures...)
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

// serverAccount says under which account the server runs: PostgreSQL refuses to run as root.
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

func startOnPort(binaries, folder string, account *syscall.SysProcAttr) (string, error) {
	port, err := freePort()
	if err != nil {
		return "", err
	}
	log, err := os.Create(filepath.Join(folder, "log"))
	if err != nil {
		return "", err
	}
	defer func() { _ = log.Close() }()
	server := exec.Command(filepath.Join(binaries, "postgres"), "-D", filepath.Join(folder, "data"),
		"-c", "listen_addresses=127.0.0.1", "-c", "port="+strconv.Itoa(port), "-c", "unix_socket_directories="+folder,
		"-c", "max_connections=400", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "timezone=UTC")
	server.Dir, server.SysProcAttr, server.Stdout, server.Stderr = folder, account, log, log
	if err := server.Start(); err != nil {
		return "", err
	}
	if err := watch(server.Process.Pid, folder, account); err != nil {
		return "", errors.Join(err, server.Process.Kill())
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	address := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	if err := awaitServer(address, ended); err != nil {
		output, _ := os.ReadFile(log.Name())
		return "", fmt.Errorf("starting PostgreSQL: %w\n%s", err, output)
	}
	return address, nil
}

// watch starts a helper that waits for its lifeline to end, as it does however this process ends, and then stops the
// server and removes its files.
func watch(pid int, folder string, account *syscall.SysProcAttr) error {
	const script = `cat >/dev/null
kill -QUIT "$1" 2>/dev/null
while kill -0 "$1" 2>/dev/null; do sleep 0.05; done
rm -rf "$2"`
	helper := exec.Command("/bin/sh", "-c", script, "sh", strconv.Itoa(pid), folder)
	helper.Dir, helper.SysProcAttr = "/", account
	lifeline, err := helper.StdinPipe()
	if err != nil {
		return err
	}
	lifelines = append(lifelines, lifeline)
	return helper.Start()
}

func freePort() (int, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer func() { _ = listener.Close() }()
	return listener.Addr().(*net.TCPAddr).Port, nil
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
