package strangers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

const (
	// mostWaits and mostWaitsOfKey are the bounds of the servers in these tests.
	mostWaits, mostWaitsOfKey = 2, 5
	// long is how long the waits last that a test ends itself, and brief is how long those last that ask whether there is room.
	long, brief = 300, 0.001
)

// waiting is a way to wait, over gRPC and over REST.
type waiting struct {
	name string
	call func(ctx context.Context, c *harness.Caller, seconds float64) error
	rest func(seconds float64) (method, path, body string)
}

// waiter is what a lone agent needs to wait in every way.
type waiter struct {
	*harness.Server
	agent, intent, channel, request, subscription string
}

func newWaiter(t *testing.T, h *harness.Server, key, agent string) *waiter {
	t.Helper()
	w, lone := &waiter{Server: h, agent: agent}, h.With(key, agent)
	intent, err := lone.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Alone"})
	require.NoError(t, err)
	channel, err := lone.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "own"})
	require.NoError(t, err)
	request, err := lone.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: channel.GetId(), To: new("nobody"), Payload: &structpb.Struct{},
		MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
	})
	require.NoError(t, err)
	subscription, err := lone.Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{
		ChannelId: new(channel.GetId()),
	})
	require.NoError(t, err)
	_, err = h.Operator().Leases.AcquireLease(t.Context(), &openintentv1.AcquireLeaseRequest{
		IntentId: intent.GetId(), Scope: "taken", AgentId: new("holder"), DurationSeconds: new(int32(3600)),
	})
	require.NoError(t, err)
	w.intent, w.channel, w.request, w.subscription = intent.GetId(), channel.GetId(), request.GetId(), subscription.GetId()
	return w
}

// whole rounds seconds up, for a call that takes whole seconds.
func whole(seconds float64) int32 { return max(1, int32(seconds)) }

// ways are all calls with one answer that can wait.
func (w *waiter) ways() []waiting {
	query := func(path string) func(float64) (string, string, string) {
		return func(seconds float64) (string, string, string) {
			return http.MethodGet, fmt.Sprintf("%s?wait_seconds=%v", path, seconds), ""
		}
	}
	return []waiting{
		{"GetInbox", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Messages.GetInbox(ctx, &openintentv1.GetInboxRequest{AgentId: w.agent, WaitSeconds: &seconds})
			return err
		}, query("/v1/agents/" + w.agent + "/inbox")},
		{"AwaitResponses", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Messages.AwaitResponses(ctx, &openintentv1.AwaitResponsesRequest{
				ChannelId: w.channel, MessageId: w.request, WaitSeconds: &seconds,
			})
			return err
		}, query("/v1/channels/" + w.channel + "/messages/" + w.request + "/responses")},
		{"Ask", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Messages.Ask(ctx, &openintentv1.AskRequest{
				ChannelId: w.channel, To: "nobody", Payload: &structpb.Struct{}, TimeoutSeconds: &seconds,
			})
			return err
		}, func(seconds float64) (string, string, string) {
			return http.MethodPost, "/v1/channels/" + w.channel + "/ask", fmt.Sprintf(`{"to":"nobody","payload":{},"timeout_seconds":%v}`, seconds)
		}},
		{"AskAll", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Messages.AskAll(ctx, &openintentv1.AskAllRequest{
				ChannelId: w.channel, To: "role:none", Payload: &structpb.Struct{}, TimeoutSeconds: &seconds, MinResponses: new(int32(1)),
			})
			return err
		}, func(seconds float64) (string, string, string) {
			return http.MethodPost, "/v1/channels/" + w.channel + "/ask_all", fmt.Sprintf(`{"to":"role:none","payload":{},"timeout_seconds":%v}`, seconds)
		}},
		{"FetchDeliveries", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Subscriptions.FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
				SubscriptionId: w.subscription, WaitSeconds: &seconds,
			})
			return err
		}, query("/v1/subscriptions/" + w.subscription + "/deliveries")},
		{"AcquireLease", func(ctx context.Context, c *harness.Caller, seconds float64) error {
			_, err := c.Leases.AcquireLease(ctx, &openintentv1.AcquireLeaseRequest{
				IntentId: w.intent, Scope: "taken", WaitSeconds: whole(seconds),
			})
			return err
		}, func(seconds float64) (string, string, string) {
			return http.MethodPost, "/v1/intents/" + w.intent + "/leases", fmt.Sprintf(`{"scope":"taken","wait_seconds":%d}`, whole(seconds))
		}},
	}
}

// hold waits in one way until the test, or leave, ends the wait.
func (w *waiter) hold(t *testing.T, way waiting, key string, overREST bool) (leave func()) {
	ctx, leave := context.WithCancel(t.Context())
	c := w.With(key, w.agent)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for ; ctx.Err() == nil; pause(ctx) { // a call that asks whether there is room may have had the place
			if !overREST {
				_ = way.call(ctx, c, long)
				continue
			}
			method, path, body := way.rest(long)
			request, err := c.Request(ctx, method, path, body)
			if err != nil {
				return
			}
			if answer, err := http.DefaultClient.Do(request); err == nil {
				_, _ = io.Copy(io.Discard, answer.Body)
				_ = answer.Body.Close()
			}
		}
	}()
	t.Cleanup(func() {
		leave()
		<-ended
	})
	return leave
}

