package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"openintent/server"
)

// peer is a process of another server, or of a load that can talk to it. It ends when its input ends.
type peer struct {
	process *exec.Cmd
	input   io.WriteCloser
	output  *json.Decoder
}

func startPeer(ctx context.Context, program string, arguments ...string) (*peer, error) {
	p := &peer{process: exec.CommandContext(ctx, program, arguments...)}
	p.process.Stderr = os.Stderr
	p.process.Cancel = func() error { return p.process.Process.Signal(syscall.SIGTERM) }
	var err error
	if p.input, err = p.process.StdinPipe(); err != nil {
		return nil, err
	}
	output, err := p.process.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.output = json.NewDecoder(output)
	return p, p.process.Start()
}

func (p *peer) stop() {
	_ = p.input.Close()
	_ = p.process.Wait()
}

// job is what a load must do.
type job struct {
	Work     string
	Address  string
	Callers  int
	Channels int
	Seconds  float64
}

// do makes a load do a job.
func (p *peer) do(given job) (figure, error) {
	if err := json.NewEncoder(p.input).Encode(given); err != nil {
		return figure{}, err
	}
	var measured struct {
		PerSecond    float64
		Median, Slow time.Duration
		Error        string
	}
	if err := p.output.Decode(&measured); err != nil {
		return figure{}, err
	}
	if measured.Error != "" {
		return figure{}, errors.New(measured.Error)
	}
	return figure{perSecond: measured.PerSecond, median: measured.Median, slow: measured.Slow}, nil
}

// job returns a function that measures a load's job.
func (c *comparison) job(load *peer, work, address string, channels int) func(context.Context, int) (figure, error) {
	return func(_ context.Context, callers int) (figure, error) {
		return load.do(job{Work: work, Address: address, Callers: callers, Channels: channels, Seconds: c.duration.Seconds()})
	}
}

// natsServer is a NATS server with JetStream in its own directory.
type natsServer struct {
	*peer
	address string
}

func (c *comparison) startNATS(ctx context.Context, settings ...string) (*natsServer, error) {
	directory, err := os.MkdirTemp(c.scratch, "jetstream")
	if err != nil {
		return nil, err
	}
	started, err := startPeer(ctx, c.program, append([]string{"nats", directory}, settings...)...)
	if err != nil {
		return nil, err
	}
	var at struct{ Address string }
	if err := started.output.Decode(&at); err != nil {
		started.stop()
		return nil, fmt.Errorf("NATS did not start: %w", err)
	}
	return &natsServer{peer: started, address: at.Address}, nil
}

// publishedServer is the published Python server.
type publishedServer struct {
	process *exec.Cmd
	base    string
	client  *http.Client
}

func (c *comparison) startPublished(ctx context.Context) (*publishedServer, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	address := listener.Addr().String()
	_ = listener.Close()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	p := &publishedServer{
		base: "http://" + address, client: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1024}},
		process: exec.CommandContext(ctx, c.python, "-m", "openintent.server", "--host", "127.0.0.1", "--port", port,
			"--database-url", "sqlite:///"+filepath.Join(c.scratch, "published.db"),
			"--api-keys", server.DevelopmentKey, "--log-level", "error"),
	}
	p.process.Stderr = os.Stderr
	if err := p.process.Start(); err != nil {
		return nil, err
	}
	deadline, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	for {
		if err = p.post(deadline, "/api/v1/intents/bench/channels", []byte(`{"name":"first"}`), nil); err == nil {
			return p, nil
		}
		if wait(deadline, 100*time.Millisecond); deadline.Err() != nil {
			p.stop()
			return nil, fmt.Errorf("the published server did not start: %w", err)
		}
	}
}

func (p *publishedServer) stop() {
	_ = p.process.Process.Signal(syscall.SIGTERM)
	_ = p.process.Wait()
}

// post creates something and reads the answer into `into`, unless that is nil.
func (p *publishedServer) post(ctx context.Context, path string, body []byte, into any) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.base+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	return p.do(request, http.StatusCreated, into)
}

func (p *publishedServer) do(request *http.Request, status int, into any) error {
	request.Header.Set("X-API-Key", server.DevelopmentKey)
	request.Header.Set("X-Agent-ID", asker)
	response, err := p.client.Do(request)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode != status {
		return fmt.Errorf("%s was answered with %s", request.URL.Path, response.Status)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (p *publishedServer) openChannels(ctx context.Context, n int) ([]string, error) {
	ids := make([]string, n)
	for i := range ids {
		var channel struct{ ID string }
		if err := p.post(ctx, "/api/v1/intents/bench/channels", []byte(`{"name":"bench"}`), &channel); err != nil {
			return nil, err
		}
		ids[i] = channel.ID
	}
	return ids, nil
}

// sender sends the same as restSender.
func (p *publishedServer) sender(channels []string) func(context.Context) (worker, error) {
	body := []byte(`{"sender":"` + asker + `","payload":{"question":"` + text + `","attempt":1}}`)
	return func(context.Context) (worker, error) {
		return func(ctx context.Context, n int) error {
			return p.post(ctx, "/api/v1/channels/"+channels[n%len(channels)]+"/messages", body, nil)
		}, nil
	}
}

// lister lists the messages after the one that is a hundred before the last.
func (p *publishedServer) lister(channel string, messages int) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		path := "/api/v1/channels/" + channel + "/messages"
		var cursor struct{ ID string }
		send, err := p.sender([]string{channel})(ctx)
		for i := 0; err == nil && i < messages; i++ {
			if i != messages-listed-1 {
				err = send(ctx, i)
				continue
			}
			err = p.post(ctx, path, []byte(`{"sender":"`+asker+`"}`), &cursor)
		}
		return func(ctx context.Context, _ int) error {
			request, err := http.NewRequestWithContext(ctx, http.MethodGet, p.base+path+"?since="+cursor.ID, http.NoBody)
			if err != nil {
				return err
			}
			return p.do(request, http.StatusOK, nil)
		}, err
	}
}
