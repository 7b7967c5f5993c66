package main

import (
	"context"
	"errors"
	"io"

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
back.

  openintent mcp --agent researcher`
}

// Run serves one client.
func (c *mcpCommand) Run(ctx context.Context, to terminal) error {
	harness, err := c.atDoor(ctx, to)
	if err != nil {
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

// unclosed keeps a writer open that this program does not own.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
