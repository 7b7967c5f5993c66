package main

import (
	"context"

	"openintent/doors/c2a"
)

// c2aCommand is the door for C2A on standard input and output.
type c2aCommand struct {
	connection
}

// Help says who starts it.
func (c2aCommand) Help() string {
	return `Serves C2A, the Chat-to-Agents protocol, on standard input and output, one JSON message a line. A harness starts it, sends
initialize, and gets this agent's messages as chat/deliver. It says on standard error what happens to the connection.

It ends when its standard input does, and when another connection of the agent takes its place. While the server is away, calls of tools
are refused with UNAVAILABLE; deliveries go on when it is back.

  openintent c2a --agent researcher`
}

// Run serves one harness.
func (c *c2aCommand) Run(ctx context.Context, to terminal) error {
	harness, err := c.atDoor(ctx, to)
	if err != nil {
		return err
	}
	defer harness.leave()
	door := c2a.New(c2a.Config{Connection: harness.connection, Version: version, MaxMessageBytes: longestLine, Logger: harness.log})
	defer door.Stop()
	if err := door.Serve(ctx, harness.caller, to.stdin, to.stdout); err != nil && ctx.Err() == nil {
		return err
	}
	harness.log.Info("the client has left")
	return nil
}
