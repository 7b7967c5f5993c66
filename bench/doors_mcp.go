package main

import (
	"context"
	"encoding/json"
	"errors"
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

// harness connects an agent's harness to the door for MCP, for the tools of a profile.
func (t *target) harness(ctx context.Context, agent, profile string) (*mcp.ClientSession, error) {
	client := mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, nil)
	endpoint := t.base + "/mcp"
	if profile != "" {
		endpoint += "?tools=" + profile
	}
	return client.Connect(ctx, &mcp.StreamableClientTransport{
		Endpoint: endpoint, HTTPClient: &http.Client{Transport: agentHeaders{t.rest.Transport, agent}}, DisableStandaloneSSE: true,
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

// toolSender sends with a tool of the door.
func (t *target) toolSender(profile, tool string, arguments map[string]any) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		session, err := t.harness(ctx, asker, profile)
		if err != nil {
			return nil, err
		}
		context.AfterFunc(ctx, func() { _ = session.Close() })
		return func(ctx context.Context, _ int) error {
			var sent struct{}
			return callTool(ctx, session, tool, arguments, &sent)
		}, nil
	}
}

// waitWithTool lets an agent wait for the channel with the door's tool and measures the time from the beginning of a send over gRPC
// to the tool's answer, which contains the send's commit.
func (t *target) waitWithTool(ctx context.Context, channel string) (figure, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	session, err := t.harness(ctx, responder, "")
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
