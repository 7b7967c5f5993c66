package tracing

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// name is that of the tracer, and of the service if the environment names none.
const name = "openintent"

// Config is what tracing needs beside the environment.
type Config struct {
	// Version is the program's version.
	Version string
	// Logger is told when spans cannot be sent.
	Logger *slog.Logger
}

// Tracing makes spans and sends them. Make it with Open.
type Tracing struct {
	provider *sdktrace.TracerProvider
}

// Open begins to trace if the environment wants it. Otherwise it returns nil. Its error refuses a setting, with a sentence for
// the operator.
func Open(ctx context.Context, cfg Config) (*Tracing, error) {
	if !wanted() {
		return nil, nil
	}
	chosen, problem := sampler()
	if problem != nil {
		cfg.Logger.Warn("a setting of OpenTelemetry is not used", "error", problem)
	}
	described, err := resource.New(ctx, resource.WithAttributes(
		attribute.String("service.name", name), attribute.String("service.version", cfg.Version),
	), resource.WithHost(), resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES cannot be used: %w", err)
	}
	options := []sdktrace.TracerProviderOption{sdktrace.WithSampler(chosen), sdktrace.WithResource(described)}
	exporter, err := newExporter(ctx)
	if err != nil {
		return nil, err
	}
	otel.SetErrorHandler(&complaints{logger: cfg.Logger})
	quiet := &patient{SpanExporter: exporter, logger: cfg.Logger, now: time.Now}
	return &Tracing{sdktrace.NewTracerProvider(append(options, sdktrace.WithBatcher(quiet))...)}, nil
}

// Tracer makes spans.
func (t *Tracing) Tracer() trace.Tracer { return t.provider.Tracer(name) }

// Close sends what still waits, at most until the context ends.
func (t *Tracing) Close(ctx context.Context) {
	if t != nil {
		_ = t.provider.Shutdown(ctx) // what could not be sent is lost, and the log has said so
	}
}

// complaints puts what OpenTelemetry's packages complain of into the log, each complaint once.
type complaints struct {
	logger *slog.Logger

	mutex sync.Mutex
	told  map[string]struct{}
}

// maxComplaints bounds how many complaints are remembered, and so how many are told.
const maxComplaints = 20

// Handle tells of a complaint.
func (c *complaints) Handle(err error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	if _, told := c.told[err.Error()]; told || len(c.told) == maxComplaints {
		return
	}
	if c.told == nil {
		c.told = make(map[string]struct{})
	}
	c.told[err.Error()] = struct{}{}
	c.logger.Warn("OpenTelemetry complains", "error", err)
}
