package traces

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
	tracev1 "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// Every way in which the server hands a message to a consumer is a span in the trace that the message names.
func TestADeliveryIsInTheTraceOfItsMessage(t *testing.T) {
	for way, receive := range map[string]func(t *testing.T, d desk) (next func() *openintentv1.Message, subscription string){
		"a channel's stream": func(t *testing.T, d desk) (func() *openintentv1.Message, string) {
			return d.follow(t, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: d.channel}}), ""
		},
		"an intent's stream": func(t *testing.T, d desk) (func() *openintentv1.Message, string) {
			return d.follow(t, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_IntentId{IntentId: d.intent}}), ""
		},
		"an agent's stream": func(t *testing.T, d desk) (func() *openintentv1.Message, string) {
			return d.follow(t, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: "bob"}}), ""
		},
		"a subscription's stream": func(t *testing.T, d desk) (func() *openintentv1.Message, string) {
			id := d.subscribe(t, "")
			stream, err := d.As("bob").Subscriptions.StreamDeliveries(patient(t), &openintentv1.StreamDeliveriesRequest{SubscriptionId: id})
			require.NoError(t, err)
			_, err = stream.Header()
			require.NoError(t, err)
			return func() *openintentv1.Message {
				delivery, err := stream.Recv()
				require.NoError(t, err)
				return delivery.GetMessage()
			}, id
		},
		"a fetch": func(t *testing.T, d desk) (func() *openintentv1.Message, string) {
			id := d.subscribe(t, "")
			wait := 20.0
			return func() *openintentv1.Message {
				fetched, err := d.As("bob").Subscriptions.FetchDeliveries(t.Context(),
					&openintentv1.FetchDeliveriesRequest{SubscriptionId: id, WaitSeconds: &wait})
				require.NoError(t, err)
				require.Len(t, fetched.GetDeliveries(), 1)
				return fetched.GetDeliveries()[0].GetMessage()
			}, id
		},
	} {
		t.Run(way, func(t *testing.T) {
			each(t, func(t *testing.T, collector *Collector, d desk) {
				next, subscription := receive(t, d)
				trace, span, traceparent := someTrace(1)
				request := d.message(t, traceparent)
				request.To = new("bob")
				sent, err := d.As("alice").Messages.SendMessage(t.Context(), request)
				require.NoError(t, err)
				for next().GetId() != sent.GetId() {
				}
				delivered := collector.Await(t, "deliver", In(trace))
				require.Equal(t, span, delivered.Parent)
				require.Equal(t, tracev1.Span_SPAN_KIND_CONSUMER, delivered.Kind)
				require.Equal(t, sent.GetId(), delivered.Attributes["messaging.message.id"])
				require.Equal(t, d.intent, delivered.Attributes["openintent.intent.id"])
				require.Equal(t, "bob", delivered.Attributes["openintent.agent"])
				require.Equal(t, subscription, delivered.Attributes["messaging.destination.subscription.name"])
				require.Len(t, delivered.Links, 1, "the call that receives it")
				quiet(t, collector)
			})
		})
	}
}

// patient returns a context that ends when a test has waited for too long.
func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), harness.Patience)
	t.Cleanup(cancel)
	return ctx
}

// follow follows as bob, and returns what waits for the next message.
func (d desk) follow(t *testing.T, what *openintentv1.SubscribeRequest) func() *openintentv1.Message {
	t.Helper()
	stream, err := d.As("bob").Messages.Subscribe(patient(t), what)
	require.NoError(t, err)
	_, err = stream.Header()
	require.NoError(t, err)
	return func() *openintentv1.Message {
		response, err := stream.Recv()
		require.NoError(t, err)
		return response.GetMessage()
	}
}

// subscribe makes a subscription of bob's to the channel.
func (d desk) subscribe(t *testing.T, url string) (id string) {
	t.Helper()
	request := &openintentv1.CreateSubscriptionRequest{ChannelId: &d.channel}
	if url != "" {
		request.WebhookUrl = &url
	}
	made, err := d.As("bob").Subscriptions.CreateSubscription(t.Context(), request)
	require.NoError(t, err)
	return made.GetId()
}

