package traces

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
	"openintent/sdk/go/opentelemetry"
)

// A send of the Go SDK is a span of the program, and the server's part is below it.
func TestASendOfTheGoSDK(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		exporter := tracetest.NewInMemoryExporter()
		provider := sdktrace.NewTracerProvider(sdktrace.WithSyncer(exporter))
		client, err := openintent.Dial(openintent.Options{
			Server: d.GRPCAddress(), APIKey: harness.Key, AgentID: "alice", Tracer: opentelemetry.Tracer(provider),
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		channel, err := client.GetChannel(patient(t), d.channel)
		require.NoError(t, err)
		_, err = channel.Notify(patient(t), "bob", map[string]any{"text": said})
		require.NoError(t, err)
		var sent Span
		for _, span := range exporter.GetSpans() {
			sent = Span{Name: span.Name, Trace: span.SpanContext.TraceID().String(), ID: span.SpanContext.SpanID().String()}
		}
		require.Equal(t, "openintent.send", sent.Name)
		call := collector.Await(t, sendName, Below(sent))
		collector.Await(t, "commit", Below(call))
		require.NoError(t, provider.Shutdown(context.Background()))
	})
}
