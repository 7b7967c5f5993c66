package traces

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const (
	sendName = "openintent.v1.MessageService/SendMessage"
	// said is in the payload of every message; no span may contain it.
	said = "not for the collector"
)

// someTrace returns a trace of its own for a test's number, with the traceparent of a span in it.
func someTrace(number int) (trace, span, traceparent string) {
	trace, span = fmt.Sprintf("0af7651916cd43dd8448eb21%08x", number), fmt.Sprintf("b7ad6b71%08x", number)
	return trace, span, "00-" + trace + "-" + span + "-01"
}

// desk is an intent with a channel.
type desk struct {
	*harness.Server
	intent, channel string
}

func openDesk(t *testing.T, h *harness.Server) desk {
	t.Helper()
	intent, err := h.As("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Traces"})
	require.NoError(t, err)
	channel, err := h.As("alice").Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "desk"})
	require.NoError(t, err)
	return desk{h, intent.GetId(), channel.GetId()}
}

// each runs a test on each engine, with a collector to which the server sends its spans.
func each(t *testing.T, test func(t *testing.T, collector *Collector, d desk)) {
	t.Helper()
	databasetest.EachURL(t, func(t *testing.T, url string) {
		collector := StartCollector(t)
		collector.Listen(t)
		test(t, collector, openDesk(t, harness.Start(t, harness.Options{URL: url})))
	})
}

// message is one whose metadata names a span.
func (d desk) message(t *testing.T, traceparent string) *openintentv1.SendMessageRequest {
	t.Helper()
	payload, err := structpb.NewStruct(map[string]any{"text": said})
	require.NoError(t, err)
	request := &openintentv1.SendMessageRequest{ChannelId: d.channel, Payload: payload}
	if traceparent != "" {
		request.Metadata, err = structpb.NewStruct(map[string]any{"traceparent": traceparent})
		require.NoError(t, err)
	}
	return request
}

// quiet checks that no span tells what a message says, or shows a key.
func quiet(t *testing.T, c *Collector) {
	t.Helper()
	for _, span := range c.Spans() {
		for key, value := range span.Attributes {
			require.NotContains(t, value, said, "%s of %s", key, span.Name)
			require.NotContains(t, value, harness.Key, "%s of %s", key, span.Name)
		}
	}
}

// A send over gRPC is a span in the sender's trace. It shows how long the message waited and how long its commit took, and the delivery
// to a stream belongs to the same trace.
func TestASendIsInItsSendersTrace(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		following, err := d.As("bob").Messages.Subscribe(patient(t), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: d.channel}})
		require.NoError(t, err)
		_, err = following.Header()
		require.NoError(t, err)

		trace, span, traceparent := someTrace(1)
		ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
		sent, err := d.As("alice").Messages.SendMessage(ctx, d.message(t, traceparent))
		require.NoError(t, err)
		for received := ""; received != sent.GetId(); {
			next, err := following.Recv()
			require.NoError(t, err)
			received = next.GetMessage().GetId()
		}

		call := collector.Await(t, sendName, In(trace))
		require.Equal(t, span, call.Parent)
		require.Equal(t, tracev1.Span_SPAN_KIND_SERVER, call.Kind)
		require.Equal(t, "openintent", call.Service)
		require.False(t, call.Failed)
		commit := collector.Await(t, "commit", Below(call))
		for _, shown := range []Span{call, commit} {
			for key, value := range map[string]string{
				"messaging.system": "openintent", "messaging.operation.type": "send", "messaging.destination.name": d.channel,
				"messaging.message.id": sent.GetId(), "messaging.message.body.size": fmt.Sprint(len(`{"text":"` + said + `"}`)),
				"openintent.intent.id": d.intent,
			} {
				require.Equal(t, value, shown.Attributes[key], "%s of %s", key, shown.Name)
			}
		}
		require.Equal(t, "1", commit.Attributes["messaging.batch.message_count"])
		require.Equal(t, map[string]string{
			"rpc.system.name": "grpc", "rpc.method": sendName, "rpc.response.status_code": "OK", "openintent.agent": "alice",
		}, only(call.Attributes, "rpc.", "openintent.agent"))
		queue := collector.Await(t, "queue", Below(call))
		require.False(t, queue.Ended.After(commit.Began), "a message waits before its commit begins")
		require.False(t, call.Ended.Before(commit.Ended), "a send ends after its commit")

		batch := collector.Await(t, "commit batch", func(s Span) bool { return len(s.Links) > 0 && s.Links[0] == call.ID })
		require.Empty(t, batch.Parent)
		require.Equal(t, []string{batch.ID}, commit.Links)

		delivered := collector.Await(t, "deliver", In(trace))
		require.Equal(t, span, delivered.Parent)
		require.Equal(t, map[string]string{
			"messaging.operation.type": "receive", "messaging.operation.name": "deliver", "messaging.destination.name": d.channel,
			"messaging.message.id": sent.GetId(), "openintent.agent": "bob",
		}, only(delivered.Attributes, "messaging.operation", "messaging.destination", "messaging.message.id", "openintent.agent"))
		quiet(t, collector)
	})
}

// only returns the attributes whose names begin so.
func only(attributes map[string]string, beginnings ...string) map[string]string {
	kept := make(map[string]string)
	for key, value := range attributes {
		for _, beginning := range beginnings {
			if strings.HasPrefix(key, beginning) {
				kept[key] = value
			}
		}
	}
	return kept
}

