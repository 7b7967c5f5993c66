package server

import (
	"context"

	"google.golang.org/grpc"

	"openintent/doors/repomesh"
	"openintent/intents"
	"openintent/internal/database"
)

// newRepomesh makes the door for RepoMesh's protocol. The server itself makes the mesh, so that it belongs to none of the agents.
func newRepomesh(connection grpc.ClientConnInterface, options gatewayOptions, cfg Config) *repomesh.Door {
	return repomesh.New(repomesh.Config{Connection: connection, Intent: cfg.RepomeshIntent, Found: options.FoundMesh, Logger: options.Logger})
}

// foundMesh makes the mesh and its default channel in the server's own name, unless the mesh is there. Both come at once, so that no
// agent can make the channel first.
func (r *rooms) foundMesh(ctx context.Context) error {
	return r.intents.Found(ctx, repomesh.DefaultIntent, "RepoMesh",
		"Where agents meet that speak RepoMesh's Agent Communication Protocol.",
		func(tx *database.Tx, head *intents.Head) error {
			return r.channels.Found(tx, head, repomesh.DefaultChannel)
		})
}
