package siege

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// TestANewcomerMissesNothing starts a second replica repeatedly, while the first, which was alone, commits one
// message on each of many channels. Streams on the newcomer must each get their message soon, although nothing wakes
// them later.
func TestANewcomerMissesNothing(t *testing.T) {
	const late = 4 * time.Second // a stream that is not woken looks again after 5 seconds
	url := databasetest.URL(t, database.PostgreSQL)
	first := harness.StartProcess(t, harness.Options{URL: url})
	var worst time.Duration
	rounds, channels := size(2, 20), size(20, 60)
	for round := range rounds {
		ids := openChannels(t, first, round, channels)
		newcomer := harness.StartProcess(t, harness.Options{URL: url})
		var mutex sync.Mutex
		var following sync.WaitGroup
		for n, id := range ids {
			following.Go(func() {
				took, err := sendAndReceive(t, first, newcomer, id, time.Duration(n)*5*time.Millisecond)
				if err != nil {
					t.Error(err)
				}
				mutex.Lock()
				defer mutex.Unlock()
				worst = max(worst, took)
			})
		}
		following.Wait()
		require.NoError(t, newcomer.Stop())
	}
	figure(t, "%d newcomers with %d streams each: the latest message came %v after it was sent", rounds, channels, worst.Round(time.Millisecond))
	require.Less(t, worst, late)
}

func openChannels(t *testing.T, h *harness.Server, round, channels int) (ids []string) {
	t.Helper()
	alice := h.As("alice")
	for n := range channels {
		intent, err := alice.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{
			Title: fmt.Sprint("round ", round), Status: openintentv1.IntentStatus_INTENT_STATUS_ACTIVE.Enum(),
		})
		require.NoError(t, err)
		channel, err := alice.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
			IntentId: intent.GetId(), Name: fmt.Sprint("talk ", n),
		})
		require.NoError(t, err)
		ids = append(ids, channel.GetId())
	}
	return ids
}

// sendAndReceive follows a channel on one server. When the stream has begun and some time has passed, it sends on the
// channel through another server, and returns how long the message took.
func sendAndReceive(t *testing.T, sender, receiver *harness.Server, id string, pause time.Duration) (time.Duration, error) {
	stream, err := receiver.As("bob").Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
		Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: id},
	})
	if err != nil {
		return 0, err
	}
	if _, err := stream.Header(); err != nil {
		return 0, err
	}
	<-time.After(pause)
	began := time.Now()
	sent, err := sender.As("alice").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
		ChannelId: id, Payload: &structpb.Struct{},
	})
	if err != nil {
		return 0, err
	}
	for {
		received, err := stream.Recv()
		if err != nil {
			return 0, err
		}
		if received.GetMessage().GetId() == sent.GetId() {
			return time.Since(began), nil
		}
	}
}