// REST and gRPC calls are the same spans.
func TestACallOverRESTIsOneSpan(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	d := openDesk(t, harness.Start(t, harness.Options{}))
	trace, span, traceparent := someTrace(1)
	answer := d.As("alice").REST(t, http.MethodPost, "/v1/channels/"+d.channel+"/messages",
		`{"payload": {"text": "`+said+`"}}`, "Traceparent", traceparent)
	require.Equal(t, http.StatusCreated, answer.Status, string(answer.Body))
	call := collector.Await(t, sendName, In(trace))
	require.Equal(t, span, call.Parent)
	collector.Await(t, "commit", Below(call))
	require.NoError(t, d.Stop()) // sends what still waits
	var names []string
	for _, one := range collector.Spans() {
		if one.Trace == trace {
			names = append(names, one.Name)
		}
	}
	require.ElementsMatch(t, []string{sendName, "queue", "commit"}, names, "a message without a traceparent shows no delivery")
	quiet(t, collector)
}

// A refusal is no failure of the server, and its span has the reason.
func TestARefusalHasItsReason(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	h := harness.Start(t, harness.Options{})
	trace, _, traceparent := someTrace(1)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	_, err := h.As("alice").Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{ChannelId: "chan_0", Payload: &structpb.Struct{}})
	require.Error(t, err)
	call := collector.Await(t, sendName, In(trace))
	require.Equal(t, "NOT_FOUND", call.Attributes["rpc.response.status_code"])
	require.Equal(t, "CHANNEL_NOT_FOUND", call.Attributes["openintent.reason"])
	require.False(t, call.Failed)

	_, err = h.With("no such key "+said, "alice").Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{})
	require.Error(t, err)
	refused := collector.Await(t, sendName, func(s Span) bool { return s.ID != call.ID })
	require.Equal(t, "API_KEY_UNKNOWN", refused.Attributes["openintent.reason"])
	require.NotContains(t, refused.Attributes, "openintent.agent", "a name that nobody proved is not shown")
	quiet(t, collector)
}

// The messages of one stream belong to the traces that they name.
func TestTheMessagesOfAStreamBelongToTheirTraces(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		sending, err := d.As("alice").Messages.SendMessages(patient(t))
		require.NoError(t, err)
		for i := range 3 {
			_, _, traceparent := someTrace(i)
			require.NoError(t, sending.Send(d.message(t, traceparent)))
			_, err := sending.Recv()
			require.NoError(t, err)
		}
		for i := range 3 {
			trace, span, _ := someTrace(i)
			require.Equal(t, span, collector.Await(t, "queue", In(trace)).Parent)
			require.Equal(t, span, collector.Await(t, "commit", In(trace)).Parent)
		}
		require.NoError(t, sending.CloseSend())
	})
}

// One commit of many messages is one span, linked to each of them, and each has its part of it in its own trace.
func TestACommitOfManyIsLinkedToEach(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		sending, err := d.As("alice").Messages.SendMessages(patient(t))
		require.NoError(t, err)
		const many = 300 // while one commit runs, the next messages gather
		for i := range many {
			_, _, traceparent := someTrace(i)
			require.NoError(t, sending.Send(d.message(t, traceparent)))
		}
		for range many {
			_, err := sending.Recv()
			require.NoError(t, err)
		}
		require.NoError(t, sending.CloseSend())
		joint := collector.Await(t, "commit batch", func(s Span) bool {
			return len(s.Links) > 1 && s.Attributes["messaging.batch.message_count"] == fmt.Sprint(len(s.Links))
		})
		require.Empty(t, joint.Parent)
		parts := 0
		for i := range many {
			trace, _, _ := someTrace(i)
			if part := collector.Await(t, "commit", In(trace)); len(part.Links) == 1 && part.Links[0] == joint.ID {
				require.Equal(t, joint.Attributes["messaging.batch.message_count"], part.Attributes["messaging.batch.message_count"])
				parts++
			}
		}
		require.Equal(t, len(joint.Links), parts)
	})
}

// The log's lines of a call carry its trace and its span.
func TestTheLogNamesTheSpan(t *testing.T) {
	collector := StartCollector(t)
	collector.Listen(t)
	h := harness.Start(t, harness.Options{Configure: func(cfg *server.Config) { cfg.LogLevel, cfg.LogFormat = "debug", "json" }})
	trace, _, traceparent := someTrace(1)
	ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", traceparent)
	_, err := h.As("alice").Intents.ListIntents(ctx, &openintentv1.ListIntentsRequest{})
	require.NoError(t, err)
	call := collector.Await(t, "openintent.v1.IntentService/ListIntents", In(trace))
	line := ""
	for text := range strings.Lines(h.Log()) {
		if strings.Contains(text, "IntentService/ListIntents") {
			line = text
		}
	}
	require.Contains(t, line, `"span_id":"`+call.ID+`"`)
	require.Equal(t, 1, strings.Count(line, `"trace_id":"`+trace+`"`), line)
}

// Without settings of OpenTelemetry nothing is traced, and with OTEL_SDK_DISABLED nothing either.
func TestNothingIsTracedUnlessAskedFor(t *testing.T) {
	collector := StartCollector(t)
	for _, setting := range []string{"OTEL_SDK_DISABLED=true", "OTEL_TRACES_EXPORTER=none", "OTEL_TRACES_SAMPLER=always_off"} {
		t.Run(setting, func(t *testing.T) {
			collector.Listen(t)
			name, value, _ := strings.Cut(setting, "=")
			t.Setenv(name, value)
			h := harness.Start(t, harness.Options{})
			_, _, traceparent := someTrace(1)
			d := openDesk(t, h)
			_, err := h.As("alice").Messages.SendMessage(metadata.AppendToOutgoingContext(context.Background(), "traceparent", traceparent),
				d.message(t, traceparent))
			require.NoError(t, err)
			require.NoError(t, h.Stop())
			require.Empty(t, collector.Spans())
		})
	}
}
