//go:build !conformance

package mcp

import (
	"context"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// newServer makes the protocol's server. A build for the conformance suite has another form of it, in fixtures.go.
func newServer(_ context.Context, implementation *sdk.Implementation, options *sdk.ServerOptions) *sdk.Server {
	return sdk.NewServer(implementation, options)
}
