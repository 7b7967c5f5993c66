//go:build conformance

package mcp

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"openintent/doors/mcp/conformance"
)

// newServer makes the protocol's server with what the conformance suite asks for beside the door's own.
func newServer(ctx context.Context, implementation *sdk.Implementation, options *sdk.ServerOptions) *sdk.Server {
	return conformance.NewServer(ctx, implementation, options, formOf)
}

// fixtureTask is a task of a fixture in the door's form, with what no task of the door has.
type fixtureTask struct {
	*taskAnswer

	Failure *jsonrpc.Error      `json:"error,omitempty"`
	Wants   sdk.InputRequestMap `json:"inputRequests,omitempty"`
}

// formOf puts a task of a fixture into the door's form.
func formOf(resultType string, t conformance.Task) sdk.Result {
	made := &fixtureTask{
		taskAnswer: task{From: t.Began.UnixMilli(), Until: t.Ends.UnixMilli()}.answer(resultType, t.Status),
		Failure:    t.Failure, Wants: t.Wants,
	}
	made.ID, made.Result = t.ID, t.Result
	return made
}
