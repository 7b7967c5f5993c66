package traces

import (
	"context"
	"encoding/hex"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	collectorv1 "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	commonv1 "go.opentelemetry.io/proto/otlp/common/v1"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc"

	"openintent/e2e/harness"
)

// Span is a span as a collector gets it. Ids are hexadecimal.
type Span struct {
	Name, Trace, ID, Parent string
	Kind                    tracev1.Span_SpanKind
	Failed                  bool
	Began, Ended            time.Time
	Attributes              map[string]string
	// Links are the ids of the spans to which it is linked.
	Links []string
	// Service is the name of the service that made it.
	Service string
}

// Collector takes spans.
type Collector struct {
	collectorv1.UnimplementedTraceServiceServer
	address string

	mutex sync.Mutex
	spans []Span
}

// StartCollector starts a collector on this machine until the test ends.
func StartCollector(tb testing.TB) *Collector {
	tb.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		tb.Fatal(err)
	}
	c := &Collector{address: listener.Addr().String()}
	server := grpc.NewServer()
	collectorv1.RegisterTraceServiceServer(server, c)
	var serving sync.WaitGroup
	serving.Go(func() { _ = server.Serve(listener) })
	tb.Cleanup(func() {
		server.Stop()
		serving.Wait()
	})
	return c
}

// Listen lets servers that the test starts from now on send their spans to the collector, soon after they end.
func (c *Collector) Listen(t *testing.T) {
	t.Helper()
	for name, value := range c.Environment() {
		t.Setenv(name, value)
	}
}

// Environment returns the variables by which a program finds the collector.
func (c *Collector) Environment() map[string]string {
	return map[string]string{
		"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://" + c.address,
		"OTEL_EXPORTER_OTLP_PROTOCOL":        "grpc",
		"OTEL_BSP_SCHEDULE_DELAY":            "20",
	}
}

// Export takes spans.
func (c *Collector) Export(
	_ context.Context, request *collectorv1.ExportTraceServiceRequest,
) (*collectorv1.ExportTraceServiceResponse, error) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	for _, resource := range request.GetResourceSpans() {
		service := attributes(resource.GetResource().GetAttributes())["service.name"]
		for _, scope := range resource.GetScopeSpans() {
			for _, span := range scope.GetSpans() {
				c.spans = append(c.spans, spanOf(span, service))
			}
		}
	}
	return &collectorv1.ExportTraceServiceResponse{}, nil
}

func spanOf(span *tracev1.Span, service string) Span {
	made := Span{
		Name: span.GetName(), Trace: hex.EncodeToString(span.GetTraceId()), ID: hex.EncodeToString(span.GetSpanId()),
		Parent: hex.EncodeToString(span.GetParentSpanId()), Kind: span.GetKind(),
		Failed: span.GetStatus().GetCode() == tracev1.Status_STATUS_CODE_ERROR,
		Began:  time.Unix(0, int64(span.GetStartTimeUnixNano())), Ended: time.Unix(0, int64(span.GetEndTimeUnixNano())),
		Attributes: attributes(span.GetAttributes()), Service: service,
	}
	for _, link := range span.GetLinks() {
		made.Links = append(made.Links, hex.EncodeToString(link.GetSpanId()))
	}
	return made
}

func attributes(given []*commonv1.KeyValue) map[string]string {
	made := make(map[string]string, len(given))
	for _, one := range given {
		switch value := one.GetValue().GetValue().(type) {
		case *commonv1.AnyValue_StringValue:
			made[one.GetKey()] = value.StringValue
		case *commonv1.AnyValue_IntValue:
			made[one.GetKey()] = fmt.Sprint(value.IntValue)
		case *commonv1.AnyValue_BoolValue:
			made[one.GetKey()] = fmt.Sprint(value.BoolValue)
		}
	}
	return made
}

// Spans returns the spans that have come so far.
func (c *Collector) Spans() []Span {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	return slices.Clone(c.spans)
}

// Await waits for a span of this name about which the condition holds, and returns it.
func (c *Collector) Await(tb testing.TB, name string, holds func(Span) bool) Span {
	tb.Helper()
	deadline := time.After(harness.Patience)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		for _, span := range c.Spans() {
			if span.Name == name && holds(span) {
				return span
			}
		}
		select {
		case <-tick.C:
		case <-deadline:
			tb.Fatalf("no such span %q came; these did:\n%s", name, Tree(c.Spans()))
		}
	}
}

// In is the condition that a span is part of a trace.
func In(trace string) func(Span) bool { return func(s Span) bool { return s.Trace == trace } }

// Below is the condition that a span is a child of another one.
func Below(parent Span) func(Span) bool {
	return func(s Span) bool { return s.Trace == parent.Trace && s.Parent == parent.ID }
}

// Tree writes spans as people read traces: the children below their parents.
func Tree(spans []Span) string {
	slices.SortFunc(spans, func(a, b Span) int { return a.Began.Compare(b.Began) })
	known := make(map[string]bool)
	for _, span := range spans {
		known[span.ID] = true
	}
	var text strings.Builder
	var write func(parent string, depth int)
	write = func(parent string, depth int) {
		for _, span := range spans {
			if span.Parent == parent || parent == "" && !known[span.Parent] {
				fmt.Fprintf(&text, "%s%s (%s)\n", strings.Repeat("  ", depth), span.Name, span.Service)
				write(span.ID, depth+1)
			}
		}
	}
	write("", 0)
	return text.String()
}
