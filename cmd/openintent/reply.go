package main

import (
	"context"

	openintent "openintent/sdk/go"
)

// replyCommand answers a request.
type replyCommand struct {
	connection
	output
	messageArgument
	payloadFlags
	factFlags
	aboutFlags
	Fence int64 `placeholder:"N" help:"The fence of the agent's claim on the request ($$OPENINTENT_CLAIM_FENCE); one answer, or a certain number of them, needs it." env:"OPENINTENT_CLAIM_FENCE"`
}

// Run answers and prints the answer's reference.
func (c *replyCommand) Run(ctx context.Context, to terminal) error {
	if err := c.check(); err != nil {
		return err
	}
	draft, err := c.draft(c.payloadFlags, expiryFlag{}, c.conversation(), to)
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, message, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	sent, err := client.ReplyTo(ctx, channel, message, openintent.Reply{
		Payload: draft.Payload, Metadata: draft.Metadata, IdempotencyKey: draft.IdempotencyKey,
		Fence: c.Fence, Conversation: draft.Conversation,
	})
	if err != nil {
		return err
	}
	return printSent(c.output, sent, to)
}
