// Package traces tests what the server tells a collector of OpenTelemetry (docs/traces.md). The tests play the collector: a Collector takes
// spans over OTLP as real ones do, and the tests look at what came.
package traces
