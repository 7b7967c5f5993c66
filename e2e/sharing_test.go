package e2e

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// TestStreamsShareWhatIsRead checks that messages for many streams of one channel are read from the database at most
// once for all of them: the number of rows that are read does not depend on the number of streams. On PostgreSQL some
// of the streams are at another replica than the sender.
func TestStreamsShareWhatIsRead(t *testing.T) {
	const messages = 50
	databasetest.EachURL(t, func(t *testing.T, url string) {
		var rows atomic.Int64
		options := harness.Options{URL: url, Configure: func(cfg *server.Config) {
			cfg.Search = false // its index reads each message too
			cfg.Hooks.Statement = func(_ context.Context, text string) func() {
				if !strings.Contains(text, "m.payload") {
					return nil
				}
				return func() { rows.Add(1) } // counts a message that was read with its content
			}
		}}
		here := harness.Start(t, options)
		replicas := []*harness.Server{here}
		if strings.HasPrefix(url, "postgres") {
			replicas = append(replicas, harness.Start(t, options))
		}
		sender := here.As("sender")
		intent, err := sender.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "shared"})
		require.NoError(t, err)
		for number, there := range replicas {
			for _, streams := range []int{1, 100} {
				channel, err := sender.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
					IntentId: intent.GetId(), Name: fmt.Sprintf("%d streams at %d", streams, number),
				})
				require.NoError(t, err)
				rows.Store(0)
				deliver(t, sender, there, channel.GetId(), streams, messages)
				t.Logf("%d streams at replica %d: %d messages were read", streams, number+1, rows.Load())
				require.LessOrEqual(t, rows.Load(), int64(messages), "each message at most once")

				rows.Store(0)
				_, err = sender.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel.GetId()})
				require.NoError(t, err)
				require.EqualValues(t, messages, rows.Load(), "the count includes what is read")
			}
		}
	})
}

// deliver sends messages to streams of different agents, and returns when each stream has received all of them. It sends the
// next message when each stream has the one before, because a stream that falls far behind reads for itself.
func deliver(t *testing.T, sender *harness.Caller, there *harness.Server, channel string, streams, messages int) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var received sync.WaitGroup
	defer received.Wait()
	open := make([]grpc.ServerStreamingClient[openintentv1.SubscribeResponse], streams)
	for i := range open {
		stream, err := there.As(fmt.Sprint("follower-", i)).Messages.Subscribe(ctx, &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel},
		})
		require.NoError(t, err)
		response, err := stream.Recv()
		require.NoError(t, err)
		require.True(t, response.GetCaughtUp())
		open[i] = stream
	}
	got := make(chan error, streams*messages)
	for _, stream := range open {
		received.Go(func() {
			for range messages {
				_, err := stream.Recv()
				got <- err
				if err != nil {
					return
				}
			}
		})
	}
	for n := range messages {
		_, err := sender.Messages.SendMessage(ctx, &openintentv1.SendMessageRequest{
			ChannelId: channel, Payload: &structpb.Struct{Fields: map[string]*structpb.Value{"n": structpb.NewNumberValue(float64(n))}},
		})
		require.NoError(t, err)
		for range streams {
			require.NoError(t, <-got)
		}
	}
	received.Wait()
}
