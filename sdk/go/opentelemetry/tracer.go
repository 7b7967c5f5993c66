// Package opentelemetry connects the Go SDK to a program's OpenTelemetry:
//
//	client, err := openintent.Dial(openintent.Options{AgentID: "researcher", Tracer: opentelemetry.Tracer(nil)})
//
// Asks, sends and replies are then client spans, and an agent's handlers run in spans below those of the messages. A server that
// traces as well adds its own part. Programs that do not import this package do not need OpenTelemetry.
package opentelemetry

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	openintent "openintent/sdk/go"
)

const (
	scope  = "openintent/sdk/go"
	header = "traceparent"
	// handling is the name of the span in which an agent's handlers run.
	handling = "openintent.handle"
)

// Tracer makes spans with a provider; nil means the program's own, which otel.SetTracerProvider sets, also later.
func Tracer(provider trace.TracerProvider) openintent.Tracer {
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return tracer{provider.Tracer(scope)}
}

type tracer struct{ trace.Tracer }

// Start begins a span: a consumer's for handlers, a client's for anything else, below the one that the traceparent names, if any.
func (t tracer) Start(ctx context.Context, name, traceparent string) (context.Context, func(error)) {
	kind := trace.SpanKindClient
	if name == handling {
		kind = trace.SpanKindConsumer
	}
	if traceparent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{header: traceparent})
	}
	ctx, span := t.Tracer.Start(ctx, name, trace.WithSpanKind(kind))
	return ctx, func(err error) {
		if err != nil {
			span.RecordError(err)
			span.SetStatus(codes.Error, err.Error())
		}
		span.End()
	}
}

// Traceparent names the context's span.
func (t tracer) Traceparent(ctx context.Context) string {
	carrier := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, carrier)
	return carrier[header]
}
