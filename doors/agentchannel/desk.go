package agentchannel

import (
	"context"
	"time"

	"openintent/doors"
	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
)

// Options are what the operator sets.
type Options struct {
	// Cadence is how often an agent that holds work posts a status event; required.
	Cadence time.Duration
	// Now is the clock; nil is the time of the machine.
	Now func() time.Time
	// Traced is told of each event that was posted through the door; nil when nobody follows.
	Traced func(context.Context, Span)
}

// silences is how many cadences of silence make an agent presumed dead.
const silences = 5

// Desk serves one caller: the routes and the tools ask it.
type Desk struct {
	Options
	// Caller is who asks.
	Caller *doors.Caller
	// Base begins the URLs that the caller reads; empty where it reads none.
	Base string
}

func (o Options) now() time.Time {
	if o.Now == nil {
		return time.Now()
	}
	return o.Now()
}

// errNoDocument says that nobody has posted a document yet.
func errNoDocument(kind string) error {
	return fault.New(fault.NotFound, "DOCUMENT_NOT_FOUND", "The channel has no %s yet; post an event of kind %s.", kind, kind)
}

// Spec returns the channel's charter.
func (d *Desk) Spec(ctx context.Context, named string) (*Event, error) {
	return d.document(ctx, named, kindSpec)
}

// State returns the channel's live state.
func (d *Desk) State(ctx context.Context, named string) (*Event, error) {
	return d.document(ctx, named, kindState)
}

func (d *Desk) document(ctx context.Context, named, kind string) (*Event, error) {
	channel, err := d.find(ctx, named)
	if err != nil {
		return nil, err
	}
	documents, err := d.documents(ctx, channel)
	if err != nil {
		return nil, err
	}
	found := documents[kind]
	if found == nil {
		return nil, errNoDocument(kind)
	}
	event := eventOf(found)
	return &event, nil
}

// documents returns the present contents of a channel's documents, by kind. A deleted one is none.
func (d *Desk) documents(ctx context.Context, channel *openintentv1.Channel) (map[string]*openintentv1.Message, error) {
	page, err := d.Caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{ChannelId: channel.GetId(), Documents: new(true)})
	if err != nil {
		return nil, err
	}
	found := make(map[string]*openintentv1.Message)
	for _, m := range page.GetMessages() {
		if m.DeletedAt == nil {
			found[m.GetKind()] = m
		}
	}
	return found, nil
}
