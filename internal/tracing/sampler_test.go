package tracing

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
)

// What is linked to something sampled is sampled where parents decide, and nowhere else.
func TestTheSamplerOfTheEnvironment(t *testing.T) {
	sampled := Parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")
	unsampled := Parent("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00")
	for _, test := range []struct {
		sampler, argument             string
		root, child, orphan, linkedTo bool
		problem                       string
	}{
		{"", "", true, true, false, true, ""},
		{"parentbased_always_on", "", true, true, false, true, ""},
		{"parentbased_always_off", "", false, true, false, true, ""},
		{"parentbased_traceidratio", "0", false, true, false, true, ""},
		{"parentbased_traceidratio", "1", true, true, false, true, ""},
		{"parentbased_traceidratio", "", true, true, false, true, ""},
		{"always_on", "", true, true, true, true, ""},
		{"always_off", "", false, false, false, false, ""},
		{"traceidratio", "0", false, false, false, false, ""},
		{"traceidratio", "2", true, true, true, true, `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is "2"`},
		{"traceidratio", "NaN", true, true, true, true, `OTEL_TRACES_SAMPLER_ARG must be a number from 0 to 1; it is "NaN"`},
		{"sometimes", "", true, true, false, true,
			`OTEL_TRACES_SAMPLER must be always_on, always_off or traceidratio, or one of these after parentbased_; it is "sometimes"`},
	} {
		t.Run(test.sampler+" "+test.argument, func(t *testing.T) {
			t.Setenv(samplerVariable, test.sampler)
			t.Setenv(argumentVariable, test.argument)
			chosen, problem := sampler()
			if test.problem == "" {
				require.NoError(t, problem)
			} else {
				require.EqualError(t, problem, test.problem)
			}
			samples := func(parent trace.SpanContext, links ...trace.Link) bool {
				return chosen.ShouldSample(sdktrace.SamplingParameters{
					ParentContext: trace.ContextWithRemoteSpanContext(context.Background(), parent), TraceID: trace.TraceID{1}, Links: links,
				}).Decision == sdktrace.RecordAndSample
			}
			require.Equal(t, test.root, samples(trace.SpanContext{}), "a root")
			require.Equal(t, test.child, samples(sampled), "a child of something sampled")
			require.Equal(t, test.orphan, samples(unsampled), "a child of something that is not sampled")
			require.Equal(t, test.linkedTo, samples(trace.SpanContext{}, trace.Link{SpanContext: unsampled}, trace.Link{SpanContext: sampled}))
			require.Equal(t, test.root, samples(trace.SpanContext{}, trace.Link{SpanContext: unsampled}))
		})
	}
}
