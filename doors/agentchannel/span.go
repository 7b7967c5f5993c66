package agentchannel

import (
	"context"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// Span tells of one event, for those who follow channels beside the other work of agents. Its attributes tell nothing of what the event
// says.
type Span struct {
	Name string
	// Attributes are names of OpenTelemetry and of the protocol, each with its value.
	Attributes [][2]string

	payload []byte
}

// maxInput bounds what Input returns, in bytes.
const maxInput = 1024

// Input returns the beginning of what the event says, as JSON. It is for operators who asked for it.
func (s Span) Input() string {
	if len(s.payload) <= maxInput {
		return string(s.payload)
	}
	return strings.ToValidUTF8(string(s.payload[:maxInput]), "") + "..."
}

// trace tells of an event.
func (d *Desk) trace(ctx context.Context, channel *openintentv1.Channel, event Event) {
	if d.Traced == nil {
		return
	}
	d.Traced(ctx, Span{Name: "agent-channel.event." + event.Kind, Attributes: [][2]string{
		{"session.id", event.Author}, {"agent.id", event.Author}, {"openinference.span.kind", "AGENT"},
		{"o2r.channel.id", channel.GetAddress()}, {"o2r.channel.event.kind", event.Kind},
	}, payload: event.Payload})
}
