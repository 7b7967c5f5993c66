package main

import (
	"context"
	"errors"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors"
	"openintent/doors/mcp"
	openintentv1 "openintent/gen/openintent/v1"
)

// mcpCommand is the door for MCP on standard input and output.
type mcpCommand struct {
	connection
}

// longestLine bounds a line that the client sends, in bytes. A message's payload is smaller.
const longestLine = 4 << 20

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
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	// This waits for a server that is away; the calls of the door do not.
	known, err := called(client.Raw().Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{}))
	if err != nil {
		return err
	}
	if known.GetOperator() {
		return errNoAgent
	}
	log := to.logger()
	connection := &watched{ClientConnInterface: client.Connection(), log: log}
	caller, err := doors.IdentifyDialled(ctx, connection)
	if _, err = called(caller, err); err != nil {
		return err
	}
	log.Info("connected; waiting for the client's calls", "agent", caller.Agent, "server", client.Server())
	door := mcp.New(mcp.Config{Connection: connection, Version: version})
	err = door.Serve(ctx, caller, &sdk.IOTransport{
		Reader: io.NopCloser(to.stdin), Writer: unclosed{to.stdout}, MaxLineLength: longestLine,
	})
	if err != nil && ctx.Err() == nil && !errors.Is(err, io.EOF) {
		return err
	}
	log.Info("the client has left")
	return nil
}

// errNoAgent refuses to act as nobody.
var errNoAgent = usagef("the key belongs to no agent; name the agent to act as with --agent or OPENINTENT_AGENT_ID")

// unclosed keeps a writer open that this program does not own.
type unclosed struct{ io.Writer }

// Close does nothing.
func (unclosed) Close() error { return nil }
