package server

import (
	"context"
	"net/http"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"openintent/doors/agentchannel"
	"openintent/internal/tracing"
)

// beginDoor begins the span of a request at a door; the calls that the door then makes belong to it. A connection that lasts, as a
// WebSocket or a stream of events, has no span, and each call that is made on it has its own.
func (s *spans) beginDoor(name string, w *trackedWriter, r *http.Request) (_ *http.Request, end func()) {
	if lasts(r) {
		return r, func() {}
	}
	ctx := trace.ContextWithRemoteSpanContext(r.Context(), tracing.Parent(r.Header.Get(tracing.Header)))
	path := pathOfDoor(name)
	ctx, span := s.tracer.Start(ctx, r.Method+" "+path, trace.WithSpanKind(trace.SpanKindServer), trace.WithAttributes(
		semconv.HTTPRequestMethodKey.String(r.Method), semconv.HTTPRoute(path), doorKey.String(name)))
	return r.WithContext(ctx), func() {
		span.SetAttributes(semconv.HTTPResponseStatusCode(w.status))
		if w.status >= http.StatusInternalServerError {
			span.SetStatus(codes.Error, http.StatusText(w.status))
		}
		span.End()
	}
}

// lasts reports whether a request begins a connection that lasts.
func lasts(r *http.Request) bool {
	return r.Header.Get("Upgrade") != "" ||
		r.Method == http.MethodGet && strings.Contains(r.Header.Get("Accept"), "text/event-stream")
}

// event makes the span of an event on an agent channel.
func (s *spans) event(ctx context.Context, event agentchannel.Span) {
	attributes := make([]attribute.KeyValue, len(event.Attributes))
	for i, one := range event.Attributes {
		attributes[i] = attribute.String(one[0], one[1])
	}
	_, span := s.tracer.Start(ctx, event.Name, trace.WithAttributes(attributes...))
	if s.contents {
		span.SetAttributes(attribute.String("input.value", event.Input()))
	}
	span.End()
}
