package siege

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// waitingKeys are an unbound key that holds waits under many names, and a victim's.
const waitingKeys = harness.Key + ",greedy-key,victim-key=victim"

// greedy is everything that one key holds in this attack.
type greedy struct {
	h        *harness.Server
	channels []string // one in each intent that reaches its agents
	held     sync.WaitGroup
	refused  atomic.Int64
}

// newGreedy makes intents that all reach the agent greedy-0, and the first of which reaches all of the key's agents.
func newGreedy(t *testing.T, h *harness.Server, intents, agents int) *greedy {
	t.Helper()
	g, first := &greedy{h: h}, h.With("greedy-key", "greedy-0")
	for range intents {
		intent, err := first.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "Greedy"})
		require.NoError(t, err)
		channel, err := first.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{IntentId: intent.GetId(), Name: "own"})
		require.NoError(t, err)
		g.channels = append(g.channels, channel.GetId())
		g.say(t, "greedy-0", channel.GetId(), "nobody")
		g.say(t, "nobody", channel.GetId(), "somebody") // so that nobody knows who writes to it, and no pile is counted
	}
	for n := range agents {
		g.say(t, fmt.Sprint("greedy-", n), g.channels[0], "nobody")
	}
	return g
}

func (g *greedy) say(t *testing.T, agent, channel, to string) {
	t.Helper()
	_, err := g.h.With("greedy-key", agent).Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: channel, To: &to, Payload: text("between others"),
	})
	require.NoError(t, err)
}

// hold makes many calls as an agent, 200 on each connection. Each lasts until the context ends.
func (g *greedy) hold(ctx context.Context, t *testing.T, agent string, count int, call func(context.Context, *grpc.ClientConn) error) {
	t.Helper()
	ctx = metadata.AppendToOutgoingContext(ctx, "x-api-key", "greedy-key", "x-agent-id", agent)
	for begun := 0; begun < count; begun += 200 {
		connection, err := grpc.NewClient(g.h.GRPCAddress(), grpc.WithTransportCredentials(insecure.NewCredentials()))
		require.NoError(t, err)
		t.Cleanup(func() { _ = connection.Close() })
		for range min(200, count-begun) {
			g.held.Go(func() {
				for ctx.Err() == nil {
					if err := call(ctx, connection); harness.Reason(err) != "" {
						g.refused.Add(1)
						return
					}
				}
			})
		}
	}
}

// waitForInbox waits for an agent's inbox.
func waitForInbox(agent string) func(context.Context, *grpc.ClientConn) error {
	return func(ctx context.Context, connection *grpc.ClientConn) error {
		_, err := openintentv1.NewMessageServiceClient(connection).GetInbox(ctx, &openintentv1.GetInboxRequest{
			AgentId: agent, WaitSeconds: new(600.0),
		})
		return err
	}
}

// streamOf reads a stream of everything that reaches an agent, until it ends.
func streamOf(agent string) func(context.Context, *grpc.ClientConn) error {
	return func(ctx context.Context, connection *grpc.ClientConn) error {
		stream, err := openintentv1.NewMessageServiceClient(connection).Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_AgentId{AgentId: agent},
		})
		for err == nil {
			_, err = stream.Recv()
		}
		return err
	}
}

// fetchFrom waits for deliveries of a subscription.
func fetchFrom(subscription string) func(context.Context, *grpc.ClientConn) error {
	return func(ctx context.Context, connection *grpc.ClientConn) error {
		_, err := openintentv1.NewSubscriptionServiceClient(connection).FetchDeliveries(ctx, &openintentv1.FetchDeliveriesRequest{
			SubscriptionId: subscription, WaitSeconds: new(60.0),
		})
		return err
	}
}

// TestWaitsOfOneKey holds nearly as many waits as one key may have: for inboxes, and for deliveries of subscriptions to everything that
// reaches an agent. It also holds streams of that agent, which very many intents reach, and wakes all of them without end. Another key's
// sends and looks into its inbox must take little longer than without that, and the server must not need much memory for it.
func TestWaitsOfOneKey(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: waitingKeys})
		at, victim, sends := newPlace(t, h, "own"), h.With("victim-key", ""), size(30, 500)
		agents, waits, fetches, streams, intents := size(3, 10), size(40, 900), size(3, 30), size(10, 300), size(40, 3000)
		g := newGreedy(t, h, intents, agents)
		before := residentMB(t, h)
		calm, _ := measure(t, victim, at, sends)
		calmLooks := looks(t, victim, sends)
		ctx, end := context.WithCancel(t.Context())
		defer g.held.Wait()
		defer end()
		for n := range agents {
			agent := fmt.Sprint("greedy-", n)
			g.hold(ctx, t, agent, waits, waitForInbox(agent))
		}
		for n := range 3 {
			subscription, err := h.With("greedy-key", "greedy-0").Subscriptions.CreateSubscription(t.Context(),
				&openintentv1.CreateSubscriptionRequest{Name: new(fmt.Sprint("own-", n))})
			require.NoError(t, err)
			g.hold(ctx, t, "greedy-0", fetches, fetchFrom(subscription.GetId()))
		}
		g.hold(ctx, t, "greedy-0", streams, streamOf("greedy-0"))
		woken := 0
		g.held.Go(func() {
			waker := h.With("greedy-key", "greedy-0")
			for ; ctx.Err() == nil; woken++ {
				_, _ = waker.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
					ChannelId: g.channels[woken%len(g.channels)], To: new("nobody"), Payload: text("between others"),
				})
			}
		})
		under, refusals := measure(t, victim, at, sends)
		underLooks := looks(t, victim, sends)
		after := residentMB(t, h)
		figure(t, "%d waits, %d fetches and %d streams with %d intents, woken without end: the victim's sends p50 %v calm, %v beside them, "+
			"p99 %v; its inbox p50 %v calm, %v beside them, p99 %v; %d MB before, %d MB after", agents*waits, 3*fetches, streams, intents,
			quantile(calm, .5), quantile(under, .5), quantile(under, .99), quantile(calmLooks, .5), quantile(underLooks, .5),
			quantile(underLooks, .99), before, after)
		end()
		g.held.Wait()
		figure(t, "%d messages woke them; %d calls were refused", woken, g.refused.Load())
		require.Zero(t, refusals)
		require.Zero(t, g.refused.Load(), "one key may hold that much")
		for _, one := range [][2][]time.Duration{{calm, under}, {calmLooks, underLooks}} {
			aim := 3*quantile(one[0], .5) + 10*time.Millisecond
			assert.Less(t, quantile(one[1], .5), size(10*aim+500*time.Millisecond, aim)) // a busy machine is not a failure
		}
		require.Less(t, after, before+300)
	})
}

// looks looks into the caller's inbox, one time after the other. It returns how long each look took.
func looks(t *testing.T, c *harness.Caller, count int) (took []time.Duration) {
	t.Helper()
	for range count {
		began := time.Now()
		_, err := c.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "victim"})
		require.NoError(t, err)
		took = append(took, time.Since(began))
	}
	return took
}
