package main

import (
	"context"
	"errors"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// messagesCommand lists a channel's messages and, on request, follows the channel.
type messagesCommand struct {
	connection
	listing
	channelArgument
	Follow    bool   `short:"f" help:"Keep printing new messages, until the channel closes or Ctrl-C."`
	Since     string `placeholder:"MESSAGE|TIME|DURATION" help:"Only messages after this one (msg_...), after this time (RFC 3339), or from this long ago until now (10m)."`
	Limit     *int   `placeholder:"N" help:"At most this many: the newest, or with --since the oldest (50; with --follow 10; with --since all)."`
	Type      string `enum:",request,response,notify,broadcast" default:"" placeholder:"TYPE" help:"Only messages of this type: request, response, notify or broadcast."`
	To        string `name:"to" placeholder:"ID" help:"Only messages to this agent; not with --follow."`
	Answering string `placeholder:"MESSAGE" help:"Only responses to this request."`
}

// largestPage is how many messages the server returns in one call.
const largestPage = 1000

// Run prints the messages.
func (c *messagesCommand) Run(ctx context.Context, to terminal) error {
	if c.Limit != nil && *c.Limit < 0 || c.Follow && c.To != "" {
		return usagef("--limit must be zero or above, and --to does not go with --follow")
	}
	since, err := c.since()
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	channel, err := c.find(ctx, client)
	if err != nil {
		return err
	}
	printed := newTable("TIME", "SENDER", "TO", "TYPE", "STATUS", "PAYLOAD")
	if !c.Follow {
		return c.page(ctx, client, channel.GetId(), since, func(messages []*openintentv1.Message) error {
			return c.print(to, printed, messages)
		})
	}
	err = c.follow(ctx, client, channel.GetId(), since, to, printed)
	if errors.Is(err, context.Canceled) {
		return nil // the normal way to end following
	}
	return err
}

// since returns the cursor in the server's form.
func (c *messagesCommand) since() (string, error) {
	ago, err := parseDuration(c.Since)
	if err != nil {
		return c.Since, nil // a message or a time, which the server interprets
	}
	if ago < 0 {
		return "", usagef("--since %s lies in the future", c.Since)
	}
	return time.Now().Add(-ago).UTC().Format(time.RFC3339Nano), nil
}

// limit returns how many messages to list; all is true when there is no limit.
func (c *messagesCommand) limit() (limit int, all bool) {
	switch {
	case c.Limit != nil:
		return *c.Limit, false
	case c.Since != "":
		return 0, true
	case c.Follow:
		return 10, false
	}
	return 50, false
}

// page reads the messages to list, page by page.
func (c *messagesCommand) page(
	ctx context.Context, client *openintent.Client, channel, since string, take func([]*openintentv1.Message) error,
) error {
	left, all := c.limit()
	request := &openintentv1.ListMessagesRequest{
		ChannelId: channel, Since: present(since), To: present(c.To), MessageType: messageType(c.Type),
		CorrelationId: present(c.Answering),
	}
	for {
		size := int32(largestPage)
		if !all {
			size = int32(min(left, largestPage))
		}
		if size == 0 {
			return take(nil)
		}
		request.Limit = &size
		page, err := called(client.Raw().Messages.ListMessages(ctx, request))
		if err != nil {
			return err
		}
		if err := take(page.GetMessages()); err != nil {
			return err
		}
		left -= len(page.GetMessages())
		// Without a cursor the single page is the newest one; a page after it would not be older.
		if since == "" || len(page.GetMessages()) == 0 && !page.GetBounded() || !all && left <= 0 {
			return nil
		}
		request.Since = page.NextSince
	}
}

// follow starts to follow before it lists, so that no message is missed in between. It omits the messages that arrive
// both ways.
func (c *messagesCommand) follow(
	ctx context.Context, client *openintent.Client, channelID, since string, to terminal, printed *table,
) error {
	channel, err := client.GetChannel(ctx, channelID)
	if err != nil {
		return err
	}
	following, err := channel.Follow(ctx, openintent.FollowOptions{})
	closed := errors.Is(err, openintent.ErrChannelClosed)
	if err != nil && !closed {
		return err
	}
	if !closed {
		defer following.Close()
	}
	listed := make(map[string]bool)
	err = c.page(ctx, client, channelID, since, func(messages []*openintentv1.Message) error {
		for _, message := range messages {
			listed[message.GetId()] = true
		}
		return c.print(to, printed, messages)
	})
	if err != nil || closed {
		return err
	}
	for followed, err := range following.Messages() {
		if err != nil {
			return err
		}
		if listed[followed.ID] || !c.wants(followed) {
			continue
		}
		message, err := messageOf(followed)
		if err != nil {
			return err
		}
		if err := c.print(to, printed, []*openintentv1.Message{message}); err != nil {
			return err
		}
	}
	to.note("the channel is closed")
	return nil
}

// wants reports whether a followed message is one of those that the user asked for.
func (c *messagesCommand) wants(message *openintent.Message) bool {
	return (c.Type == "" || c.Type == string(message.MessageType)) &&
		(c.Answering == "" || c.Answering == message.CorrelationID)
}

func (c *messagesCommand) print(to terminal, printed *table, messages []*openintentv1.Message) error {
	return listOf(c.listing, to, printed, messages, func(m *openintentv1.Message) []string {
		if c.IDs {
			return []string{reference(m.GetChannelId(), m.GetId())}
		}
		return []string{
			clock(m.GetCreatedAt()), sender(m), recipient(m), word(m.GetMessageType()), word(m.GetStatus()), inline(m.GetPayload()),
		}
	})
}

// sender returns the sender of a message, and whether that is a person.
func sender(m *openintentv1.Message) string {
	if m.GetSenderKind() != "" {
		return m.GetSender() + " (" + m.GetSenderKind() + ")"
	}
	return m.GetSender()
}

// recipient returns the recipient of a message; everyone is written as in the protocol.
func recipient(m *openintentv1.Message) string {
	if m.GetTo() == "" {
		return "*"
	}
	return m.GetTo()
}
