package intents

import (
	"context"
	"errors"
	"slices"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/jsonvalue"
	"openintent/internal/pages"
)

const defaultEventPage = 100

// AppendEvent appends an event, also to the log of an intent that has ended. The parent of a signed event must exist, and
// the event's actor must be able to read it, because the signature vouches for the link.
func (s *Service) AppendEvent(ctx context.Context, req *openintentv1.AppendEventRequest) (*openintentv1.Event, error) {
	draft, err := eventDraft(req)
	if err != nil {
		return nil, err
	}
	var event *Event
	size := int64(len(draft.Payload) + len(draft.Proof))
	err = s.write(ctx, func(tx *database.Tx, c caller.Caller) error {
		draft := draft
		actor, err := actAs(c, "actor", req.GetActor())
		if err != nil {
			return err
		}
		draft.Actor = actor
		if draft.TraceID == "" {
			draft.TraceID = c.TraceID
		}
		head, rules, err := s.lockWithRules(tx, req.GetIntentId())
		if err != nil {
			return err
		}
		if err := mayAppend(c, draft, rules, head.Now()); err != nil {
			return err
		}
		if err := s.checkParent(tx, c, draft); err != nil {
			return err
		}
		if err := s.usage.Room(head.IntentNo, size, false); err != nil {
			return err
		}
		event, err = head.Log(draft)
		return err
	})
	if err != nil {
		return nil, err
	}
	s.usage.Add(event.IntentNo, size)
	return event.ToWire()
}

// mayAppend refuses an actor without write access. For a type that the server itself logs, somebody must have given the actor
// write access: readers act on such events, and a stranger must not report to them what the server did not do.
func mayAppend(c caller.Caller, draft EventDraft, rules *Rules, now time.Time) error {
	if err := rules.Require(c, draft.Actor, PermissionWrite, now); err != nil {
		return err
	}
	if slices.Contains(serverEventTypes, draft.Type) {
		return rules.RequireGiven(c, draft.Actor, PermissionWrite, now)
	}
	return nil
}

// serverEventTypes are the types of events that the server itself logs: in this room, for tasks, for leases and for audited
// messages.
var serverEventTypes = []string{
	"intent_created", "state_patched", "status_changed", "agent_assigned", "agent_unassigned",
	"access_granted", "access_revoked", "access_expired",
	"coordinator.handoff", "coordinator.failed_over", "coordinator.resumed",
	"task.created", "task.ready", "task.claimed", "task.started", "task.blocked", "task.unblocked", "task.completed",
	"task.failed", "task.retrying", "task.cancelled", "task.skipped",
	"lease_acquired", "lease_released",
	"channel_message", "channel_message_edited",
}

// eventDraft reads the new event from a request, except its actor.
func eventDraft(req *openintentv1.AppendEventRequest) (EventDraft, error) {
	draft := EventDraft{
		Type: req.GetEventType(), TraceID: req.GetTraceId(), ParentEventID: req.GetParentEventId(),
	}
	var invalidPayload, invalidProof error
	draft.Payload, invalidPayload = jsonvalue.FromStruct(req.GetPayload(), "payload")
	draft.Proof, invalidProof = jsonvalue.FromStruct(req.GetProof(), "proof")
	return draft, firstOf(
		caller.CheckText("event_type", draft.Type),
		caller.CheckText("parent_event_id", draft.ParentEventID),
		invalidPayload,
		invalidProof,
		checkSize("payload", len(draft.Payload), maxPayloadBytes),
		checkSize("proof", len(draft.Proof), maxPayloadBytes-len(draft.Payload)),
	)
}

// checkParent refuses a signed event if its parent does not exist or the actor may not read it. It refuses both cases alike,
// so that nobody can find out ids by trying.
func (s *Service) checkParent(tx *database.Tx, c caller.Caller, draft EventDraft) error {
	if draft.Proof.IsNull() || draft.ParentEventID == "" {
		return nil
	}
	unknown := fault.BadField("parent_event_id", "a signed event's parent must be an event that its actor may read.")
	no, err := findIntentOfEvent(tx, draft.ParentEventID)
	switch {
	case err != nil:
		return err
	case no == 0:
		return unknown
	}
	_, err = s.viewNumber(tx, c, draft.Actor, no, PermissionRead)
	var refusal *fault.Fault
	if errors.As(err, &refusal) {
		return unknown
	}
	return err
}

// GetEvent returns one event of an intent.
func (s *Service) GetEvent(ctx context.Context, req *openintentv1.GetEventRequest) (*openintentv1.Event, error) {
	if err := caller.CheckText("event_id", req.GetEventId()); err != nil {
		return nil, err
	}
	var event *Event
	err := s.read(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		event, err = findEvent(tx, head.IntentNo, req.GetEventId())
		if err == nil && event == nil {
			err = errEventNotFound
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return event.ToWire()
}

// ListTraceEvents returns a page of a trace's events, oldest first, from all intents that the caller may read.
func (s *Service) ListTraceEvents(
	ctx context.Context, req *openintentv1.ListTraceEventsRequest,
) (*openintentv1.ListTraceEventsResponse, error) {
	var after tracePlace
	page, err := pages.Begin("trace", req, pages.MaxEntries, &after.createdAt, &after.intentNo, &after.sequence)
	if err != nil {
		return nil, err
	}
	var events []*Event
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) (err error) {
		events, err = listTraceEvents(tx, page, req.GetTraceId(), s.readerFor(c, tx.Now()), after)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages, err := eventMessages(events)
	response := &openintentv1.ListTraceEventsResponse{}
	response.Events, response.NextCursor = pages.Close(page, messages, func(i int) []any {
		return []any{database.Micros(events[i].CreatedAt), events[i].IntentNo, events[i].Sequence}
	})
	return response, err
}