// A post of a webhook is a span in the trace that its message names, and the post carries that span on.
func TestAPostCarriesItsSpan(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		collector := StartCollector(t)
		collector.Listen(t)
		posts := make(chan string, 10)
		endpoint := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			posts <- r.Header.Get("traceparent")
			w.WriteHeader(http.StatusNoContent)
		}))
		t.Cleanup(endpoint.Close)
		d := openDesk(t, harness.Start(t, harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.WebhookAllowedNetworks = "127.0.0.0/8"
		}}))
		id := d.subscribe(t, endpoint.URL+"/a-secret-path")

		_, err := d.As("alice").Messages.SendMessage(t.Context(), d.message(t, ""))
		require.NoError(t, err)
		require.Empty(t, arrived(t, posts), "a message that names no span")

		trace, span, traceparent := someTrace(1)
		sent, err := d.As("alice").Messages.SendMessage(t.Context(), d.message(t, traceparent))
		require.NoError(t, err)
		carried := arrived(t, posts)
		posted := collector.Await(t, "post", In(trace))
		require.Equal(t, span, posted.Parent)
		require.Equal(t, tracev1.Span_SPAN_KIND_CLIENT, posted.Kind)
		require.Equal(t, "00-"+trace+"-"+posted.ID+"-01", carried)
		require.Equal(t, map[string]string{"http.request.method": "POST", "http.response.status_code": "204", "server.address": "127.0.0.1"},
			only(posted.Attributes, "http.", "server."))
		require.Equal(t, sent.GetId(), posted.Attributes["messaging.message.id"])
		require.Equal(t, id, posted.Attributes["messaging.destination.subscription.name"])
		for _, one := range collector.Spans() {
			for _, value := range one.Attributes {
				require.NotContains(t, value, "a-secret-path")
			}
		}
		quiet(t, collector)
	})
}

// A message may claim whatever it likes about its trace. The server then shows no delivery, and delivers it as ever.
func TestAMessageThatNamesNoSpanIsDelivered(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		next := d.follow(t, &openintentv1.SubscribeRequest{Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: d.channel}})
		for _, claimed := range []string{"x", "00-0-0-01", "00-00000000000000000000000000000000-0000000000000000-01", "\u2028\n"} {
			ctx := metadata.AppendToOutgoingContext(t.Context(), "traceparent", "nonsense", "traceparent", "twice")
			sent, err := d.As("alice").Messages.SendMessage(ctx, d.message(t, claimed))
			require.NoError(t, err)
			received := next()
			for received.GetId() != sent.GetId() {
				received = next()
			}
			require.Equal(t, claimed, received.GetMetadata().AsMap()["traceparent"])
		}
		require.NoError(t, d.Stop())
		for _, span := range collector.Spans() {
			require.NotEqual(t, "deliver", span.Name)
		}
	})
}

// arrived waits for what comes next.
func arrived(t *testing.T, posts <-chan string) string {
	t.Helper()
	select {
	case post := <-posts:
		return post
	case <-patient(t).Done():
		t.Fatal("nothing was posted")
		return ""
	}
}

// What a sender writes in one go comes as one delivery. Its span is in the trace of the first message, and linked to those of the others.
func TestMessagesThatComeAsOneAreOneSpan(t *testing.T) {
	each(t, func(t *testing.T, collector *Collector, d desk) {
		made, err := d.As("bob").Subscriptions.CreateSubscription(t.Context(),
			&openintentv1.CreateSubscriptionRequest{ChannelId: &d.channel, Compose: new(true)})
		require.NoError(t, err)
		for i := range 3 {
			_, _, traceparent := someTrace(i)
			request := d.message(t, traceparent)
			request.To = new("bob")
			_, err := d.As("alice").Messages.SendMessage(t.Context(), request)
			require.NoError(t, err)
		}
		fetched := &openintentv1.FetchDeliveriesResponse{}
		for len(fetched.GetDeliveries()) == 0 {
			fetched, err = d.As("bob").Subscriptions.FetchDeliveries(patient(t),
				&openintentv1.FetchDeliveriesRequest{SubscriptionId: made.GetId(), WaitSeconds: new(20.0)})
			require.NoError(t, err)
		}
		require.Len(t, fetched.GetDeliveries()[0].GetEarlier(), 2)
		first, firstSpan, _ := someTrace(0)
		delivered := collector.Await(t, "deliver", In(first))
		require.Equal(t, firstSpan, delivered.Parent)
		require.Equal(t, "3", delivered.Attributes["messaging.batch.message_count"])
		_, second, _ := someTrace(1)
		_, third, _ := someTrace(2)
		require.Len(t, delivered.Links, 3, "the other messages, and the call that receives them")
		require.Equal(t, []string{second, third}, delivered.Links[:2])
	})
}
