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
	Message string `arg:"" help:"The message: its reference, CHANNEL/MESSAGE, in which CHANNEL may be the name of a channel of the intent that --intent names; or its id (msg_...) if it is in the agent's inbox."`
	intentFlag
}

// check refuses a word that names no message, before a server is called.
func (m messageArgument) check() error {
	channel, _, err := parseReference(m.Message)
	if err != nil || channel == "" {
		return err
	}
	return channelArgument{channel, m.intentFlag}.check()
}

// find returns the id of the message's channel, and the message's id.
func (m messageArgument) find(ctx context.Context, client *openintent.Client) (channel, message string, err error) {
	channel, message, err = parseReference(m.Message)
	switch {
	case err != nil || channelID.MatchString(channel):
		return channel, message, err
	case channel == "":
		channel, err = inInbox(ctx, client, message)
		return channel, message, err
	}
	found, err := channelArgument{channel, m.intentFlag}.find(ctx, client)
	return found.GetId(), message, err
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
