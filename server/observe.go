package server

import (
	"context"
	"log/slog"
	"math/rand/v2"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/trace"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"openintent/channels"
	"openintent/internal/caller"
)

// maxRequestIDBytes bounds a request id that a client sent along.
const maxRequestIDBytes = 128

// observer counts, times and logs calls, and turns their errors into the form that clients see.
type observer struct {
	metrics *metrics
	logger  *slog.Logger
	spans   *spans
}

// call is one running call.
type call struct {
	ctx     context.Context
	headers metadata.MD
	// method is nil for a method that no policy lists.
	method    *method
	name      string
	streaming bool
	began     time.Time
	// wire is the call on its connection; nil until the caller is known, and for calls from within the process.
	wire *wireCall
	// agent and traceID are set once the caller is known.
	agent   string
	traceID string
	// span is the call's; nil if nothing is traced.
	span trace.Span
	// scope is where the caller's key works; nil is everywhere.
	scope *caller.Scope
	// key is the caller's if the call waits, because it may be over before the wait is; otherwise nil.
	key *apiKey
	// endWait ends the call's wait; nil if it is not counted as one.
	endWait func()
}

func (o *observer) begin(ctx context.Context, fullMethod string, called *method, streaming bool) *call {
	name := fullMethod
	if called != nil {
		name = called.name
	}
	o.metrics.begin(streaming)
	headers, _ := metadata.FromIncomingContext(ctx)
	made := &call{ctx: ctx, headers: headers, method: called, name: name, streaming: streaming, began: time.Now()}
	if o.spans != nil && (called == nil || called.access != public) { // probes of health would drown the rest
		o.spans.beginCall(made, fullMethod)
	}
	return made
}

// end finishes a call: it counts and logs the outcome and turns an error into the status that the client gets.
func (o *observer) end(call *call, err error) error {
	outcome := toStatus(err)
	took := time.Since(call.began)
	o.metrics.end(call, outcome.Code(), took)
	if call.span != nil {
		o.spans.endCall(call, outcome)
	}
	level := levelOf(outcome)
	if call.streaming && reasonOf(outcome) == channels.ErrChannelClosed.Reason {
		level = slog.LevelDebug // the stream has brought everything: that is how it is meant to end
	}
	logged := o.logger.Enabled(call.ctx, level)
	if err == nil && !logged {
		return nil
	}
	id := requestID(call.headers)
	if err != nil {
		// This fails only on a stream whose headers are already sent; the id is then only in the log.
		_ = grpc.SetHeader(call.ctx, metadata.Pairs("x-request-id", id))
	}
	if logged {
		o.logger.LogAttrs(call.ctx, level, "call", o.attributes(call, id, outcome, err, took)...)
	}
	return outcome.Err()
}

func (o *observer) attributes(
	call *call, id string, outcome *status.Status, err error, took time.Duration,
) []slog.Attr {
	attributes := make([]slog.Attr, 0, 9)
	attributes = append(attributes,
		slog.String("method", call.name),
		slog.String("code", codeName(outcome.Code())),
		slog.Float64("duration_seconds", took.Seconds()),
		slog.String("request_id", id))
	if call.agent != "" {
		attributes = append(attributes, slog.String("agent", call.agent))
	}
	if call.traceID != "" && call.span == nil { // the log itself adds the ids of a span
		attributes = append(attributes, slog.String("trace_id", call.traceID))
	}
	if from, ok := peer.FromContext(call.ctx); ok && from.Addr != nil {
		attributes = append(attributes, slog.String("peer", from.Addr.String()))
	}
	if err == nil {
		return attributes
	}
	attributes = append(attributes, slog.String("reason", reasonOf(outcome)))
	// The reason describes a client's refusal; the sentence is not logged, because it may quote what the client sent.
	if levelOf(outcome) > slog.LevelInfo {
		attributes = append(attributes, slog.String("error", err.Error()))
	}
	return attributes
}

// reasonOf returns the stable word of a status.
func reasonOf(outcome *status.Status) string {
	for _, detail := range outcome.Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetReason()
		}
	}
	return ""
}

// levelOf returns the level at which an outcome is logged. A stop ends thousands of streams and waits; it is logged
// once, not once for each.
func levelOf(outcome *status.Status) slog.Level {
	switch outcome.Code() {
	case codes.OK, codes.Canceled:
		return slog.LevelDebug
	case codes.Internal, codes.Unknown, codes.DataLoss:
		return slog.LevelError
	case codes.Unavailable:
		if reasonOf(outcome) == errStopping.Reason {
			return slog.LevelDebug
		}
		return slog.LevelWarn
	default:
		return slog.LevelInfo
	}
}

// codeName returns the canonical name of a code, such as INVALID_ARGUMENT.
func codeName(c codes.Code) string { return code.Code(c).String() }

// requestID returns the id that the client gave the call, or a new one.
func requestID(headers metadata.MD) string {
	if values := headers.Get("x-request-id"); len(values) == 1 && values[0] != "" && len(values[0]) <= maxRequestIDBytes {
		return values[0]
	}
	return strconv.FormatUint(rand.Uint64(), 16)
}
