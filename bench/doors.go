package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/server"
)

const (
	// waits is how many waits of a round are measured, and beforeSend how long each has waited when the message is sent.
	waits      = 50
	beforeSend = 20 * time.Millisecond
)

// doors measures what a send through a door takes, compared with the same over gRPC, and how long after a send a waiting tool
// answers.
func (p plan) doors(ctx context.Context, engine string) error {
	t, err := p.startServer(ctx, engine, "doors")
	if err != nil {
		return err
	}
	defer t.stop()
	overGRPC, overMCP := series{"send, gRPC", "one channel"}, series{"send, MCP", "one channel"}
	all := &results{figures: make(map[series]map[int][]figure)}
	for range p.rounds {
		channels, err := t.openChannels(ctx, 1)
		if err != nil {
			return err
		}
		for _, callers := range []int{1, 16} {
			for _, load := range []struct {
				series series
				work   func(context.Context) (worker, error)
			}{{overGRPC, t.grpcSender(channels)}, {overMCP, t.toolSender(channels[0])}} {
				measured, err := p.load(ctx, callers, load.work)
				if err != nil {
					return fmt.Errorf("%s, %d callers: %w", load.series.name, callers, err)
				}
				all.add(load.series, callers, measured)
			}
		}
		waited, err := t.waitWithTool(ctx, channels[0])
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		all.add(series{"send to a waiting tool, MCP", "one channel"}, 1, waited)
	}
	all.print(engine)
	direct, _ := all.median(overGRPC, 1)
	through, _ := all.median(overMCP, 1)
	fmt.Printf("1 caller: a send through MCP takes %.2f times gRPC's p50 (the aim is at most 3)\n",
		float64(through.median)/float64(direct.median))
	return nil
}

// harness connects an agent's harness to the door.
func (t *target) harness(ctx context.Context, agent string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: t.base + "/mcp", HTTPClient: &http.Client{Transport: agentHeaders{t.rest.Transport, agent}}, DisableStandaloneSSE: true,
	}, nil)
}

// agentHeaders adds an agent's credentials to each request.
type agentHeaders struct {
	http.RoundTripper
	agent string
}

// RoundTrip sends the request with the credentials.
func (h agentHeaders) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("X-API-Key", server.DevelopmentKey)
	r.Header.Set("X-Agent-ID", h.agent)
	return h.RoundTripper.RoundTrip(r)
}

// callTool calls a tool and reads its answer.
func callTool(ctx context.Context, session *mcp.ClientSession, name string, arguments map[string]any, into any) error {
	result, err := session.CallTool(ctx, &mcp.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		return err
	}
	text, ok := result.Content[0].(*mcp.TextContent)
	switch {
	case !ok:
		return errors.New("the answer is no text")
	case result.IsError:
		return errors.New(text.Text)
	}
	return json.Unmarshal([]byte(text.Text), into)
}

// toolSender sends with the door's tool.
func (t *target) toolSender(channel string) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		session, err := t.harness(ctx, asker)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = session.Close() })
		return func(ctx context.Context, _ int) error {
			var sent struct{}
			return callTool(ctx, session, "send", map[string]any{"channel": channel, "text": text}, &sent)
		}, nil
	}
}

// waitWithTool lets an agent wait for the channel with the door's tool and measures the time from the beginning of a send over gRPC
// to the tool's answer, which contains the send's commit.
func (t *target) waitWithTool(ctx context.Context, channel string) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := t.harness(ctx, responder)
	if err != nil {
		return figure{}, err
	}
	defer func() { _ = session.Close() }()
	send, err := t.grpcSender([]string{channel})(ctx)
	if err != nil {
		return figure{}, err
	}
	took := make([]time.Duration, 0, waits)
	started := time.Now()
	for n := range waits {
		answered := make(chan error, 1)
		go func() {
			var messages struct{}
			answered <- callTool(ctx, session, "wait", map[string]any{"for": channel}, &messages)
		}()
		<-time.After(beforeSend)
		before := time.Now()
		if err := send(ctx, n); err != nil {
			return figure{}, err
		}
		if err := <-answered; err != nil {
			return figure{}, err
		}
		took = append(took, time.Since(before))
	}
	return figureOf(took, time.Since(started))
}
