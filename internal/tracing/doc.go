// Package tracing sends spans to a collector of OpenTelemetry (OTLP), if the environment names one. It knows no calls and no
// messages: the server makes the spans (server/spans.go).
//
// # Model
//
//	Open(settings) ──> nil: nothing is traced, and nothing costs anything
//	              └──> Tracing ── Tracer ──> spans ──> queue (bounded) ──> exporter ──> collector
//
// The settings are those of OpenTelemetry's specification (environment.go).
//
// # What holds
//
//   - Whoever ends a span never waits for the collector. Spans wait in a bounded queue, and what does not fit there is lost.
//   - A collector that cannot be reached makes one line in the log, and one more when it can be reached again (exporter.go).
//   - What follows from something that is sampled is sampled, too, whichever of the two is the other's parent (sampler.go).
//   - Close sends what still waits, until its context ends.
//
// # Failure
//
// Spans are lost, and nothing else: tracing is never a reason to refuse a call, to delay it or to stop.
package tracing
