package server

import (
	"context"
	"log/slog"

	"openintent/doors/agentchannel"
)

// agentChannels are the options of the door for agent channels, and of its tools. Each event becomes a line of the log, and
// a span if anything is traced.
func agentChannels(options gatewayOptions, cfg Config) agentchannel.Options {
	logger := options.Logger
	return agentchannel.Options{
		Cadence: cfg.StatusCadence, Now: cfg.Clock,
		Traced: func(ctx context.Context, span agentchannel.Span) {
			if options.Spans != nil {
				options.Spans.event(ctx, span)
			}
			if !logger.Enabled(ctx, slog.LevelDebug) {
				return
			}
			attributes := make([]any, 0, 2*len(span.Attributes))
			for _, attribute := range span.Attributes {
				attributes = append(attributes, attribute[0], attribute[1])
			}
			logger.DebugContext(ctx, span.Name, attributes...)
		},
	}
}
