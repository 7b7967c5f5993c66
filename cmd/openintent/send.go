package main

import (
	"context"
	"time"

	openintent "openintent/sdk/go"
)

// factFlags are what any message may have besides its payload.
type factFlags struct {
	Metadata       string `placeholder:"JSON" help:"Facts about the message, as a JSON object."`
	IdempotencyKey string `placeholder:"KEY" help:"Sending again with the same key sends no second message."`
}

// expiryFlag lets a message expire.
type expiryFlag struct {
	Expires time.Duration `placeholder:"DURATION" help:"The message expires after this long."`
}

// draft makes the message, without its type and recipient.
func (f factFlags) draft(payload payloadFlags, expiry expiryFlag, place openintent.Conversation, to terminal) (openintent.Draft, error) {
	draft := openintent.Draft{IdempotencyKey: f.IdempotencyKey, Conversation: place}
	content, err := payload.read(to)
	if err != nil {
		return draft, err
	}
	draft.Payload = content
	if f.Metadata != "" {
		if draft.Metadata, err = objectOf(f.Metadata, "metadata"); err != nil {
			return draft, err
		}
	}
	switch {
	case expiry.Expires < 0:
		return draft, usagef("--expires must be above zero")
	case expiry.Expires > 0:
		draft.ExpiresAt = time.Now().Add(expiry.Expires)
	}
	return draft, nil
}

// notifyCommand sends a message that needs no answer.
type notifyCommand struct {
	connection
	output
	channelArgument
	To string `complete:"agents" arg:"" help:"Agent, role:ROLE, or * for everyone."`
	payloadFlags
	createFlag
	factFlags
	parentFlag
	aboutFlags
	expiryFlag
}

// Run sends the message and prints its reference.
func (c *notifyCommand) Run(ctx context.Context, to terminal) error {
	return send(ctx, to, c.connection, c.output, c.channelArgument, c.Create, func() (openintent.Draft, error) {
		place, err := c.under(c.conversation())
		if err != nil {
			return openintent.Draft{}, err
		}
		draft, err := c.draft(c.payloadFlags, c.expiryFlag, place, to)
		draft.To, draft.MessageType = c.To, openintent.Notify
		return draft, err
	})
}

// broadcastCommand sends a message to everyone on a channel.
type broadcastCommand struct {
	connection
	output
	channelArgument
	payloadFlags
	createFlag
	factFlags
	parentFlag
	aboutFlags
	documentFlags
	expiryFlag
}

// Run sends the message and prints its reference.
func (c *broadcastCommand) Run(ctx context.Context, to terminal) error {
	return send(ctx, to, c.connection, c.output, c.channelArgument, c.Create, func() (openintent.Draft, error) {
		place, err := c.under(c.conversation())
		if err != nil {
			return openintent.Draft{}, err
		}
		draft, err := c.draft(c.payloadFlags, c.expiryFlag, place, to)
		if err != nil {
			return draft, err
		}
		draft.MessageType = openintent.Broadcast
		return c.documented(draft)
	})
}

// send makes the draft before it looks for the channel, so that a bad draft needs no server.
func send(
	ctx context.Context, to terminal, connection connection, form output, channel channelArgument, create bool,
	draftOf func() (openintent.Draft, error),
) error {
	draft, err := draftOf()
	if err != nil {
		return err
	}
	client, err := connection.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	found, err := channel.findOrCreate(ctx, client, create)
	if err != nil {
		return err
	}
	sent, err := client.SendMessage(ctx, found.GetId(), draft)
	if err != nil {
		return err
	}
	return printSent(form, sent, to)
}

// printSent prints the reference of a sent message or, as JSON, the whole message.
func printSent(form output, sent *openintent.Message, to terminal) error {
	if form.JSON {
		message, err := messageOf(sent)
		if err != nil {
			return err
		}
		return lines(to, message)
	}
	return printLine(to, reference(sent.ChannelID, sent.ID))
}
