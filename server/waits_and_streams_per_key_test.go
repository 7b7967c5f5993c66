package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// limitsOf returns limits of as many streams, and as many waits, for each caller and for each key.
func limitsOf(most, mostPerKey int) limits {
	return newLimits(Config{MaxStreams: most, MaxStreamsPerKey: mostPerKey, MaxWaits: most, MaxWaitsPerKey: mostPerKey})
}

// testLimits are those of the servers that tests make.
func testLimits() limits { return limitsOf(maxTestStreams, 100) }

func TestStreamsAreCountedByCaller(t *testing.T) {
	limits := limitsOf(2, 100).streams
	enter := func(who caller.Caller) (func(), error) {
		return limits.enter(caller.NewContext(t.Context(), who))
	}
	callers := []caller.Caller{
		{KeyID: "k", Agent: "a"}, {KeyID: "k", Agent: "b"}, {KeyID: "l", Agent: "a"},
		{KeyID: "k", Agent: caller.Operator, IsOperator: true},
	}
	var leaves []func()
	for _, who := range callers {
		for range 2 {
			leave, err := enter(who)
			require.NoError(t, err)
			leaves = append(leaves, leave)
		}
		_, err := enter(who)
		require.ErrorContains(t, err, "TOO_MANY_STREAMS")
	}
	leaves[0]()
	again, err := enter(callers[0])
	require.NoError(t, err, "a stream that ended leaves its place free")
	again()
	for _, leave := range leaves[1:] {
		leave()
	}
	require.Empty(t, limits.open, "a caller without streams takes no memory")

	for range 3 {
		leave, err := limits.enter(t.Context())
		require.NoError(t, err, "a stream without a caller is not counted")
		leave()
	}
}

// An unbound key that changes its agents' names has no more streams than one key may have.
func TestStreamsAreCountedByKey(t *testing.T) {
	limits := limitsOf(2, 3).streams
	enter := func(key, agent string) (func(), error) {
		return limits.enter(caller.NewContext(t.Context(), caller.Caller{KeyID: key, Agent: agent}))
	}
	var leaves []func()
	for _, agent := range []string{"a", "b", "c"} {
		leave, err := enter("k", agent)
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	_, err := enter("k", "d")
	require.ErrorContains(t, err, "TOO_MANY_STREAMS")
	other, err := enter("l", "d")
	require.NoError(t, err)
	other()
	leaves[0]()
	leaves[0], err = enter("k", "a")
	require.NoError(t, err)
	_, err = enter("k", "d")
	require.ErrorContains(t, err, "TOO_MANY_STREAMS", "one has ended, and the others of the key have not")
	for _, leave := range leaves {
		leave()
	}
	require.Empty(t, limits.open)
	require.Empty(t, limits.ofKeys)
}

func TestStreamsThatComeTogetherDoNotPassTheLimit(t *testing.T) {
	limits := limitsOf(5, 100).streams
	ctx := caller.NewContext(t.Context(), caller.Caller{KeyID: "k", Agent: "a"})
	var together sync.WaitGroup
	outcomes := make(chan error, 50)
	for range cap(outcomes) {
		together.Go(func() {
			_, err := limits.enter(ctx)
			outcomes <- err
		})
	}
	together.Wait()
	close(outcomes)
	admitted := 0
	for err := range outcomes {
		if err == nil {
			admitted++
		}
	}
	require.Equal(t, 5, admitted)
}

// holdStreams makes every stream deliver one message and then last until its client leaves.
func (f *face) holdStreams() {
	f.service.subscribe = func(_ *openintentv1.SubscribeRequest, stream subscription) error {
		if err := stream.Send(&openintentv1.SubscribeResponse{}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
	f.durable.stream = func(_ *openintentv1.StreamDeliveriesRequest, stream deliveryStream) error {
		if err := stream.Send(&openintentv1.SubscriptionDelivery{}); err != nil {
			return err
		}
		<-stream.Context().Done()
		return stream.Context().Err()
	}
}

// follow opens a stream and waits until it is accepted.
func (f *face) follow(t *testing.T, durable bool, key string) (leave func(), err error) {
	ctx, leave := context.WithCancel(as(t, "x-api-key", key))
	t.Cleanup(leave)
	if durable {
		stream, err := f.streams.StreamDeliveries(ctx, &openintentv1.StreamDeliveriesRequest{SubscriptionId: "s"})
		require.NoError(t, err)
		_, err = stream.Recv()
		return leave, err
	}
	stream, err := f.messages.Subscribe(ctx, aSubscription())
	require.NoError(t, err)
	_, err = stream.Recv()
	return leave, err
}

func TestTooManyStreamsAreRefusedOverGRPC(t *testing.T) {
	f := newFace(t, slog.LevelInfo)
	f.holdStreams()
	var leave func()
	for i := range maxTestStreams {
		var err error
		leave, err = f.follow(t, i%2 == 0, "open")
		require.NoError(t, err)
	}
	for _, durable := range []bool{false, true} {
		_, err := f.follow(t, durable, "open")
		require.Equal(t, codes.ResourceExhausted, status.Code(err))
		require.Equal(t, "TOO_MANY_STREAMS", reasonOfError(t, err))
		require.Contains(t, status.Convert(err).Message(), "end one first")
		require.Equal(t, fmt.Sprint(maxTestStreams), metadataOfError(err)["max_streams"])
	}
	require.Contains(t, scrape(f.metrics), fmt.Sprintf("openintent_streams_open %d\n", maxTestStreams))
	_, err := f.follow(t, false, "bound")
	require.NoError(t, err, "another caller has its own limit")
	leave()
	require.Eventually(t, func() bool {
		_, err := f.follow(t, true, "open")
		return err == nil
	}, patience, time.Millisecond, "a stream that ended makes room")
}

func metadataOfError(err error) map[string]string {
	for _, detail := range status.Convert(err).Details() {
		if info, ok := detail.(*errdetails.ErrorInfo); ok {
			return info.GetMetadata()
		}
	}
	return nil
}

func TestEventStreamsAreCountedOnce(t *testing.T) {
	r := newREST(t)
	r.service.subscribe = holding[openintentv1.SubscribeRequest, openintentv1.SubscribeResponse]
	r.durable.stream = holding[openintentv1.StreamDeliveriesRequest, openintentv1.SubscriptionDelivery]
	paths := []string{"/v1/subscribe/channels/c", "/v1/intents/i/subscribe", "/v1/subscribe/subscriptions/s"}
	require.Len(t, paths, maxTestStreams)
	var last *sseStream
	for _, path := range paths {
		last = r.subscribe(t, path)
	}
	require.Contains(t, scrape(r.metrics), fmt.Sprintf("openintent_streams_open %d\n", maxTestStreams))
	for _, path := range paths {
		problem := problemOf(t, r.call(t, http.MethodGet, path, ""), http.StatusTooManyRequests)
		require.Equal(t, "TOO_MANY_STREAMS", problem["reason"])
		require.Equal(t, "RESOURCE_EXHAUSTED", problem["code"])
		require.EqualValues(t, maxTestStreams, problem["max_streams"])
	}
	last.cancel()
	require.Eventually(t, func() bool {
		again := r.open(t, paths[0])
		again.cancel()
		return again.response.StatusCode == http.StatusOK
	}, patience, time.Millisecond)
}
