package strangers

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// lasting is what goes on under a secret until the secret is over: streams and waits, each with why it ended.
type lasting map[string]chan string

// begin opens a stream of each kind and waits in each way, as alice under the secret, and returns when all of it goes on.
func (w *world) begin(t *testing.T, secret string) lasting {
	t.Helper()
	ends := w.beginAs(t, secret, "alice", "other_room")
	_, err := w.As("carol").Leases.AcquireLease(t.Context(), &openintentv1.AcquireLeaseRequest{
		IntentId: w.places["intent"], Scope: "lasting", DurationSeconds: new(int32(86_400)), // the test sets the clock forward
	})
	require.NoError(t, err)
	ends.during(t, lease, func(began func()) string {
		go began()
		_, err := w.With(secret, "").Leases.AcquireLease(t.Context(), &openintentv1.AcquireLeaseRequest{
			IntentId: w.places["intent"], Scope: "lasting", WaitSeconds: 600,
		})
		return harness.Reason(err)
	})
	return ends
}

// These waits begin without a sign, so they may come when their key is over already.
const (
	inbox, acknowledgements = "a wait for an inbox", "a stream of acknowledgements"
	stream, fetch, lease    = "a stream of deliveries", "a wait for deliveries", "a wait for a lease"
)

// during notes what goes on, once run says that it has begun, until it returns why it ended.
func (l lasting) during(t *testing.T, what string, run func(began func()) string) {
	t.Helper()
	began, end := make(chan struct{}), make(chan string, 1)
	l[what] = end
	go func() { end <- run(sync.OnceFunc(func() { close(began) })) }()
	select {
	case <-began:
	case why := <-end:
		require.Fail(t, "it ended before it began", "%s: %s", what, why)
	case <-time.After(harness.Patience):
		require.Fail(t, "it did not begin", what)
	}
}

// beginAs is begin for an agent that asks in a room.
func (w *world) beginAs(t *testing.T, secret, agent, room string) lasting {
	t.Helper()
	c, ends := w.With(secret, agent), make(lasting)
	during := func(what string, run func(began func()) string) { ends.during(t, what, run) }
	during("a stream", func(began func()) string {
		after := int64(0)
		stream, err := c.Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: w.places["room"]}, AfterPosition: &after,
		})
		for err == nil {
			_, err = stream.Recv()
			began()
		}
		return harness.Reason(err)
	})
	during(acknowledgements, func(began func()) string {
		room := w.places["room"]
		sub, err := c.Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{ChannelId: &room})
		if err != nil {
			return err.Error()
		}
		stream, err := c.Experimental.StreamAcknowledgements(t.Context())
		if err != nil {
			return err.Error()
		}
		if err := stream.Send(&openintentv1.StreamAcknowledgementsRequest{SubscriptionId: sub.GetId()}); err != nil {
			return err.Error()
		}
		began()
		return harness.Reason(stream.RecvMsg(new(openintentv1.StreamAcknowledgementsResponse)))
	})
	deliveries := func(what string, follow func(sub string, began func()) error) {
		during(what, func(began func()) string {
			room := w.places["room"]
			sub, err := c.Subscriptions.CreateSubscription(t.Context(), &openintentv1.CreateSubscriptionRequest{ChannelId: &room})
			if err == nil {
				err = follow(sub.GetId(), began)
			}
			return harness.Reason(err)
		})
	}
	deliveries(stream, func(sub string, began func()) error {
		go began()
		stream, err := c.Subscriptions.StreamDeliveries(t.Context(), &openintentv1.StreamDeliveriesRequest{SubscriptionId: sub})
		for err == nil {
			_, err = stream.Recv()
		}
		return err
	})
	deliveries(fetch, func(sub string, began func()) error {
		wait := 600.0
		go began()
		for { // whoever asks in the same room has a delivery first
			_, err := c.Subscriptions.FetchDeliveries(t.Context(), &openintentv1.FetchDeliveriesRequest{SubscriptionId: sub, WaitSeconds: &wait})
			if err != nil {
				return err
			}
		}
	})
	during("server-sent events", func(began func()) string {
		request, err := c.Request(t.Context(), "GET", w.fill("/v1/subscribe/channels/{room}"), "")
		if err != nil {
			return err.Error()
		}
		response, err := w.HTTP.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		began()
		text, err := io.ReadAll(response.Body)
		if _, reason, found := strings.Cut(string(text), `"reason":"`); found {
			reason, _, _ = strings.Cut(reason, `"`)
			return reason
		}
		return fmt.Sprint(string(text), err)
	})
	during(inbox, func(began func()) string {
		request, err := c.Request(t.Context(), "GET", "/v1/agents/"+agent+"/inbox?wait_seconds=600", "")
		if err != nil {
			return err.Error()
		}
		go began() // no answer says that it waits; whether it came before the end or after it, it may not wait on
		response, err := w.HTTP.Do(request)
		if err != nil {
			return err.Error()
		}
		defer response.Body.Close()
		text, _ := io.ReadAll(response.Body)
		var p problem
		harness.Answer{Body: text}.Decode(t, &p)
		return p.Reason
	})
	during("an ask", func(began func()) string {
		seconds := 600.0
		go func() {
			w.awaitRequest(t)
			began()
		}()
		_, err := c.Messages.Ask(t.Context(), &openintentv1.AskRequest{
			ChannelId: w.places[room], To: "carol", Payload: &structpb.Struct{}, TimeoutSeconds: &seconds,
		})
		return harness.Reason(err)
	})
	return ends
}

// awaitRequest waits until carol has a request.
func (w *world) awaitRequest(t *testing.T) {
	wait := 60.0
	inbox, err := w.As("carol").Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "carol", WaitSeconds: &wait})
	if err != nil || len(inbox.GetItems()) == 0 {
		t.Errorf("no request came: %v", err)
	}
}

// end checks that everything ends because its key is over.
func (l lasting) end(t *testing.T) {
	t.Helper()
	l.endWith(t, "API_KEY_REMOVED", "API_KEY_UNKNOWN")
}

// endWith checks that everything ends for a reason; what came too late to wait is refused for another.
func (l lasting) endWith(t *testing.T, reason, late string) {
	t.Helper()
	for what, end := range l {
		select {
		case why := <-end:
			if why == late && slices.Contains([]string{inbox, acknowledgements, stream, fetch, lease}, what) {
				continue // it came too late to wait
			}
			require.Equal(t, reason, why, what)
		case <-time.After(harness.Patience):
			require.Fail(t, "it goes on", what)
		}
	}
}

// goOn checks that nothing has ended.
func (l lasting) goOn(t *testing.T) {
	t.Helper()
	for what, end := range l {
		select {
		case why := <-end:
			require.Fail(t, "it ended", "%s: %s", what, why)
		default:
		}
	}
}

// readInbox leaves nothing for alice and carol to wait for.
func (w *world) readInbox(t *testing.T) {
	t.Helper()
	for _, agent := range []string{"alice", "carol"} {
		readsInbox(t, w.As(agent), agent)
	}
}

// readsInbox leaves nothing for an agent to wait for.
func readsInbox(t *testing.T, as *harness.Caller, agent string) {
	t.Helper()
	inbox, err := as.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: agent})
	require.NoError(t, err)
	var ids []string
	for _, item := range inbox.GetItems() {
		ids = append(ids, item.GetMessage().GetId())
	}
	if len(ids) > 0 {
		_, err = as.Messages.MarkInboxRead(t.Context(), &openintentv1.MarkInboxReadRequest{AgentId: agent, MessageIds: ids})
		require.NoError(t, err)
	}
}
