//go:build conformance

package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors/mcp/conformance"
)

// newServer makes the protocol's server with what the conformance suite asks for beside the door's own.
func newServer(ctx context.Context, implementation *sdk.Implementation, options *sdk.ServerOptions) *sdk.Server {
	return conformance.NewServer(ctx, implementation, options)
}
