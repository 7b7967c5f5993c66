package messaging

import (
	"context"
	"time"

	"openintent/caller"
	"openintent/database"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// GetInbox returns what waits for an agent now.
func (s *Service) GetInbox(ctx context.Context, req *openintentv1.GetInboxRequest) (*openintentv1.Inbox, error) {
	c, agent, err := speaker(ctx, req.GetAgentId())
	if err != nil {
		return nil, err
	}
	q := inboxQuery{
		by: c, agent: agent, limit: orDefault(int(req.GetLimit()), inboxPage),
		policies: req.GetPolicy(), attention: len(req.GetInclude()) > 0,
	}
	if q.after, err = inboxPlaceFrom(req.GetCursor()); err != nil {
		return nil, err
	}
	page, err := s.awaitInbox(ctx, q, seconds(req.GetWaitSeconds()))
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

// awaitInbox reads a page of an inbox. While the page is empty, it reads again until the wait is over: whenever it is woken
// and something may have come, and now and then without that. If the page is empty even then, that is no error.
func (s *Service) awaitInbox(ctx context.Context, q inboxQuery, patience time.Duration) (page *inbox, err error) {
	if page, err = s.lookIntoInbox(ctx, q); err != nil || len(page.items) > 0 || patience == 0 {
		return page, err
	}
	waiting := wait{until: s.db.Now().Add(patience)}
	listening := s.hub.ListenLooking()
	defer listening.Close()
	listened := make(map[any]struct{})
	for {
		if listenAlso(listening, listened, page.state.topics()) {
			listening.Signal() // something may have come before
		}
		remaining := waiting.remaining(s.db.Now())
		if remaining <= 0 {
			return page, nil
		}
		timer := time.NewTimer(min(remaining, s.lookAgain))
		look := true
		select {
		case <-listening.Woken():
			look, err = s.inboxMayDiffer(ctx, q, page)
		case <-timer.C:
		case <-ctx.Done():
			look = false
		}
		timer.Stop()
		if err == nil && look {
			var latest *inbox
			if latest, err = s.lookIntoInbox(ctx, q); err == nil {
				page = latest
			}
		}
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case database.IsUnavailable(err):
			s.logger.Warn("a call that waits for an inbox could not look into it; it looks again", "error", err)
		case err != nil || len(page.items) > 0:
			return page, err
		}
	}
}

// listenAlso listens under those of the topics under which nobody listens for this call yet. It tells whether there were
// any.
func listenAlso(listening *wake.Listener, listened map[any]struct{}, topics []any) bool {
	var further []any
	for _, topic := range topics {
		if _, already := listened[topic]; !already {
			listened[topic] = struct{}{}
			further = append(further, topic)
		}
	}
	listening.Also(further...)
	return len(further) > 0
}

func (s *Service) lookIntoInbox(ctx context.Context, q inboxQuery) (page *inbox, err error) {
	err = s.db.ReadFor(ctx, q.by.Reader(), func(tx *database.Tx) (err error) {
		page, err = s.readInbox(tx, q)
		return err
	})
	return page, err
}

// inboxMayDiffer tells whether there may be messages by now for a page that was empty. If not, the page takes over the
// latest state.
func (s *Service) inboxMayDiffer(ctx context.Context, q inboxQuery, page *inbox) (differs bool, err error) {
	err = s.db.ReadFor(ctx, q.by.Reader(), func(tx *database.Tx) error {
		later, _, _, err := s.inboxState(tx, q.agent)
		if err != nil {
			return err
		}
		if differs, err = page.state.mayDiffer(tx, later); err == nil && !differs {
			page.state = later
		}
		return err
	})
	return differs, err
}

func (i *inbox) toWire() (*openintentv1.Inbox, error) {
	wire := &openintentv1.Inbox{UnreadCount: int64(i.unread), UnansweredCount: int64(i.unanswered)}
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
	if i.more {
		cursor := placeInInbox(i.items[len(i.items)-1].message).cursor()
		wire.NextCursor = &cursor
	}
	return wire, nil
}
