package tracing

import (
	"fmt"
	"strconv"

	sdktrace "go.opentelemetry.io/otel/sdk/trace"
)

const (
	samplerVariable  = "OTEL_TRACES_SAMPLER"
	argumentVariable = "OTEL_TRACES_SAMPLER_ARG"
)

// sampler returns the sampler that the environment names. problem says why it names none; then the usual one serves, as the
// specification wants it.
func sampler() (chosen sdktrace.Sampler, problem error) {
	ratio := func() sdktrace.Sampler {
		given := setting(argumentVariable)
		if given == "" {
			return sdktrace.AlwaysSample()
		}
		share, err := strconv.ParseFloat(given, 64)
		if err != nil || !(share >= 0 && share <= 1) {
			problem = fmt.Errorf("%s must be a number from 0 to 1; it is %q", argumentVariable, given)
			return sdktrace.AlwaysSample()
		}
		return sdktrace.TraceIDRatioBased(share)
	}
	switch named := setting(samplerVariable); named {
	case "always_on":
		return sdktrace.AlwaysSample(), nil
	case "always_off":
		return sdktrace.NeverSample(), nil
	case "traceidratio":
		return ratio(), problem
	case "parentbased_always_off":
		return following(sdktrace.NeverSample()), nil
	case "parentbased_traceidratio":
		return following(ratio()), problem
	case "", "parentbased_always_on":
		return following(sdktrace.AlwaysSample()), nil
	default:
		return following(sdktrace.AlwaysSample()), fmt.Errorf("%s must be always_on, always_off or traceidratio, or one of these "+
			"after parentbased_; it is %q", samplerVariable, named)
	}
}

// follower samples what has a parent as its parent was sampled, and a root that is linked to something sampled. So a commit is
// there for every sampled message that it stored.
type follower struct{ sdktrace.Sampler }

// following makes a follower. A root without sampled links is for the given sampler to decide.
func following(root sdktrace.Sampler) sdktrace.Sampler {
	return sdktrace.ParentBased(follower{root})
}

// ShouldSample decides about a root.
func (f follower) ShouldSample(root sdktrace.SamplingParameters) sdktrace.SamplingResult {
	for _, link := range root.Links {
		if link.SpanContext.IsSampled() {
			return sdktrace.SamplingResult{Decision: sdktrace.RecordAndSample}
		}
	}
	return f.Sampler.ShouldSample(root)
}

// Description names the sampler.
func (f follower) Description() string { return "Linked{" + f.Sampler.Description() + "}" }
