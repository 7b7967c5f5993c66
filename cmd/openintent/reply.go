package main

import (
	"context"
	"fmt"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// replyCommand answers a request.
type replyCommand struct {
	connection
	output
	Message string `arg:"" help:"The request: its reference, CHANNEL/MESSAGE, or its id (msg_...) if it is in the agent's inbox."`
	payloadFlags
	factFlags
}

// Run answers and prints the answer's reference.
func (c *replyCommand) Run(ctx context.Context, to terminal) error {
	channel, message, err := parseReference(c.Message)
	if err != nil {
		return err
	}
	draft, err := c.draft(c.payloadFlags, expiryFlag{}, to)
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	if channel == "" {
		if channel, err = inInbox(ctx, client, message); err != nil {
			return err
		}
	}
	sent, err := client.ReplyTo(ctx, channel, message, openintent.Reply{
		Payload: draft.Payload, Metadata: draft.Metadata, IdempotencyKey: draft.IdempotencyKey,
	})
	if err != nil {
		return err
	}
	return printSent(c.output, sent, to)
}

// inInbox finds the channel of a request that waits in the agent's inbox.
func inInbox(ctx context.Context, client *openintent.Client, message string) (string, error) {
	agent, err := inboxOwner(client)
	if err != nil {
		return "", err
	}
	request := &openintentv1.GetInboxRequest{AgentId: agent}
	for {
		page, err := called(client.Raw().Messages.GetInbox(ctx, request))
		if err != nil {
			return "", err
		}
		for _, item := range page.GetItems() {
			if item.GetMessage().GetId() == message {
				return item.GetMessage().GetChannelId(), nil
			}
		}
		if page.NextCursor == nil {
			return "", exitError{exitNotFound, fmt.Errorf(
				"no request %s waits in the inbox of %s; name its channel as well: CHANNEL/%s [MESSAGE_NOT_FOUND]", message, agent, message)}
		}
		request.Cursor = page.NextCursor
	}
}

// inboxOwner returns the agent whose inbox the command means.
func inboxOwner(client *openintent.Client) (string, error) {
	if agent := client.AgentID(); agent != "" {
		return agent, nil
	}
	return "", usagef("name the owner of the inbox with --agent or OPENINTENT_AGENT_ID")
}
