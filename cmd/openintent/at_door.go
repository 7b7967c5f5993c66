package main

import (
	"context"
	"log/slog"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// longestLine bounds a line that a harness sends on standard input, in bytes. A message's payload is smaller.
const longestLine = 4 << 20

// atDoor is a harness that has started this program as its door.
type atDoor struct {
	connection *watched
	caller     *doors.Caller
	log        *slog.Logger
	leave      func()
}

// atDoor connects to the server as the harness's agent. leave must be called at the end.
func (c *connection) atDoor(ctx context.Context, to terminal) (*atDoor, error) {
	client, err := c.dial(to)
	if err != nil {
		return nil, err
	}
	leave := func() { _ = client.Close() }
	// This waits for a server that is away; the calls of the door do not.
	known, err := called(client.Raw().Agents.WhoAmI(ctx, &openintentv1.WhoAmIRequest{}))
	if err != nil {
		leave()
		return nil, err
	}
	if known.GetOperator() {
		leave()
		return nil, errNoAgent
	}
	log := to.logger()
	connection := client.Connection()
	if known.GetHuman() {
		connection = forModel{connection}
	}
	watched := &watched{ClientConnInterface: connection, log: log}
	caller, err := doors.IdentifyDialled(ctx, watched)
	if _, err = called(caller, err); err != nil {
		leave()
		return nil, err
	}
	log.Info("connected; waiting for the client's calls", "agent", caller.Agent, "server", client.Server())
	return &atDoor{watched, caller, log, leave}, nil
}

// errNoAgent refuses to act as nobody.
var errNoAgent = usagef("the key belongs to no agent; name the agent to act as with --agent or OPENINTENT_AGENT_ID")

// forModel says with each call that a door makes it for a model, so that what a person's key sends is not taken for the person's own word.
type forModel struct{ grpc.ClientConnInterface }

func (c forModel) saying(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "x-openintent-door", "stdio")
}

// Invoke makes a call with one answer.
func (c forModel) Invoke(ctx context.Context, method string, request, response any, options ...grpc.CallOption) error {
	return c.ClientConnInterface.Invoke(c.saying(ctx), method, request, response, options...)
}

// NewStream begins a call with many answers.
func (c forModel) NewStream(
	ctx context.Context, description *grpc.StreamDesc, method string, options ...grpc.CallOption,
) (grpc.ClientStream, error) {
	return c.ClientConnInterface.NewStream(c.saying(ctx), description, method, options...)
}
