package tracing

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/exporters/otlp/otlptrace"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

// These bound how often a span is sent to a collector that does not take it.
const (
	firstRetry  = 500 * time.Millisecond
	longestWait = 2 * time.Second
	patience    = 5 * time.Second
)

// These are the pauses after a collector could not be reached. During a pause, spans are dropped without an attempt.
const (
	firstPause   = time.Second
	longestPause = 30 * time.Second
)

// newExporter makes the exporter that the environment describes. It connects later.
func newExporter(ctx context.Context) (sdktrace.SpanExporter, error) {
	spoken, err := protocol()
	if err != nil {
		return nil, err
	}
	if spoken == protocolGRPC {
		return otlptrace.New(ctx, otlptracegrpc.NewClient(otlptracegrpc.WithRetry(otlptracegrpc.RetryConfig{
			Enabled: true, InitialInterval: firstRetry, MaxInterval: longestWait, MaxElapsedTime: patience,
		})))
	}
	return otlptrace.New(ctx, otlptracehttp.NewClient(otlptracehttp.WithRetry(otlptracehttp.RetryConfig{
		Enabled: true, InitialInterval: firstRetry, MaxInterval: longestWait, MaxElapsedTime: patience,
	})))
}

// patient is an exporter that tells once when the collector cannot be reached, and once when it can be reached again. In between
// it tries now and then, and drops the spans.
type patient struct {
	sdktrace.SpanExporter
	logger *slog.Logger
	now    func() time.Time

	mutex sync.Mutex
	// lost counts the spans that were dropped since the collector failed; pause is 0 while it works.
	lost  int
	pause time.Duration
	until time.Time
}

// ExportSpans sends spans. Its errors are in the log already, so it returns none.
func (p *patient) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.pause > 0 && p.now().Before(p.until) {
		p.lost += len(spans)
		return nil
	}
	err := p.SpanExporter.ExportSpans(ctx, spans)
	switch {
	case err == nil && p.pause > 0:
		p.logger.Info("the collector takes traces again", "spans_lost", p.lost)
		p.lost, p.pause = 0, 0
	case err == nil:
	case p.pause == 0:
		p.logger.Warn("traces cannot be sent; spans are dropped until the collector takes them", "error", err)
		fallthrough
	default:
		p.lost += len(spans)
		p.pause = min(max(firstPause, 2*p.pause), longestPause)
		p.until = p.now().Add(p.pause)
	}
	return nil
}
