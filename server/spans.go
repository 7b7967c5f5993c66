package server

import (
	"context"
	"strings"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
	grpccodes "google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"openintent/internal/tracing"
)

// spans makes the spans of what the server does (docs/traces.md). It is nil if nothing is traced; then nobody calls it. No span
// contains a key, or what a message says.
type spans struct {
	tracer trace.Tracer
	// contents lets spans of events on agent channels carry the beginning of what the events say.
	contents bool
}

// These are attributes of our own.
const (
	intentKey     = attribute.Key("openintent.intent.id")
	agentKey      = attribute.Key("openintent.agent")
	reasonKey     = attribute.Key("openintent.reason")
	streamingKey  = attribute.Key("openintent.streaming")
	atOnceKey     = attribute.Key("openintent.commit.at_once")
	doorKey       = attribute.Key("openintent.door")
	rpcSystemGRPC = "grpc"
)

// newSpans returns nil without tracing.
func newSpans(traced *tracing.Tracing, cfg Config) *spans {
	if traced == nil {
		return nil
	}
	return &spans{tracer: traced.Tracer(), contents: cfg.TraceContents}
}

// beginCall begins the span of a call. It is part of the trace that the call's traceparent names. A call that another one makes
// within the process, as doors do, belongs to that one.
func (s *spans) beginCall(call *call, fullMethod string) {
	name := strings.TrimPrefix(fullMethod, "/")
	ctx, kind := call.ctx, trace.SpanKindInternal
	if !trace.SpanContextFromContext(ctx).IsValid() {
		ctx, kind = trace.ContextWithRemoteSpanContext(ctx, parentOf(call.headers)), trace.SpanKindServer
	}
	call.ctx, call.span = s.tracer.Start(ctx, name, trace.WithSpanKind(kind), trace.WithAttributes(
		semconv.RPCSystemNameKey.String(rpcSystemGRPC), semconv.RPCMethodKey.String(name), streamingKey.Bool(call.streaming)))
}

// parentOf returns the span that a call's headers name. Tracing is never a reason to refuse a call, so a malformed or repeated header
// names none.
func parentOf(headers metadata.MD) trace.SpanContext {
	given := headers.Get(tracing.Header)
	if len(given) != 1 {
		return trace.SpanContext{}
	}
	return tracing.Parent(given[0])
}

// endCall ends the span of a call with its outcome.
func (s *spans) endCall(call *call, outcome *status.Status) {
	code := codeName(outcome.Code())
	call.span.SetAttributes(semconv.RPCResponseStatusCodeKey.String(code))
	if call.agent != "" {
		call.span.SetAttributes(agentKey.String(call.agent))
	}
	if reason := reasonOf(outcome); reason != "" {
		call.span.SetAttributes(reasonKey.String(reason), semconv.ErrorTypeKey.String(reason))
	}
	if isServerFailure(outcome.Code()) {
		call.span.SetStatus(codes.Error, code)
	}
	call.span.End()
}

// isServerFailure reports whether a call with this code failed by the server's fault, as the conventions for spans of servers have it.
func isServerFailure(code grpccodes.Code) bool {
	switch code {
	case grpccodes.Unknown, grpccodes.DeadlineExceeded, grpccodes.Unimplemented, grpccodes.Internal, grpccodes.Unavailable,
		grpccodes.DataLoss:
		return true
	}
	return false
}

// traces reports whether what follows from a call is worth a span.
func (s *spans) traces(ctx context.Context) bool { return trace.SpanFromContext(ctx).IsRecording() }
