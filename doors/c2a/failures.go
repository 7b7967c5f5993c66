package c2a

import (
	"context"

	"openintent/doors"
)

// failed logs a failure of the door itself, of which its harness learns no more than that it was logged. The server logs those of calls.
// what says what the door was about to do: answer a method or a tool, or send a frame. Of arguments and messages the log has nothing.
func (c *connection) failed(ctx context.Context, what, name string, err error) {
	if doors.OwnFailure(err) {
		c.log.ErrorContext(ctx, "the door for C2A failed", what, name, "error", err)
	}
}

// refuse returns a refusal of the contract, or a failure, as the answer to a method.
func (c *connection) refuse(ctx context.Context, method string, err error) *rpcError {
	c.failed(ctx, "method", method, err)
	return refused(err)
}
