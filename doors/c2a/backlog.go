package c2a

import (
	"context"
	"time"

	"openintent/doors/c2a/chat"
	openintentv1 "openintent/gen/openintent/v1"
)

// backlogPage is how many open requests are asked for at a time, and backlogAttempts how often each is delivered at most.
const (
	backlogPage     = 32
	backlogAttempts = 10
)

// deliverBacklog delivers the requests that were open before the subscription was made. The subscription's own deliveries begin when
// the harness has acknowledged them, so a connection that is lost before begins with them again.
func (c *connection) deliverBacklog(ctx context.Context) error {
	request := &openintentv1.GetInboxRequest{AgentId: c.caller.Agent, Include: []string{"attention"}, Limit: new(int32(backlogPage))}
	for {
		page, err := c.caller.Messages.GetInbox(ctx, request)
		if err != nil {
			return err
		}
		for _, item := range page.GetItems() {
			if item.GetMessage().GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST || item.GetAttention() == nil {
				continue
			}
			if err := c.deliverOpen(ctx, item); err != nil {
				return err
			}
		}
		if page.GetNextCursor() == "" {
			return nil
		}
		request.Cursor = new(page.GetNextCursor())
	}
}

// deliverOpen delivers an open request until the harness acknowledges it.
func (c *connection) deliverOpen(ctx context.Context, item *openintentv1.InboxItem) error {
	d := c.terms.deliveryOf(c.caller.Agent, chat.Entry{
		Message: item.GetMessage(), Attention: item.GetAttention(), IntentID: item.GetIntentId(),
	}, item.GetChannelName(), 0)
	if d.mode == modeSilent {
		return nil
	}
	c.handedOut.note(item.GetMessage(), d.event.EventID)
	c.expected.handed(item.GetMessage(), item.GetAttention().DeadlineMs) //nolint:protogetter // unset is another thing than 0
	id := requestID(d.event.EventID)
	for d.attempt < backlogAttempts {
		d.attempt++
		answer := c.pending.awaitAlone(id)
		if err := c.deliver(ctx, id, d); err != nil {
			return err
		}
		accepted, err := answeredWithin(ctx, answer, c.door.times.acknowledge)
		if err != nil || accepted {
			return err
		}
	}
	c.log.Warn("a harness did not take an open request; it stays in the inbox", "message", d.event.EventID)
	return nil
}

// answeredWithin waits for an answer, and reports whether a result came in time. It returns sooner only with a result, so that what was
// refused comes again no sooner than what was not answered.
func answeredWithin(ctx context.Context, answer <-chan bool, patience time.Duration) (accepted bool, _ error) {
	again := time.NewTimer(patience)
	defer again.Stop()
	for {
		select {
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case accepted := <-answer:
			if accepted {
				return true, nil
			}
		case <-again.C:
			return false, nil
		}
	}
}
