package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/coder/websocket"

	"openintent/server"
)

// chatHarness is one agent's harness at the door for C2A. It asks one thing after the other, as the door answers.
type chatHarness struct {
	connection *websocket.Conn
	asked      int
}

// chatFrame is what the measurement reads of a frame.
type chatFrame struct {
	Method string          `json:"method"`
	Error  json.RawMessage `json:"error"`
	Result struct {
		IsError           bool            `json:"isError"`
		StructuredContent json.RawMessage `json:"structuredContent"`
	} `json:"result"`
}

// connectChat connects an agent's harness and agrees on a draft.
func (t *target) connectChat(ctx context.Context, agent string) (*chatHarness, error) {
	connection, response, err := websocket.Dial(ctx, t.base+"/c2a", &websocket.DialOptions{
		HTTPClient: t.rest, HTTPHeader: http.Header{"X-Api-Key": {server.DevelopmentKey}, "X-Agent-Id": {agent}},
	})
	if response != nil && response.Body != nil {
		_ = response.Body.Close()
	}
	if err != nil {
		return nil, err
	}
	h := &chatHarness{connection: connection}
	err = h.ask(ctx, "initialize", map[string]any{
		"protocolVersion": "2026-06-24", "clientInfo": map[string]any{"name": "bench", "version": "1"}, "capabilities": map[string]any{},
	})
	return h, err
}

// ask sends a request and waits for its answer. What the door delivers meanwhile waits for an acknowledgement that does not come.
func (h *chatHarness) ask(ctx context.Context, method string, params any) error {
	h.asked++
	request, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": h.asked, "method": method, "params": params})
	if err != nil {
		return err
	}
	if err := h.connection.Write(ctx, websocket.MessageText, request); err != nil {
		return err
	}
	for {
		_, text, err := h.connection.Read(ctx)
		if err != nil {
			return err
		}
		var answer chatFrame
		if err := json.Unmarshal(text, &answer); err != nil {
			return err
		}
		switch {
		case answer.Method != "": // a delivery
		case answer.Error != nil:
			return errors.New(string(answer.Error))
		case answer.Result.IsError:
			return errors.New(string(answer.Result.StructuredContent))
		default:
			return nil
		}
	}
}

// harnessSender sends with chat.send_message. Each caller is an agent of its own, because an agent has one connection. They send to
// an agent without a harness, so that no send is delivered to the others.
func (t *target) harnessSender(channel string) func(context.Context) (worker, error) {
	return func(ctx context.Context) (worker, error) {
		most := doorCallers[len(doorCallers)-1]
		free := make(chan *chatHarness, most)
		for i := range most {
			h, err := t.connectChat(ctx, fmt.Sprintf("bench-harness-%d", i))
			if err != nil {
				return nil, err
			}
			context.AfterFunc(ctx, func() { _ = h.connection.CloseNow() })
			free <- h
		}
		keys := "bench " + strconv.FormatInt(time.Now().UnixNano(), 36) + " "
		return func(ctx context.Context, n int) error {
			h := <-free
			defer func() { free <- h }()
			return h.ask(ctx, "tools/call", map[string]any{"name": "chat.send_message", "arguments": map[string]any{
				"target": map[string]any{"conversationId": channel, "recipient": "agent:" + responder}, "content": text,
				"idempotencyKey": keys + strconv.Itoa(n), "visibility": "dm", "directedness": "ambient",
			}})
		}, nil
	}
}
