package tracing

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// flaky is an exporter that fails as long as it is told to.
type flaky struct {
	failure  error
	attempts int
}

func (f *flaky) ExportSpans(context.Context, []sdktrace.ReadOnlySpan) error {
	f.attempts++
	return f.failure
}

func (f *flaky) Shutdown(context.Context) error { return nil }

// A collector that fails makes one line, is asked ever less often, and makes one more line when it works again.
func TestACollectorThatFailsIsToldOnce(t *testing.T) {
	var log bytes.Buffer
	now := time.Unix(0, 0)
	collector := &flaky{failure: errors.New("no route")}
	exporter := &patient{SpanExporter: collector, logger: slog.New(slog.NewTextHandler(&log, nil)), now: func() time.Time { return now }}
	spans := make([]sdktrace.ReadOnlySpan, 2)
	for range 600 { // ten minutes
		require.NoError(t, exporter.ExportSpans(t.Context(), spans))
		now = now.Add(time.Second)
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "no route")
	require.Less(t, collector.attempts, 30)

	collector.failure = nil
	now = now.Add(longestPause)
	require.NoError(t, exporter.ExportSpans(t.Context(), spans))
	require.NoError(t, exporter.ExportSpans(t.Context(), spans))
	require.Equal(t, 2, strings.Count(log.String(), "\n"), log.String())
	require.Contains(t, log.String(), "spans_lost=1200")

	collector.failure = errors.New("again")
	require.NoError(t, exporter.ExportSpans(t.Context(), spans))
	require.Contains(t, log.String(), "again")
	collector.failure = nil
	now = now.Add(firstPause)
	require.NoError(t, exporter.ExportSpans(t.Context(), spans))
	require.True(t, strings.HasSuffix(log.String(), "spans_lost=2\n"), "those of the first failure were told: %s", &log)
}

// What OpenTelemetry's packages complain of with each span makes one line, and what differs each time makes a few.
func TestComplaintsFillNoLog(t *testing.T) {
	var log bytes.Buffer
	all := complaints{logger: slog.New(slog.NewTextHandler(&log, nil))}
	for range 3 {
		all.Handle(errors.New("no room"))
		require.Equal(t, 1, strings.Count(log.String(), "\n"))
	}
	for i := range 3 * maxComplaints {
		all.Handle(fmt.Errorf("no room for span %d", i))
	}
	require.Equal(t, maxComplaints, strings.Count(log.String(), "\n"))
}

func TestACollectorIsWantedIfEitherVariableNamesIt(t *testing.T) {
	for _, name := range []string{endpointVariable, tracesEndpointVariable} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, "http://127.0.0.1:1")
			require.True(t, wanted())
		})
	}
}

func TestTheProtocol(t *testing.T) {
	spoken, err := protocol()
	require.NoError(t, err)
	require.Equal(t, protocolHTTP, spoken)
	t.Setenv(protocolVariable, "grpc")
	spoken, err = protocol()
	require.NoError(t, err)
	require.Equal(t, protocolGRPC, spoken)
	t.Setenv(tracesProtocolVariable, "http/json")
	_, err = protocol()
	require.EqualError(t, err, `OTEL_EXPORTER_OTLP_TRACES_PROTOCOL must be grpc or http/protobuf; it is "http/json"`)
	t.Setenv(endpointVariable, "http://127.0.0.1:1")
	_, err = Open(t.Context(), Config{Logger: slog.New(slog.DiscardHandler)})
	require.Error(t, err)
}

func TestNothingIsTracedWithoutACollector(t *testing.T) {
	for name, set := range map[string]map[string]string{
		"nothing set":    {},
		"empty":          {endpointVariable: " "},
		"turned off":     {endpointVariable: "http://127.0.0.1:1", disabledVariable: "True"},
		"no exporter":    {tracesEndpointVariable: "http://127.0.0.1:1", exporterVariable: "none"},
		"something else": {"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://127.0.0.1:1"},
	} {
		t.Run(name, func(t *testing.T) {
			for key, value := range set {
				t.Setenv(key, value)
			}
			traced, err := Open(t.Context(), Config{})
			require.NoError(t, err)
			require.Nil(t, traced)
			traced.Close(t.Context())
		})
	}
}

// Lines that belong to a span name it, also below groups and with attributes; others stay as they are.
func TestLinesNameTheirSpan(t *testing.T) {
	var log bytes.Buffer
	logger := Logged(slog.New(slog.NewTextHandler(&log, nil))).With("room", "desk")
	logger.Info("plain")
	require.NotContains(t, log.String(), "trace_id")
	parent := Parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	logger.InfoContext(trace.ContextWithRemoteSpanContext(t.Context(), parent), "traced")
	require.Contains(t, log.String(), "room=desk trace_id=0af7651916cd43dd8448eb211c80319c span_id=b7ad6b7169203331")
	logger.WithGroup("desk").InfoContext(trace.ContextWithRemoteSpanContext(t.Context(), parent), "traced")
	require.Contains(t, log.String(), "desk.trace_id=0af7651916cd43dd8448eb211c80319c")
}

// What strangers name as their span names one or none, and what it names is written as it was read.
func FuzzParent(f *testing.F) {
	for _, seed := range []string{
		"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff",
		"01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more", "00-00000000000000000000000000000000-b7ad6b7169203331-01",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0AF7651916CD43DD8448EB211C80319C-B7AD6B7169203331-01", "\x00\xff",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		parent := Parent(text)
		if !parent.IsValid() {
			require.Empty(t, Traceparent(parent))
			return
		}
		require.Contains(t, text, parent.TraceID().String())
		again := Parent(Traceparent(parent))
		require.Equal(t, parent.TraceID(), again.TraceID())
		require.Equal(t, parent.SpanID(), again.SpanID())
		require.Equal(t, parent.IsSampled(), again.IsSampled())
	})
}
