package tracing

import (
	"context"

	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// Header is the header of a call, and the member of a message's metadata, that names a span (W3C Trace Context).
const Header = "traceparent"

// Parent returns the span that a traceparent names. It is not valid if the text names none.
func Parent(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{Header: traceparent})
	return trace.SpanContextFromContext(ctx)
}

// Traceparent returns the traceparent that names a span, or "" if it is not valid.
func Traceparent(span trace.SpanContext) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), span), carrier)
	return carrier[Header]
}
