package agentchannel

import (
	"context"

	openintentv1 "openintent/gen/openintent/v1"
)

// Span tells of one event, for those who follow channels beside the other work of agents. The contents of events are not in it.
type Span struct {
	Name string
	// Attributes are names of OpenTelemetry and of the protocol, each with its value.
	Attributes [][2]string
}

// trace tells of an event.
func (d *Desk) trace(ctx context.Context, channel *openintentv1.Channel, event Event) {
	if d.Traced == nil {
		return
	}
	d.Traced(ctx, Span{Name: "agent-channel.event." + event.Kind, Attributes: [][2]string{
		{"session.id", event.Author}, {"agent.id", event.Author}, {"openinference.span.kind", "AGENT"},
		{"o2r.channel.id", channel.GetAddress()}, {"o2r.channel.event.kind", event.Kind},
	}})
}
