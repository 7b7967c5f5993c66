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

const (
	asker     = "bench-asker"
	responder = "bench-responder"
)

// target is a server process and its clients.
type target struct {
	process *exec.Cmd
	input   io.WriteCloser
	output  *json.Decoder
	address string
	conn    *grpc.ClientConn
	rest    *http.Client
	base    string
}

// startServer starts a server on a fresh database.
func (p plan) startServer(ctx context.Context, engine, name string) (*target, error) {
	url, err := p.databaseURL(ctx, engine, name)
	if err != nil {
		return nil, err
	}
	return startReplica(ctx, url)
}

// startReplica starts a server on a database that it may share.
func startReplica(ctx context.Context, databaseURL string, environment ...string) (*target, error) {
	return start(ctx, append(environment, childMode+"="+modeServer, childDatabase+"="+databaseURL)...)
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
	t.output = json.NewDecoder(output)
	if err := t.output.Decode(&at); err != nil {
		return nil, fmt.Errorf("the server did not start: %w", err)
	}
	t.base, t.address = "http://"+at.HTTP, at.GRPC
	t.rest = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}}
	t.conn, err = t.connect()
	return t, err
}

// connect opens a separate connection.
func (t *target) connect() (*grpc.ClientConn, error) {
	return grpc.NewClient(t.address, grpc.WithTransportCredentials(insecure.NewCredentials()))
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

// openChannels opens channels, each in a new intent, as agents' work is spread.
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

// batchCount is how many batches the writer has committed, and how many messages they contained.
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
