package repomesh

import (
	"context"
	"strings"

	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
)

// The mesh's log has an entry for each lease and for each change of a task. They are events of the protocol; nobody has to send them.

// logged are the types of the log whose entries are events, by the types of the protocol.
var logged = map[string]string{
	"lock.acquired": leaseAcquired, "lock.released": leaseReleased, autoReleased: leaseReleased,
}

const (
	leaseAcquired, leaseReleased = "lease_acquired", "lease_released"
	// autoReleased is the type of the event that tells of a lock which its holder did not give back.
	autoReleased = "lock.auto_released"
	// ofTask begins the types of entries about tasks, which the log and the protocol have in common.
	ofTask = "task."
)

// loggedAs returns the log's type of an event's type, and "" if the log has no such events.
func loggedAs(name string) string {
	if strings.HasPrefix(name, ofTask) {
		return name
	}
	return logged[name]
}

// history adds to a gathering what the log tells.
func (s *session) history(ctx context.Context, g *gathering) error {
	fetch := min(4*g.fetch(), mostFetched) // not every entry is an event
	request := &openintentv1.ListEventsRequest{IntentId: s.intent, Order: new("desc"), Limit: new(int32(fetch))}
	name := g.name
	if g.to != "" { // an inbox has what the protocol tells to all
		if name != "" && name != autoReleased {
			return nil
		}
		name = autoReleased
	}
	if name != "" {
		entries := loggedAs(name)
		if entries == "" {
			return nil
		}
		request.EventType = &entries
	}
	if g.ascending {
		request.Order = new("asc")
		if !g.since.IsZero() {
			request.Since = timestamppb.New(g.since)
		}
	}
	found, more, err := s.events(ctx, request)
	if err != nil {
		return err
	}
	for _, entry := range found {
		if e := told(entry); e != nil && (name == "" || e.Type == name) {
			g.add(e)
		}
	}
	if n := len(found); more && n > 0 && g.reachesOn(fetch) {
		g.reached(found[n-1].GetCreatedAt().AsTime())
	}
	return nil
}

// events lists logged events, on over pages that ended because the server had looked at enough. more reports whether others follow.
func (s *session) events(ctx context.Context, request *openintentv1.ListEventsRequest) (found []*openintentv1.Event, more bool, err error) {
	limit := int(request.GetLimit())
	for {
		page, err := s.caller.Events.ListEvents(ctx, request)
		if err != nil {
			return nil, false, err
		}
		if found = append(found, page.GetEvents()...); !page.GetBounded() || len(found) >= limit {
			return found[:min(limit, len(found))], page.NextCursor != nil || len(found) > limit, nil
		}
		request.Cursor = page.NextCursor
	}
}

// told returns an entry of the log in the protocol's form, and nil if the protocol has no event for it.
func told(entry *openintentv1.Event) *event {
	said := entry.GetPayload().AsMap()
	e := &event{
		ID: entry.GetId(), Severity: "info", System: true, CreatedAt: stamp(entry.GetCreatedAt()), at: entry.GetCreatedAt().AsTime(),
		Payload: map[string]any{
			"from": system, "from_id": system, "to": everyone, "timestamp": stamp(entry.GetCreatedAt()), "agent_id": said["agent_id"],
		},
	}
	switch name := entry.GetEventType(); {
	case name == leaseAcquired || name == leaseReleased:
		e.lock(name, said)
	case strings.HasPrefix(name, ofTask):
		e.task(entry, said)
	default:
		return nil
	}
	return e
}

// lock describes what happened to a lease.
func (e *event) lock(name string, said map[string]any) {
	e.Type = "lock.acquired"
	e.Payload["lock_id"], e.Payload["resource_key"], e.Payload["fence"] = said["lease_id"], said["scope"], said["fence"]
	if name == leaseAcquired {
		e.Payload["ttl"] = said["duration_seconds"]
		return
	}
	e.Type, e.Payload["reason"] = "lock.released", said["reason"]
	if said["reason"] != "released" {
		e.Type, e.Severity, e.Payload["last_heartbeat"] = autoReleased, "warning", said["renewed_at"]
	}
}

// task describes what happened to a task.
func (e *event) task(entry *openintentv1.Event, said map[string]any) {
	e.Type = entry.GetEventType()
	if id, isText := said["task_id"].(string); isText {
		e.TaskID = &id
	}
	e.Payload["task_id"], e.Payload["goal"], e.Payload["status"] = said["task_id"], said["name"], said["status"]
	e.Payload["agent_id"], e.Payload["assignee"] = entry.GetActor(), said["assigned_agent"]
	switch e.Type {
	case "task.blocked":
		e.Severity, e.Payload["blocked_reason"] = "warning", said["blocked_reason"]
	case "task.failed":
		e.Severity, e.Payload["error"] = "error", said["error"]
	}
}
