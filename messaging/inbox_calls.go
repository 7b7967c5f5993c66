package messaging

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/optional"
	"openintent/messaging/message"
	"openintent/reach"
)

// GetInbox returns what waits for an agent now.
func (s *Service) GetInbox(ctx context.Context, req *openintentv1.GetInboxRequest) (*openintentv1.Inbox, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	q := inboxQuery{
		by: c, agent: agent, limit: orDefault(int(req.GetLimit()), inboxPage),
		policies: req.GetPolicy(), attention: len(req.GetInclude()) > 0, unhanded: req.GetUnhanded(),
	}
	if q.handedSince, err = optional.TimeFrom("handed_since", req.GetHandedSince()); err != nil {
		return nil, err
	}
	if q.after, err = inboxPlaceFrom(req.GetCursor()); err != nil {
		return nil, err
	}
	patience := seconds(req.GetWaitSeconds())
	q.until = s.db.Now().Add(patience)
	if patience > 0 && reach.HearsFor(ctx, agent) {
		defer reach.Hear(ctx, reach.Wait)()
	}
	page, err := s.awaitInbox(ctx, q, patience)
	if err != nil {
		return nil, err
	}
	if !c.IsOperator || q.agent == c.Agent {
		s.recordItems(q.agent, page.items)
	}
	return page.toWire()
}

// recordItems notes that a page was handed to its agent.
func (s *Service) recordItems(agent string, items []inboxItem) {
	messages := make([]*message.Message, len(items))
	for i, item := range items {
		messages[i] = item.message
	}
	s.offers.record(agent, s.db.Now(), messages...)
}

// speaker returns the caller, who must be allowed to speak for the agent, and the agent: the caller itself when none is
// named.
func speaker(ctx context.Context, named string) (c caller.Caller, agent string, err error) {
	if c, err = caller.Known(ctx); err != nil {
		return c, "", err
	}
	switch {
	case named == "" && c.IsOperator:
		return c, "", fault.BadField("agent_id", "must name the agent whose inbox it is: the operator acts for all")
	case named == "":
		return c, c.Agent, nil
	}
	if err = c.CheckOwns(named); err == nil {
		err = caller.CheckText("agent_id", named)
	}
	return c, named, err
}

// awaitInbox reads a page of an inbox. A call with patience waits for a page that is not empty, which the watch of the inbox reads for it
// (inbox_watch.go). If the page is empty even at the end of the wait, that is no error.
func (s *Service) awaitInbox(ctx context.Context, q inboxQuery, patience time.Duration) (*inbox, error) {
	if patience == 0 {
		return s.lookIntoInbox(ctx, q)
	}
	waiting := wait{until: s.db.Now().Add(patience)}
	joined := s.inboxes.join(q)
	defer s.inboxes.leave(joined)
	for {
		remaining := waiting.remaining(s.db.Now())
		if remaining <= 0 {
			if latest := s.inboxes.leave(joined); latest != nil {
				return latest, nil
			}
			return s.lookIntoInbox(ctx, q) // the watch has not come to it
		}
		timer := time.NewTimer(min(remaining, s.lookAgain))
		select {
		case came := <-joined.came:
			timer.Stop()
			return came.page, came.err
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return nil, context.Cause(ctx)
		}
	}
}

// lookIntoInbox reads a page. While pages are empty because each looked at enough, a call that waits goes on with the next one; each is
// a reading of its own, so that other calls get their turns in between.
func (s *Service) lookIntoInbox(ctx context.Context, q inboxQuery) (page *inbox, err error) {
	for {
		err = s.db.ReadFor(ctx, q.by.Reader(), func(tx *database.Tx) (err error) {
			page, err = s.readInbox(tx, q)
			return err
		})
		if err != nil {
			return nil, err
		}
		if len(page.items) > 0 || !page.bounded || !s.db.Now().Before(q.until) {
			return page, nil
		}
		q.after, q.counts = *page.next, page.counts
	}
}

func (i *inbox) toWire() (*openintentv1.Inbox, error) {
	wire := &openintentv1.Inbox{
		UnreadCount: int64(i.counts.unread), UnansweredCount: int64(i.counts.unanswered), CountsBounded: i.counts.bounded, Bounded: i.bounded,
	}
	for _, item := range i.items {
		message, err := item.message.ToWire(item.now)
		if err != nil {
			return nil, err
		}
		wire.Items = append(wire.Items, &openintentv1.InboxItem{
			IntentId: item.channel.IntentID, ChannelName: item.channel.Name, Message: message, Read: item.message.ReadByViewer,
			Attention: item.attentionToWire(),
		})
	}
	if i.next != nil {
		cursor := i.next.cursor()
		wire.NextCursor = &cursor
	}
	return wire, nil
}
