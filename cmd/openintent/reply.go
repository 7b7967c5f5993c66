package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

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
	request := &openintentv1.GetInboxRequest{}
	for {
		page, err := inboxOf(client, func(agent string) (*openintentv1.Inbox, error) {
			request.AgentId = agent
			return client.Raw().Messages.GetInbox(ctx, request)
		})
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
				"no request %s waits in the agent's inbox; name its channel as well: CHANNEL/%s [MESSAGE_NOT_FOUND]", message, message)}
		}
		request.Cursor = page.NextCursor
	}
}

// inboxOf reads a page of the inbox of the agent that the command acts as. Without a named agent that is the key's own
// agent; only a key without one needs a name.
func inboxOf(client *openintent.Client, read func(agent string) (*openintentv1.Inbox, error)) (*openintentv1.Inbox, error) {
	page, err := called(read(client.AgentID()))
	var refused *openintent.Error
	if errors.As(err, &refused) && slices.ContainsFunc(refused.Violations, func(v openintent.Violation) bool { return v.Field == "agent_id" }) {
		return nil, usagef("name the owner of the inbox with --agent or OPENINTENT_AGENT_ID")
	}
	return page, err
}
