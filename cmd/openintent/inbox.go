package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// inboxCommand shows what an agent has to read or to answer.
type inboxCommand struct {
	connection
	listing
	Wait      time.Duration `placeholder:"DURATION" help:"Wait at most this long while there is nothing; then exit with code 3."`
	Limit     int           `placeholder:"N" help:"At most this many, oldest first; 0 for all."`
	Attention bool          `help:"Show what each message asks of the agent."`
	Policy    []string      `enum:"must_respond,may_respond,ack_only,must_not_respond" placeholder:"WORD,..." help:"Only messages with one of these policies: must_respond, may_respond, ack_only, must_not_respond."`
	MarkRead  bool          `help:"Mark what was printed as read. Requests stay until they are answered."`
}

// longestWait is the longest time that the server waits in one call.
const longestWait = 10 * time.Minute

// Run prints the inbox.
func (c *inboxCommand) Run(ctx context.Context, to terminal) error {
	if c.Limit < 0 || c.Wait < 0 {
		return usagef("--limit and --wait must not be below zero")
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	pages, err := c.read(ctx, client)
	if err != nil {
		return err
	}
	var items []*openintentv1.InboxItem
	for _, page := range pages {
		items = append(items, page.GetItems()...)
	}
	if err := c.print(to, items); err != nil {
		return err
	}
	if !c.JSON {
		to.note("%d unread, %d to answer", pages[0].GetUnreadCount(), pages[0].GetUnansweredCount())
	}
	if len(items) == 0 && c.Wait > 0 {
		return exitError{exitTimeout, fmt.Errorf("nothing came in time")}
	}
	if !c.MarkRead {
		return nil
	}
	return markRead(ctx, client, pages)
}

// read returns the pages of the inbox. It waits for the first one only.
func (c *inboxCommand) read(ctx context.Context, client *openintent.Client) ([]*openintentv1.Inbox, error) {
	first, err := c.first(ctx, client)
	if err != nil {
		return nil, err
	}
	pages, left := []*openintentv1.Inbox{first}, c.Limit-len(first.GetItems())
	for page := first; page.NextCursor != nil && (c.Limit == 0 || left > 0); left -= len(page.GetItems()) {
		page, err = called(client.Raw().Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{
			AgentId: client.AgentID(), Limit: c.size(left), Cursor: page.NextCursor, Include: c.include(), Policy: c.policies(),
		}))
		if err != nil {
			return nil, err
		}
		pages = append(pages, page)
	}
	return pages, nil
}

// first returns the first page as soon as the page has an item or the time is over.
func (c *inboxCommand) first(ctx context.Context, client *openintent.Client) (*openintentv1.Inbox, error) {
	for deadline := time.Now().Add(c.Wait); ; {
		seconds := max(0, min(time.Until(deadline), longestWait).Seconds())
		page, err := inboxOf(client, func(agent string) (*openintentv1.Inbox, error) {
			return client.Raw().Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{
				AgentId: agent, Limit: c.size(c.Limit), WaitSeconds: &seconds, Include: c.include(), Policy: c.policies(),
			})
		})
		if err != nil || len(page.GetItems()) > 0 || !time.Now().Before(deadline) {
			return page, err
		}
	}
}

// size returns the size of the next page when this many items are still wanted.
func (c *inboxCommand) size(left int) *int32 {
	size := int32(largestPage)
	if c.Limit > 0 {
		size = int32(min(left, largestPage))
	}
	return &size
}

func (c *inboxCommand) include() []string {
	if c.Attention {
		return []string{"attention"}
	}
	return nil
}

func (c *inboxCommand) policies() (policies []openintentv1.ResponsePolicy) {
	for _, name := range c.Policy {
		policies = append(policies, openintentv1.ResponsePolicy(number(openintentv1.ResponsePolicy_value, "RESPONSE_POLICY_", name)))
	}
	return policies
}

func (c *inboxCommand) print(to terminal, items []*openintentv1.InboxItem) error {
	headings := []string{"MESSAGE", "SENDER", "TO", "TYPE", "CHANNEL", "READ", "EXPIRES", "PAYLOAD"}
	if c.Attention {
		headings = slices.Insert(headings, 1, "POLICY", "REASON")
	}
	return listOf(c.listing, to, newTable(headings...), items, func(item *openintentv1.InboxItem) []string {
		m := item.GetMessage()
		cells := []string{
			m.GetId(), sender(m), recipient(m), word(m.GetMessageType()), item.GetChannelName(), mark(item.GetRead()),
			clock(m.GetExpiresAt()), inline(m.GetPayload()),
		}
		if c.Attention {
			cells = slices.Insert(cells, 1, word(item.GetAttention().GetPolicy()), item.GetAttention().GetReason())
		}
		return cells
	})
}

// markRead acknowledges what was printed, page by page: the server accepts no more than one page in one call.
func markRead(ctx context.Context, client *openintent.Client, pages []*openintentv1.Inbox) error {
	for _, page := range pages {
		request := &openintentv1.MarkInboxReadRequest{AgentId: client.AgentID()}
		for _, item := range page.GetItems() {
			if !item.GetRead() {
				request.MessageIds = append(request.MessageIds, item.GetMessage().GetId())
			}
		}
		if len(request.MessageIds) == 0 {
			continue
		}
		if _, err := called(client.Raw().Messages.MarkInboxRead(ctx, request)); err != nil {
			return err
		}
	}
	return nil
}
