package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// messageArgument names a message.
type messageArgument struct {
	Message string `arg:"" help:"The message: its reference, CHANNEL/MESSAGE, or its id (msg_...) if it is in the agent's inbox."`
}

// check refuses a word that names no message, before a server is called.
func (m messageArgument) check() error {
	_, _, err := parseReference(m.Message)
	return err
}

// find returns the message's channel and its id.
func (m messageArgument) find(ctx context.Context, client *openintent.Client) (channel, message string, err error) {
	if channel, message, err = parseReference(m.Message); err == nil && channel == "" {
		channel, err = inInbox(ctx, client, message)
	}
	return channel, message, err
}

// inInbox finds the channel of a message that waits in the agent's inbox.
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
				"no message %s waits in the agent's inbox; name its channel as well: CHANNEL/%s [MESSAGE_NOT_FOUND]", message, message)}
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
