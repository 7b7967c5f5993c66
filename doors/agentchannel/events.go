package agentchannel

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// eventsListed is how many events a list has unless it says otherwise, and mostEvents how many at most.
	eventsListed, mostEvents = 50, 500
	// emptyPages is how many pages one list reads at most while they are empty because each looked at enough messages.
	emptyPages = 10
	// mostBytes is how many bytes of payloads a list has at most.
	mostBytes = 1 << 20
)

// Selection says which events somebody wants.
type Selection struct {
	// Kind leaves the events of one kind; nil is all.
	Kind *string
	// After is the event after which the list begins; nil lists the newest.
	After *string
	// Limit is how many events the list has at most.
	Limit int
}

// Events lists events, newest first. After an event it lists those that follow it, so that who goes on with the newest id of each list
// misses none.
func (d *Desk) Events(ctx context.Context, named string, wanted Selection) ([]Event, error) {
	channel, err := d.find(ctx, named)
	if err != nil {
		return nil, err
	}
	return d.events(ctx, channel, wanted, mostBytes)
}

func (d *Desk) events(ctx context.Context, channel *openintentv1.Channel, wanted Selection, bytes int32) ([]Event, error) {
	request := &openintentv1.ListMessagesRequest{
		ChannelId: channel.GetId(), Kind: wanted.Kind, Since: wanted.After, Limit: new(wanted.limit()), MaxBytes: &bytes,
	}
	page, err := d.Caller.Messages.ListMessages(ctx, request)
	for n := 1; err == nil && n < emptyPages && request.Since != nil && len(page.GetMessages()) == 0 && page.GetBounded(); n++ {
		request.Since = page.NextSince
		page, err = d.Caller.Messages.ListMessages(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	messages := page.GetMessages()
	events := make([]Event, len(messages))
	for i, m := range messages {
		if events[len(messages)-1-i], err = eventOf(m); err != nil {
			return nil, err
		}
		messages[i] = nil // what was read needs far more memory than what is said
	}
	return events, nil
}

// limit returns how many events the list has at most.
func (s Selection) limit() int32 { return int32(max(1, min(s.Limit, mostEvents))) }
