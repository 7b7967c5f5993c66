package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"

	openintentv1 "openintent/gen/openintent/v1"
)

// eventsCommand lists and verifies an intent's event log.
type eventsCommand struct {
	List   eventListCommand   `cmd:"" default:"withargs" help:"List an intent's logged events, oldest first."`
	Verify eventVerifyCommand `cmd:"" help:"Recompute the hash chain of an intent's log; exit code 8 if it is broken."`
}

// eventListCommand lists events.
type eventListCommand struct {
	connection
	output
	intentFlag
	Type  string `placeholder:"TYPE" help:"Only events of this type, such as status_changed."`
	After *int64 `placeholder:"SEQUENCE" help:"Only events after this position in the log; --limit then counts from the oldest."`
	Limit int    `default:"50" placeholder:"N" help:"At most this many events: the newest (50)."`
}

// Run prints a table.
func (c *eventListCommand) Run(ctx context.Context, to terminal) error {
	intent, err := c.needed()
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	limit := int32(min(c.Limit, largestPage))
	var events []*openintentv1.Event
	request := &openintentv1.ListEventsRequest{IntentId: intent, Limit: &limit, EventType: present(c.Type), AfterSequence: c.After}
	for {
		listed, err := called(client.Raw().Events.ListEvents(ctx, request))
		if err != nil {
			return err
		}
		events = append(events, listed.GetEvents()...)
		if !listed.GetBounded() || len(events) >= int(limit) {
			break
		}
		request.Cursor = listed.NextCursor // the server had looked at enough events, and there are more
	}
	events = events[:min(len(events), int(limit))]
	if c.After == nil {
		slices.Reverse(events)
	}
	printed := newTable("SEQUENCE", "TIME", "TYPE", "ACTOR", "PAYLOAD")
	return list(c.output, to, printed, events, func(e *openintentv1.Event) []string {
		return []string{
			strconv.FormatInt(e.GetSequence(), 10), clock(e.GetCreatedAt()), e.GetEventType(), e.GetActor(),
			inline(e.GetPayload()),
		}
	})
}

// eventVerifyCommand verifies a log.
type eventVerifyCommand struct {
	connection
	output
	intentFlag
}

// Run reports that the log verifies, or where it does not.
func (c *eventVerifyCommand) Run(ctx context.Context, to terminal) error {
	intent, err := c.needed()
	if err != nil {
		return err
	}
	client, err := c.dial(to)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	none := int32(0) // the breaks show where to look
	verified, err := called(client.Raw().Events.VerifyEvents(ctx, &openintentv1.VerifyEventsRequest{
		IntentId: intent, Limit: &none,
	}))
	if err != nil {
		return err
	}
	return report(c.output, to, verified)
}

func report(form output, to terminal, verified *openintentv1.VerifyEventsResponse) error {
	if form.JSON {
		if err := lines(to, verified); err != nil {
			return err
		}
	} else if err := reportBreaks(to, verified); err != nil {
		return err
	}
	if !verified.GetValid() {
		return exitError{exitBroken, fmt.Errorf("the event log of %s does not verify", verified.GetIntentId())}
	}
	return nil
}

func reportBreaks(to terminal, verified *openintentv1.VerifyEventsResponse) error {
	if verified.GetValid() {
		text := "events verified: " + strconv.FormatInt(verified.GetEventCount(), 10)
		if removed := verified.GetCheckpoint(); removed != nil {
			text += "; removed before them: " + strconv.FormatInt(removed.GetSequence(), 10)
		}
		return printLine(to, text)
	}
	printed := newTable("SEQUENCE", "BREAK")
	for _, broken := range verified.GetBreaks() {
		printed.add(strconv.FormatInt(broken.GetSequence(), 10), broken.GetReason())
	}
	if err := printed.print(to); err != nil {
		return err
	}
	if more := verified.GetBreakCount() - int64(len(verified.GetBreaks())); more > 0 {
		return printLine(to, "further breaks: "+strconv.FormatInt(more, 10))
	}
	return nil
}
