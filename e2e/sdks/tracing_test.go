package sdks_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// trace is the trace of all spans of the test.
const trace = "0af7651916cd43dd8448eb211c80319c"

// spans is a tracer that records which spans began, with their parents, and which ended with an error.
type spans struct {
	mutex  sync.Mutex
	begun  []string
	failed []string
}

type spanKey struct{}

func (s *spans) Start(ctx context.Context, name, traceparent string) (context.Context, func(error)) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	span := fmt.Sprintf("00-%s-%016x-01", trace, len(s.begun)+1)
	if parent, ok := ctx.Value(spanKey{}).(string); ok && traceparent == "" {
		traceparent = parent
	}
	s.begun = append(s.begun, fmt.Sprintf("%s %s", name, traceparent))
	return context.WithValue(ctx, spanKey{}, span), func(err error) {
		s.mutex.Lock()
		defer s.mutex.Unlock()
		if err != nil {
			s.failed = append(s.failed, name)
		}
	}
}

func (s *spans) Traceparent(ctx context.Context) string {
	span, _ := ctx.Value(spanKey{}).(string)
	return span
}

// An ask, the server's audited copies of it and the answering handler form one trace.
func TestAnAskIsOneTrace(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		tracer := &spans{}
		client, err := openintent.Dial(openintent.Options{
			Server: h.GRPCAddress(), APIKey: harness.Key, AgentID: "asker", Tracer: tracer,
		})
		require.NoError(t, err)
		defer func() { require.NoError(t, client.Close()) }()
		intent, err := client.CreateIntent(t.Context(), openintent.IntentOptions{Title: "Traced"})
		require.NoError(t, err)
		channel, err := client.Open(t.Context(), intent.ID, "desk", openintent.ChannelOptions{Audit: true})
		require.NoError(t, err)
		agent := runAgent(t, client, "worker", func(context.Context, *openintent.Message) (any, error) {
			return nil, errors.New("no")
		})
		_, err = channel.Ask(t.Context(), "worker", nil)
		var failed *openintent.RemoteError
		require.ErrorAs(t, err, &failed)
		agent.leave(t)

		asked, handled := fmt.Sprintf("00-%s-%016x-01", trace, 1), fmt.Sprintf("00-%s-%016x-01", trace, 2)
		require.Equal(t, []string{"openintent.ask ", "openintent.handle " + asked, "openintent.reply " + handled}, tracer.begun)
		require.ElementsMatch(t, []string{"openintent.handle", "openintent.ask"}, tracer.failed)
		events, err := client.Raw().Events.ListTraceEvents(t.Context(), &openintentv1.ListTraceEventsRequest{TraceId: trace})
		require.NoError(t, err)
		require.Len(t, events.GetEvents(), 2)
	})
}