// pause lets a moment pass before a holder tries again.
func pause(ctx context.Context) {
	select {
	case <-time.After(2 * time.Millisecond):
	case <-ctx.Done():
	}
}

// full reports whether a further wait of an agent's is refused, with a bound.
func (w *waiter) full(t *testing.T, key, bound string, most int) bool {
	err := w.ways()[0].call(t.Context(), w.With(key, w.agent), brief)
	if err == nil || t.Context().Err() != nil {
		return false
	}
	require.Equal(t, codes.ResourceExhausted, harness.Code(err), "%v", err)
	require.Equal(t, "TOO_MANY_WAITS", harness.Reason(err))
	require.Equal(t, map[string]string{bound: fmt.Sprint(most)}, harness.Metadata(err))
	return true
}

// isFull waits until a bound key has as many waits as its caller may have.
func (w *waiter) isFull(t *testing.T, what string) {
	t.Helper()
	require.Eventually(t, func() bool { return w.full(t, harness.BoundKey, "max_waits", mostWaits) },
		harness.Patience, 5*time.Millisecond, what)
}

// A wait counts for as long as it lasts, in whichever way a caller waits, and however it ends.
func TestEachWaitCountsUntilItEnds(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.EachWith(t, boundWaits, func(t *testing.T, h *harness.Server) {
		w := newWaiter(t, h, harness.BoundKey, harness.BoundAgent)
		for _, overREST := range []bool{false, true} {
			for _, way := range w.ways() {
				first := w.hold(t, way, harness.BoundKey, overREST)
				second := w.hold(t, way, harness.BoundKey, overREST)
				w.isFull(t, "two waits by "+way.name+" are all")
				first()
				require.Eventually(t, func() bool { return !w.full(t, harness.BoundKey, "max_waits", mostWaits) },
					harness.Patience, 5*time.Millisecond, "a wait by %s that is taken back makes room", way.name)
				second()
			}
		}
	})
}

// A lone caller with a bound key has no more calls that wait than its bound, and what is refused has stored nothing.
func TestOneCallerHasAFewWaits(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.EachWith(t, boundWaits, func(t *testing.T, h *harness.Server) {
		w := newWaiter(t, h, harness.BoundKey, harness.BoundAgent)
		lone := h.With(harness.BoundKey, harness.BoundAgent)
		for range mostWaits {
			w.hold(t, w.ways()[0], harness.BoundKey, false)
		}
		w.isFull(t, "there are as many waits as may be")
		before := w.messages(t)
		for _, way := range w.ways() {
			require.Equal(t, "TOO_MANY_WAITS", harness.Reason(way.call(t.Context(), lone, brief)), way.name)
			method, path, body := way.rest(brief)
			var problem map[string]any
			answer := lone.REST(t, method, path, body)
			answer.Decode(t, &problem)
			require.Equal(t, http.StatusTooManyRequests, answer.Status, way.name)
			require.Equal(t, "TOO_MANY_WAITS", problem["reason"])
			require.EqualValues(t, mostWaits, problem["max_waits"])
		}
		require.Equal(t, before, w.messages(t), "what is refused has stored no request")
		for _, way := range []waiting{w.ways()[0], w.ways()[1], w.ways()[4]} {
			require.NoError(t, way.call(t.Context(), lone, 0), "%s without a wait is not counted", way.name)
		}
		_, err := lone.Leases.AcquireLease(t.Context(), &openintentv1.AcquireLeaseRequest{IntentId: w.intent, Scope: "taken"})
		require.Equal(t, "LEASE_HELD", harness.Reason(err), "a lease without a wait is not counted")
		require.NoError(t, w.ways()[0].call(t.Context(), h.With(harness.Key, harness.BoundAgent), brief), "another key has its own waits")
	})
}

// messages counts what is stored on the channel.
func (w *waiter) messages(t *testing.T) int {
	channel, err := w.Operator().Channels.GetChannel(t.Context(), &openintentv1.GetChannelRequest{ChannelId: w.channel})
	require.NoError(t, err)
	return int(channel.GetMessageCount())
}

// An unbound key that changes its agents' names has no more waits than one key may have.
func TestOneKeyHasAFewWaits(t *testing.T) {
	databasetest.OneEngineOf(t)
	harness.EachWith(t, boundWaits, func(t *testing.T, h *harness.Server) {
		for n := range mostWaitsOfKey {
			one := &waiter{Server: h, agent: fmt.Sprint("name-", n)}
			one.hold(t, one.ways()[0], harness.Key, n%2 == 0)
		}
		last := &waiter{Server: h, agent: "a-further-name"}
		require.Eventually(t, func() bool { return last.full(t, harness.Key, "max_waits_per_key", mostWaitsOfKey) },
			harness.Patience, 5*time.Millisecond)
		answer := h.With(harness.Key, last.agent).REST(t, http.MethodGet,
			"/v1/agents/"+url.PathEscape(last.agent)+"/inbox?wait_seconds=0.001", "")
		var problem map[string]any
		answer.Decode(t, &problem)
		require.EqualValues(t, mostWaitsOfKey, problem["max_waits_per_key"])
		lone := &waiter{Server: h, agent: harness.BoundAgent}
		require.False(t, lone.full(t, harness.BoundKey, "", 0), "another key has its own waits")
	})
}

func boundWaits(cfg *server.Config) { cfg.MaxWaits, cfg.MaxWaitsPerKey = mostWaits, mostWaitsOfKey }
