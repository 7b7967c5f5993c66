package agentchannel

import (
	"context"
	"time"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
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
	// Named is true if the caller says in X-Agent-ID who it is, which the commands of the page then do, too.
	Named bool
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
	found, err := d.documentIn(ctx, channel, kind)
	if err == nil && found == nil {
		err = errNoDocument(kind)
	}
	return found, err
}

// documentIn returns the present content of a channel's document; nil if there is none.
func (d *Desk) documentIn(ctx context.Context, channel *openintentv1.Channel, kind string) (*Event, error) {
	page, err := d.Caller.Messages.ListMessages(ctx, &openintentv1.ListMessagesRequest{
		ChannelId: channel.GetId(), Documents: new(true), Kind: &kind,
	})
	if err != nil || len(page.GetMessages()) == 0 {
		return nil, err
	}
	event, err := eventOf(page.GetMessages()[0])
	return &event, err
}
