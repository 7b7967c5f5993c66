package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors/mcp"
)

// mcpCommand is the door for MCP on standard input and output.
type mcpCommand struct {
	connection
}

// Help says who starts it.
func (mcpCommand) Help() string {
	return `Serves MCP, the Model Context Protocol, on standard input and output, one JSON message a line. A harness such as Claude Code
starts it; its model then acts as this agent. It says on standard error what happens to the connection.

It ends when its standard input does. While the server is away, calls of tools are refused with UNAVAILABLE; they work again when it is
back. A client that it cannot serve gets the reason in answer to its first request.

  openintent mcp --agent researcher`
}

// Run serves one client.
func (c *mcpCommand) Run(ctx context.Context, to terminal) error {
	harness, err := c.atDoor(ctx, to)
	if err != nil {
		if !isTerminal(to.stdin) {
			tellClient(to, err)
		}
		return err
	}
	defer harness.leave()
	door := mcp.New(mcp.Config{Connection: harness.connection, Version: version, Logger: harness.log})
	err = door.Serve(ctx, harness.caller, &sdk.IOTransport{
		Reader: io.NopCloser(to.stdin), Writer: unclosed{to.stdout}, MaxLineLength: longestLine,
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	harness.log.Info("the client has left")
	return nil
}

// clientPatience is how long a client that cannot be served has for its first request.
const clientPatience = 5 * time.Second

// notServed is the code, of those that JSON-RPC leaves to programs, of the answer to a client that cannot be served.
const notServed = -32000

// tellClient answers a client's first request with the reason why it cannot be served. Harnesses show that, but not what a program says
// on standard error.
func tellClient(to terminal, reason error) {
	first := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(to.stdin).ReadString('\n')
		first <- line
	}()
	var request struct {
		ID json.RawMessage `json:"id"`
	}
	select {
	case line := <-first:
		if json.Unmarshal([]byte(line), &request) != nil || request.ID == nil {
			return
		}
	case <-time.After(clientPatience):
		return
	}
	_ = json.NewEncoder(to.stdout).Encode(map[string]any{ // the client may have left
		"jsonrpc": "2.0", "id": request.ID,
		"error": map[string]any{"code": notServed, "message": "openintent: " + oneLine(sentence(reason))},
	})
}

// unclosed keeps a writer open that this program does not own.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
