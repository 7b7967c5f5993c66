package server

import (
	"context"
	"net/url"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"openintent/internal/tracing"
	"openintent/messaging/message"
	"openintent/messaging/reading"
	"openintent/messaging/writing"
	"openintent/subscriptions/posting"
)

// maxLinks bounds the links of one span.
const maxLinks = 128

// messagingSystem is the value of messaging.system.
const messagingSystem = "openintent"

// step returns the attributes of a step in a message's life.
func step(kind, name string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(messagingSystem), semconv.MessagingOperationTypeKey.String(kind),
		semconv.MessagingOperationNameKey.String(name),
	}
}

// about returns the attributes of a message: where it is and how large it is, and never what it says.
func about(m *message.Message, intentID string) []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingDestinationNameKey.String(m.ChannelID), semconv.MessagingMessageIDKey.String(m.ID),
		semconv.MessagingMessageBodySizeKey.Int(len(m.Payload)), intentKey.String(intentID),
	}
}

// These are what the rooms are told to call; nothing if nothing is traced.

func (s *spans) ofDrafts() writing.Tracing {
	if s == nil {
		return writing.Tracing{}
	}
	return writing.Tracing{Traced: s.traces, Committed: s.committed}
}

func (s *spans) ofDeliveries() reading.DeliveryTrace {
	if s == nil {
		return nil
	}
	return s.delivering
}

func (s *spans) ofPosting() posting.Trace {
	if s == nil {
		return nil
	}
	return s.posting
}

// committed shows a commit in the trace of each call whose message it stored: how long the message waited for the commit, and how
// long the commit took. The commit has a span of its own, which is linked to all of these.
func (s *spans) committed(c writing.Commit) {
	links := make([]trace.Link, 0, min(len(c.Drafts), maxLinks))
	for _, d := range c.Drafts[:min(len(c.Drafts), maxLinks)] {
		links = append(links, trace.Link{SpanContext: trace.SpanContextFromContext(s.sending(d))})
	}
	size := semconv.MessagingBatchMessageCountKey.Int(c.Size)
	_, batch := s.tracer.Start(context.Background(), "commit batch", trace.WithNewRoot(), trace.WithTimestamp(c.Began),
		trace.WithLinks(links...), trace.WithAttributes(step("send", "commit")...), trace.WithAttributes(size, atOnceKey.Bool(c.AtOnce)))
	fail(batch, c.Err)
	batch.End(trace.WithTimestamp(c.Ended))
	for _, d := range c.Drafts {
		facts := []attribute.KeyValue{size}
		if d.Message != nil {
			facts = append(facts, about(d.Message, d.IntentID)...)
			if !d.Streamed {
				trace.SpanFromContext(d.Context).SetAttributes(append(step("send", "send"), facts[1:]...)...)
			}
		}
		ctx := s.sending(d)
		_, queued := s.tracer.Start(ctx, "queue", trace.WithTimestamp(d.Queued), trace.WithAttributes(step("send", "queue")...))
		queued.End(trace.WithTimestamp(c.Began))
		_, stored := s.tracer.Start(ctx, "commit", trace.WithTimestamp(c.Began), trace.WithAttributes(step("send", "commit")...),
			trace.WithAttributes(facts...), trace.WithLinks(trace.Link{SpanContext: batch.SpanContext()}))
		fail(stored, c.Err)
		stored.End(trace.WithTimestamp(c.Ended))
	}
}

// sending returns a context with the span to which the storing of a message belongs. That is the call's; for one of the many messages
// of a stream it is the span that the message names.
func (s *spans) sending(d writing.TracedDraft) context.Context {
	if !d.Streamed {
		return d.Context
	}
	if parent := namedBy(d.Metadata.String); parent.IsValid() {
		return trace.ContextWithRemoteSpanContext(d.Context, parent)
	}
	return d.Context
}

// namedBy returns the span that a message's metadata names.
func namedBy(member func(name string) (string, bool)) trace.SpanContext {
	named, _ := member(tracing.Header)
	return tracing.Parent(named)
}

// delivering begins the span of handing messages to a consumer, in the trace of the first one that names a span, and linked to the
// others' and to the call that receives them. Messages that name no span have none.
func (s *spans) delivering(ctx context.Context, to reading.Consumer, messages ...reading.Traced) (handed func(error)) {
	span := s.beginDelivery(ctx, "deliver", trace.SpanKindConsumer, to, messages)
	if span == nil {
		return func(error) {}
	}
	return func(err error) {
		fail(span, err)
		span.End()
	}
}

// posting begins the span of posting messages to a webhook, and names it in the post.
func (s *spans) posting(
	ctx context.Context, to reading.Consumer, address string, messages ...reading.Traced,
) (traceparent string, posted func(posting.Posted)) {
	span := s.beginDelivery(ctx, "post", trace.SpanKindClient, to, messages)
	if span == nil {
		return "", func(posting.Posted) {}
	}
	span.SetAttributes(semconv.HTTPRequestMethodPost)
	if parsed, err := url.Parse(address); err == nil {
		span.SetAttributes(semconv.ServerAddressKey.String(parsed.Hostname())) // paths of webhooks are often secrets
	}
	return tracing.Traceparent(span.SpanContext()), func(how posting.Posted) {
		if how.Status != 0 {
			span.SetAttributes(semconv.HTTPResponseStatusCodeKey.Int(how.Status))
		}
		if how.Problem != "" {
			span.SetStatus(codes.Error, how.Problem)
		}
		span.End()
	}
}

// beginDelivery begins the span of a step that hands messages over. It returns nil if none of them names a span.
func (s *spans) beginDelivery(
	ctx context.Context, name string, kind trace.SpanKind, to reading.Consumer, messages []reading.Traced,
) trace.Span {
	var parent trace.SpanContext
	var first *reading.Traced
	var links []trace.Link
	for i, one := range messages {
		named := namedBy(one.Message.Metadata.String)
		switch {
		case !named.IsValid():
		case first == nil:
			first, parent = &messages[i], named
		case len(links) < maxLinks:
			links = append(links, trace.Link{SpanContext: named})
		}
	}
	if first == nil {
		return nil
	}
	if receiving := trace.SpanContextFromContext(ctx); receiving.IsValid() {
		links = append(links, trace.Link{SpanContext: receiving})
	}
	facts := append(step("receive", name), about(first.Message, first.IntentID)...)
	facts = append(facts, agentKey.String(to.Agent))
	if to.Subscription != "" {
		facts = append(facts, semconv.MessagingDestinationSubscriptionNameKey.String(to.Subscription))
	}
	if len(messages) > 1 {
		facts = append(facts, semconv.MessagingBatchMessageCountKey.Int(len(messages)))
	}
	_, span := s.tracer.Start(trace.ContextWithRemoteSpanContext(ctx, parent), name, trace.WithSpanKind(kind),
		trace.WithLinks(links...), trace.WithAttributes(facts...))
	return span
}

// fail marks a span of something that failed. The error's text may tell what is internal, so it is in the log only.
func fail(span trace.Span, err error) {
	if err != nil {
		span.SetStatus(codes.Error, "failed")
	}
}
