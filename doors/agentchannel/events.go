package agentchannel

import (
	"context"
	"slices"

	openintentv1 "openintent/gen/openintent/v1"
)

const (
	// eventsListed is how many events a list has unless it says otherwise, and mostEvents how many at most.
	eventsListed, mostEvents = 50, 500
	// emptyPages is how many pages one list reads at most while they are empty because each looked at enough messages.
	emptyPages = 10
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
	return d.events(ctx, channel, wanted)
}

func (d *Desk) events(ctx context.Context, channel *openintentv1.Channel, wanted Selection) ([]Event, error) {
	messages, err := d.messages(ctx, channel, wanted)
	if err != nil {
		return nil, err
	}
	events := make([]Event, len(messages))
	for i, m := range messages {
		events[len(messages)-1-i] = eventOf(m)
	}
	return events, nil
}

// messages lists the messages of a selection, oldest first.
func (d *Desk) messages(ctx context.Context, channel *openintentv1.Channel, wanted Selection) ([]*openintentv1.Message, error) {
	limit := int32(max(1, min(wanted.Limit, mostEvents)))
	request := &openintentv1.ListMessagesRequest{ChannelId: channel.GetId(), Kind: wanted.Kind, Since: wanted.After, Limit: &limit}
	page, err := d.Caller.Messages.ListMessages(ctx, request)
	for n := 1; err == nil && n < emptyPages && request.Since != nil && len(page.GetMessages()) == 0 && page.GetBounded(); n++ {
		request.Since = page.NextSince
		page, err = d.Caller.Messages.ListMessages(ctx, request)
	}
	if err != nil {
		return nil, err
	}
	return slices.Clip(page.GetMessages()), nil
}
