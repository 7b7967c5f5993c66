package repomesh

import (
	"context"
	"slices"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// eventInbox lists what was said to the caller, in all channels of the mesh or in one.
var eventInbox = newAction("event.inbox", "What was said to you and to all, newest first. mark_read tells the senders that you read it.", nil,
	append([]property{text("channel"), text("recipient_id"), yes("include_broadcast"), yes("mark_read")}, listProperties...),
	func(ctx context.Context, s *session, given listArguments) (any, error) {
		if err := s.own(given.Recipient); err != nil {
			return nil, err
		}
		g, err := given.gathering(s)
		if err != nil {
			return nil, err
		}
		g.from, g.to, g.broadcast = value(given.AgentID), s.caller.Agent, given.Broadcast == nil || *given.Broadcast
		made, err := s.list(ctx, g, given)
		if err != nil || !given.MarkRead {
			return made, err
		}
		return made, s.markRead(ctx, g.events)
	}).by("recipient_id")

// markRead says that the caller has read messages. Entries of the log, and what has expired or was deleted meanwhile, cannot be read.
func (s *session) markRead(ctx context.Context, events []*event) error {
	var ids []string
	for _, e := range events {
		if e.Channel != "" && e.Status != "expired" {
			ids = append(ids, e.ID)
		}
	}
	for len(ids) > 0 {
		_, err := s.caller.Messages.MarkInboxRead(ctx, &openintentv1.MarkInboxReadRequest{AgentId: s.caller.Agent, MessageIds: ids})
		if err == nil || unless(err, "MESSAGE_EXPIRED", "MESSAGE_NOT_FOUND") != nil {
			return err
		}
		at := slices.Index(ids, doors.RefusalOf(err).Facts["message_id"])
		if at < 0 {
			return nil
		}
		ids = slices.Delete(ids, at, at+1) // the contract marks all or none, so the others are tried again
	}
	return nil
}

// unless returns an error, and nil for one with any of these reasons.
func unless(err error, reasons ...string) error {
	if err == nil {
		return nil
	}
	said := doors.RefusalOf(err).Reason
	for _, reason := range reasons {
		if said == reason {
			return nil
		}
	}
	return err
}
