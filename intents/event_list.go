package intents

import (
	"context"
	"time"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/optional"
	"openintent/internal/pages"
)

// ListEvents returns a page of an intent's log, the newest event first unless the request says otherwise.
func (s *Service) ListEvents(
	ctx context.Context, req *openintentv1.ListEventsRequest,
) (*openintentv1.ListEventsResponse, error) {
	l := eventList{
		eventType: req.GetEventType(), descending: req.AfterSequence == nil, offset: int64(req.GetOffset()), lookAt: int64(s.looking.candidates),
	}
	since, err := optional.TimeFrom("since", req.GetSince())
	if err := firstOf(err, caller.CheckText("event_type", l.eventType)); err != nil {
		return nil, err
	}
	var place int64
	page, err := pages.Begin("events", req, defaultEventPage, &place)
	if err := firstOf(err, page.MaySkip(req.GetOffset())); err != nil {
		return nil, err
	}
	if req.Order != nil {
		l.descending = req.GetOrder() == "desc"
	}
	var events []*Event
	var removed checkpoint
	err = s.readHeavy(ctx, func(tx *database.Tx, c caller.Caller) error {
		head, err := s.view(tx, c, c.Agent, req.GetIntentId(), PermissionRead)
		if err != nil {
			return err
		}
		if removed, err = checkpointOf(tx, &head); err != nil {
			return err
		}
		l.after, l.before, l.bounded = max(removed.sequence, req.GetAfterSequence()), head.LastSequence+1, false
		if err := l.begin(tx, &head, since, place); err != nil {
			return err
		}
		events, err = l.read(tx, page, head.IntentNo)
		return err
	})
	if err != nil {
		return nil, err
	}
	messages, err := eventMessages(events)
	response := &openintentv1.ListEventsResponse{Checkpoint: removed.toWire()}
	response.Events, response.NextCursor = pages.Close(page, messages, func(i int) []any { return []any{events[i].Sequence} })
	if response.NextCursor == nil && l.bounded {
		cursor := pages.Cursor("events", l.end())
		response.NextCursor, response.Bounded = &cursor, true
	}
	return response, err
}

// eventList is a list of the events of one intent between two places of its log, both of which it leaves out. The places have no gaps.
type eventList struct {
	after, before int64
	eventType     string // empty for all types
	descending    bool
	offset        int64
	// lookAt is at how many events a page looks, because nothing says how many lie between two of a type.
	lookAt  int64
	bounded bool
}

// begin narrows the list to what follows a time and the page before, of which place is the last event's.
func (l *eventList) begin(tx *database.Tx, head *Head, since time.Time, place int64) error {
	if !since.IsZero() {
		last, err := lastEventAt(tx, head.IntentNo, l.after, l.before-1, since)
		if err != nil {
			return err
		}
		l.after = last
	}
	switch {
	case l.descending && place > 0:
		l.before = min(l.before, place)
	case !l.descending:
		l.after = max(l.after, place)
	}
	if l.eventType == "" { // so many events are so many places
		l.skip(l.offset)
		l.offset = 0
	}
	if l.bounded = l.eventType != "" && l.offset == 0 && l.before-l.after-1 > l.lookAt; !l.bounded {
		return nil
	}
	if l.descending {
		l.after = l.before - 1 - l.lookAt
	} else {
		l.before = l.after + 1 + l.lookAt
	}
	return nil
}

// skip leaves out the first so many places.
func (l *eventList) skip(places int64) {
	if l.descending {
		l.before -= places
	} else {
		l.after += places
	}
}

// end returns the last place at which a bounded list has looked.
func (l *eventList) end() int64 {
	if l.descending {
		return l.after + 1
	}
	return l.before - 1
}

// read reads those events that go on a page.
func (l *eventList) read(tx *database.Tx, page *pages.Page, intentNo int64) ([]*Event, error) {
	selection, args := " WHERE e.intent_no = ? AND e.sequence > ? AND e.sequence < ?", []any{intentNo, l.after, l.before}
	if l.eventType != "" {
		selection, args = selection+" AND e.event_type = ?", append(args, l.eventType)
	}
	selection += " ORDER BY e.sequence"
	if l.descending {
		selection += " DESC"
	}
	if err := page.Skip(int32(l.offset)); err != nil { //nolint:gosec // it comes from an int32
		return nil, err
	}
	return readPage(tx, page, selection, int(l.offset), args)
}

// lastEventAt returns the last place, of those after one and up to another one, whose event was stored at or before a time. It is the place
// before them if there is none. Times rise with the places.
func lastEventAt(tx *database.Tx, intentNo, low, high int64, at time.Time) (int64, error) {
	for low < high {
		middle := (low + high + 1) / 2
		var created int64
		err := tx.Pipeline(database.ReadValue(&created, "SELECT created_at FROM events WHERE intent_no = ? AND sequence = ?", intentNo, middle))
		if err != nil {
			return 0, err
		}
		if created <= database.Micros(at) {
			low = middle
		} else {
			high = middle - 1
		}
	}
	return low, nil
}
