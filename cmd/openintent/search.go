package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// searchCommand finds messages by their words.
type searchCommand struct {
	connection
	listing
	Words   []string `arg:"" help:"Words, all of which must occur, and \"phrases\" in double quotes."`
	Intent  string   `complete:"intents" placeholder:"ID" help:"Only messages of this intent."`
	Channel string   `placeholder:"CHANNEL" complete:"channels" help:"Only messages of this channel (chan_...)."`
	Thread  string   `placeholder:"MESSAGE" help:"Only the thread whose first message this is."`
	Sender  string   `placeholder:"ID" help:"Only messages from this agent."`
	To      string   `name:"to" placeholder:"ADDRESS" help:"Only messages to exactly this address: an agent, role:ROLE, or '*'."`
	Kind    string   `placeholder:"KIND" help:"Only messages of this kind."`
	After   string   `placeholder:"TIME|DURATION" help:"Only messages sent after this time (RFC 3339), or from this long ago until now (10m)."`
	Before  string   `placeholder:"TIME|DURATION" help:"Only messages sent before this time, or until this long ago."`
	Limit   int      `default:"20" placeholder:"N" help:"At most this many, the newest; 0 for all (20)."`
}

// foundAtOnce is how many messages the server finds in one call.
const foundAtOnce = 100

// Run prints what was found.
func (c *searchCommand) Run(ctx context.Context, to terminal) error {
	request, err := c.request()
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	found, last, err := c.find(ctx, client, request)
	if err != nil {
		return err
	}
	printed := newTable("MESSAGE", "SENT", "SENDER", "TO", "CHANNEL", "TEXT")
	err = listOf(c.listing, to, printed, found, func(f *openintentv1.FoundMessage) []string {
		m := f.GetMessage()
		return []string{
			reference(m.GetChannelId(), m.GetId()), clock(m.GetCreatedAt()), sender(m), recipient(m), f.GetChannelName(), f.GetSnippet(),
		}
	})
	if missing := incomplete(last); err == nil && missing != "" {
		to.note("%s", missing)
	}
	return err
}

// incomplete says in a sentence why what was found may be incomplete; "" if nothing says so.
func incomplete(page *openintentv1.SearchMessagesResponse) string {
	switch left, intents := page.GetMessagesLeft(), page.GetIntentsNotIndexed(); {
	case left > 0:
		return fmt.Sprintf("the server is still indexing this intent, the newest messages first, and lacks up to %d; search again for the rest", left)
	case intents > 0:
		return fmt.Sprintf("the server has not indexed all messages of %d intents; search in one with --intent to have it indexed", intents)
	case page.GetCompleteThrough() == nil:
		return "the server is still filling its index; there may be more to find"
	}
	return ""
}

// request returns what the command looks for.
func (c *searchCommand) request() (*openintentv1.SearchMessagesRequest, error) {
	if c.Limit < 0 {
		return nil, usagef("--limit must be zero or above")
	}
	thread := ""
	if c.Thread != "" {
		var err error
		if _, thread, err = parseReference(c.Thread); err != nil {
			return nil, err
		}
	}
	after, err := momentFrom("--after", c.After)
	if err != nil {
		return nil, err
	}
	before, err := momentFrom("--before", c.Before)
	return &openintentv1.SearchMessagesRequest{
		Q: strings.Join(c.Words, " "), IntentId: present(c.Intent), ChannelId: present(c.Channel), ThreadId: present(thread),
		Sender: present(c.Sender), To: present(c.To), Kind: present(c.Kind), After: after, Before: before,
	}, err
}

// find reads page by page, as many messages as are wanted. It also returns the last page.
func (c *searchCommand) find(
	ctx context.Context, client *openintent.Client, request *openintentv1.SearchMessagesRequest,
) (found []*openintentv1.FoundMessage, last *openintentv1.SearchMessagesResponse, err error) {
	for {
		size := int32(foundAtOnce)
		if c.Limit > 0 {
			size = int32(min(c.Limit-len(found), foundAtOnce))
		}
		request.Limit = &size
		if last, err = called(client.Raw().Search.SearchMessages(ctx, request)); err != nil {
			return nil, nil, err
		}
		found = append(found, last.GetMessages()...)
		if request.Cursor = last.NextCursor; request.Cursor == nil || c.Limit > 0 && len(found) >= c.Limit {
			return found, last, nil
		}
	}
}

// momentFrom reads a time, or a duration as the time that long ago.
func momentFrom(flag, text string) (*timestamppb.Timestamp, error) {
	if text == "" {
		return nil, nil
	}
	if ago, err := parseDuration(text); err == nil && ago >= 0 {
		return timestamppb.New(time.Now().Add(-ago)), nil
	}
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return nil, usagef("%s takes a time such as 2026-11-23T09:00:00Z, or a duration such as 10m, not %q", flag, text)
	}
	return timestamppb.New(at), nil
}
