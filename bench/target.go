package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/server"
)

// The child process learns from the environment what to serve.
const (
	childMode     = "OPENINTENT_BENCH_CHILD"
	childDatabase = "OPENINTENT_BENCH_DATABASE"
	modeServer    = "server"
	modeEcho      = "echo"

	asker     = "bench-asker"
	responder = "bench-responder"
)

// target is a server process and its clients.
type target struct {
	process *exec.Cmd
	input   io.Closer
	conn    *grpc.ClientConn
	rest    *http.Client
	base    string
}

// addresses are what a child process says on its first line of output.
type addresses struct{ HTTP, GRPC string }

// serveChild is what the child process runs: until its standard input ends, which it does with its parent.
func serveChild(mode string) error {
	ctx, stop := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		stop()
	}()
	if mode == modeEcho {
		return serveEcho(ctx)
	}
	cfg := server.DefaultConfig()
	cfg.DatabaseURL = os.Getenv(childDatabase)
	cfg.HTTPAddr, cfg.GRPCAddr, cfg.LogLevel = "127.0.0.1:0", "127.0.0.1:0", "error"
	return server.Run(ctx, cfg, func(at server.Addresses) { announce(addresses{HTTP: at.HTTP, GRPC: at.GRPC}) })
}

func announce(at addresses) { _ = json.NewEncoder(os.Stdout).Encode(at) }

func startServer(ctx context.Context, databaseURL string) (*target, error) {
	return start(ctx, childMode+"="+modeServer, childDatabase+"="+databaseURL)
}

func startEcho(ctx context.Context) (*target, error) { return start(ctx, childMode+"="+modeEcho) }

func start(ctx context.Context, environment ...string) (*target, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, err
	}
	t := &target{process: exec.CommandContext(ctx, program)}
	t.process.Env = append(os.Environ(), environment...)
	t.process.Stderr = os.Stderr
	t.process.Cancel = func() error { return t.process.Process.Signal(syscall.SIGTERM) }
	if t.input, err = t.process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := t.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := t.process.Start(); err != nil {
		return nil, err
	}
	var at addresses
	if err := json.NewDecoder(output).Decode(&at); err != nil {
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	t.base = "http://" + at.HTTP
	t.rest = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	t.conn, err = grpc.NewClient(at.GRPC, grpc.WithTransportCredentials(insecure.NewCredentials()))
	return t, err
}

func (t *target) stop() {
	_ = t.conn.Close()
	_ = t.input.Close()
	_ = t.process.Wait()
}

// as names the calling agent.
func as(ctx context.Context, agent string) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-api-key", server.DevelopmentKey, "x-agent-id", agent)
}

// keepAll lists every message of a run, so that nothing is evicted: the baseline deletes nothing either.
const keepAll = 1_000_000_000

// openChannels opens channels, each in an intent of its own as agents' work is spread.
func (t *target) openChannels(ctx context.Context, n int) ([]string, error) {
	ids := make([]string, n)
	for i := range ids {
		intent, err := openintentv1.NewIntentServiceClient(t.conn).CreateIntent(as(ctx, asker),
			&openintentv1.CreateIntentRequest{Title: "bench"})
		if err != nil {
			return nil, err
		}
		channel, err := openintentv1.NewChannelServiceClient(t.conn).CreateChannel(as(ctx, asker),
			&openintentv1.CreateChannelRequest{
				IntentId: intent.GetId(), Name: "bench", Options: &openintentv1.ChannelOptions{MaxMessages: proto.Int64(keepAll)},
			})
		if err != nil {
			return nil, err
		}
		ids[i] = channel.GetId()
	}
	return ids, nil
}

// batchCount is how many batches the writer has committed, and of how many messages together.
type batchCount struct{ batches, messages float64 }

func (c batchCount) since(before batchCount) float64 {
	if c.batches == before.batches {
		return 0
	}
	return (c.messages - before.messages) / (c.batches - before.batches)
}

// batches reads the writer's counters from the metrics page.
func (t *target) batches(ctx context.Context) (count batchCount) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, t.base+"/metrics", http.NoBody)
	if err != nil {
		return count
	}
	response, err := t.rest.Do(request)
	if err != nil {
		return count
	}
	defer response.Body.Close()
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		switch name {
		case "openintent_write_batch_messages_sum":
			count.messages, _ = strconv.ParseFloat(value, 64)
		case "openintent_write_batch_messages_count":
			count.batches, _ = strconv.ParseFloat(value, 64)
		}
	}
	return count
}
