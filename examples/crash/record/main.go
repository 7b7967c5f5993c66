// Program record plays the crash example and writes what the terminal shows as a moving picture:
//
//	record -server bin/openintent -python PYTHON -asker ASKER -output docs/crash.svg
//
// It starts a server and the two agents, kills the server with kill -9 in the middle, and starts it again.
package main

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// These are the addresses of the recording's server, and how long it is away.
const (
	httpAddress, grpcAddress = "127.0.0.1:18000", "127.0.0.1:18051"
	away                     = 1500 * time.Millisecond
	patience                 = 2 * time.Minute
)

func main() {
	var r recording
	flag.StringVar(&r.server, "server", "bin/openintent", "the program of the server")
	flag.StringVar(&r.python, "python", "python3", "a Python that has the SDK")
	flag.StringVar(&r.asker, "asker", "bin/asker", "the program of the asker")
	output := flag.String("output", "docs/crash.svg", "where to write the picture")
	flag.Parse()
	ctx, stop := context.WithTimeout(context.Background(), patience)
	defer stop()
	if err := r.play(ctx); err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile(*output, []byte(picture(r.lines)), 0o644); err != nil { //nolint:gosec // it is for everybody
		log.Fatal(err)
	}
}

// line is a line on the terminal, and when it came.
type line struct {
	at        time.Duration
	who, text string
}

type recording struct {
	server, python, asker, folder string
	began                         time.Time

	mutex sync.Mutex
	lines []line
}

// logged is what a line of a log begins with.
var logged = regexp.MustCompile(`^\d{4}[-/]\d\d[-/]\d\d [\d:,]+ [A-Z]+ `)

func (r *recording) add(who, text string) {
	text = logged.ReplaceAllString(text, "")
	r.mutex.Lock()
	defer r.mutex.Unlock()
	r.lines = append(r.lines, line{time.Since(r.began), who, text})
	fmt.Printf("%-11s %s\n", who, text)
}

// play plays the example.
func (r *recording) play(ctx context.Context) (err error) {
	if r.folder, err = os.MkdirTemp("", "crash"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.folder) }()
	r.began = time.Now()
	server, err := r.serve(ctx)
	if err != nil {
		return err
	}
	answerer, _, err := r.run(ctx, "data-agent", "", r.python, "examples/crash/answerer.py")
	if err != nil {
		return err
	}
	defer func() { _ = answerer.Process.Kill() }()
	asker, middle, err := r.run(ctx, "researcher", "batch 4 ", r.asker)
	if err != nil {
		return err
	}
	select {
	case <-middle:
	case <-ctx.Done():
		return ctx.Err()
	}
	r.add("$", "kill -9 the server")
	if err := server.Process.Kill(); err != nil {
		return err
	}
	_ = server.Wait()
	<-time.After(away)
	if server, err = r.serve(ctx); err != nil {
		return err
	}
	defer func() { _ = server.Process.Signal(syscall.SIGTERM) }()
	return asker.Wait()
}

// serve starts the server.
func (r *recording) serve(ctx context.Context) (*exec.Cmd, error) {
	r.add("$", "openintent serve")
	server, listening, err := r.run(ctx, "", "listening", r.server, "serve", "--http-addr", httpAddress, "--grpc-addr", grpcAddress,
		"--database-url", "sqlite:"+filepath.Join(r.folder, "openintent.db"))
	if err != nil {
		return nil, err
	}
	select {
	case <-listening:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	r.add("server", "listens")
	return server, nil
}

// run starts a program. What it prints is recorded if somebody is named as the one who says it. The channel is closed when a line contains a
// text.
func (r *recording) run(ctx context.Context, who, awaited, program string, arguments ...string) (*exec.Cmd, <-chan struct{}, error) {
	command := exec.CommandContext(ctx, program, arguments...)
	command.Env = append(os.Environ(), "OPENINTENT_SERVER="+grpcAddress, "OPENINTENT_URL=http://"+httpAddress, "OPENINTENT_API_KEY=dev-key-001")
	read, write := io.Pipe()
	command.Stdout, command.Stderr = write, write
	seen := make(chan struct{})
	go func() {
		closed := false
		for lines := bufio.NewScanner(read); lines.Scan(); {
			text := lines.Text()
			if who != "" {
				r.add(who, text)
			}
			if !closed && awaited != "" && strings.Contains(text, awaited) {
				closed = true
				close(seen)
			}
		}
	}()
	return command, seen, command.Start()
}
