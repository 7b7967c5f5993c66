package opentelemetry

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"
)

// A handler's span is below that of the message, and a reply's below the handler's.
func TestSpansOfAMessage(t *testing.T) {
	exporter := tracetest.NewInMemoryExporter()
	tracer := Tracer(sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter)))
	asking, endAsking := tracer.Start(t.Context(), "openintent.ask", "")
	asked := tracer.Traceparent(asking)
	handlingContext, endHandling := tracer.Start(context.Background(), "openintent.handle", asked)
	_, endReply := tracer.Start(handlingContext, "openintent.reply", "")
	endReply(nil)
	endHandling(errors.New("no"))
	endAsking(nil)

	spans := exporter.GetSpans()
	require.Len(t, spans, 3)
	reply, handle, ask := spans[0], spans[1], spans[2]
	require.Equal(t, ask.SpanContext.SpanID(), handle.Parent.SpanID())
	require.Equal(t, handle.SpanContext.SpanID(), reply.Parent.SpanID())
	require.Equal(t, ask.SpanContext.TraceID(), reply.SpanContext.TraceID())
	require.Equal(t, []trace.SpanKind{trace.SpanKindClient, trace.SpanKindConsumer, trace.SpanKindClient},
		[]trace.SpanKind{ask.SpanKind, handle.SpanKind, reply.SpanKind})
	require.Equal(t, codes.Error, handle.Status.Code)
	require.Equal(t, codes.Unset, ask.Status.Code)
	require.Equal(t, "00-"+ask.SpanContext.TraceID().String()+"-"+ask.SpanContext.SpanID().String()+"-01", asked)
}

// A message may claim anything about its trace, and a program may have set nothing up.
func TestWithoutATrace(t *testing.T) {
	tracer := Tracer(nil)
	ctx, end := tracer.Start(t.Context(), "openintent.handle", "nonsense")
	require.Empty(t, tracer.Traceparent(ctx))
	end(nil)
}
