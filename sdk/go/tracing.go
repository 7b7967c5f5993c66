package openintent

import (
	"context"
	"strings"

	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"
)

// Tracer connects this package to the program's tracing. The package opentelemetry beside this one has one for OpenTelemetry; this
// package does not depend on OpenTelemetry.
type Tracer interface {
	// Start begins a span of this name, one of openintent.ask, openintent.send, openintent.reply (of kind client) and
	// openintent.handle (consumer), as a child of the context's span, or of traceparent's when that is not empty. The
	// function that it returns ends the span, with an error or nil.
	Start(ctx context.Context, name, traceparent string) (context.Context, func(error))
	// Traceparent returns the W3C form of the context's span, or "".
	Traceparent(ctx context.Context) string
}

// spanned begins a client span and adds it to the call's and the message's metadata. So the server's log, the copies
// of audited messages and the other side's handler belong to the same trace.
func (c *Client) spanned(
	ctx context.Context, name string, facts *structpb.Struct,
) (context.Context, *structpb.Struct, func(error)) {
	if c.options.Tracer == nil {
		return ctx, facts, func(error) {}
	}
	ctx, end := c.options.Tracer.Start(ctx, name, "")
	traceparent := c.options.Tracer.Traceparent(ctx)
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 {
		return ctx, facts, end
	}
	if facts.Fields == nil {
		facts.Fields = make(map[string]*structpb.Value)
	}
	facts.Fields["traceparent"] = structpb.NewStringValue(traceparent)
	facts.Fields["trace_id"] = structpb.NewStringValue(parts[1])
	return metadata.AppendToOutgoingContext(ctx, "traceparent", traceparent), facts, end
}

// handlingSpan begins the span of a message's handlers, as a child of the span that the message names.
func (c *Client) handlingSpan(ctx context.Context, message *Message) (context.Context, func(error)) {
	if c.options.Tracer == nil {
		return ctx, func(error) {}
	}
	traceparent, _ := message.Metadata["traceparent"].(string)
	return c.options.Tracer.Start(ctx, "openintent.handle", traceparent)
}
