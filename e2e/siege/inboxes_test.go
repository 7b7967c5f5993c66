package siege

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// TestAFilledInbox fills a victim's inbox with one bound key, and a channel that the victim takes part in. Whatever is asked of the inbox
// and of the channel then takes a bounded time, because one page looks at a bounded number of messages.
func TestAFilledInbox(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		h := harness.StartProcess(t, harness.Options{URL: url, APIKeys: floodKeys})
		victim, greedy := h.With("victim-key", ""), h.With("flood-key", "")
		channel := greedyChannel(t, greedy)
		_, err := victim.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{ChannelId: channel, Payload: text("hello")})
		require.NoError(t, err) // whoever has written there is flooded by no stranger, so nothing but the sizes of pages helps
		begun := time.Now()
		pour(t, greedy, channel, "victim", size(500, 60_000))
		filled := time.Since(begun)
		took := func(read func() error) time.Duration {
			begun := time.Now()
			require.NoError(t, read())
			return time.Since(begun)
		}
		ask := func(request *openintentv1.GetInboxRequest) func() error {
			return func() error {
				_, err := victim.Messages.GetInbox(t.Context(), request)
				return err
			}
		}
		sifted := took(ask(&openintentv1.GetInboxRequest{
			Limit: new(int32(1)), Include: []string{"attention"},
			Policy: []openintentv1.ResponsePolicy{openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND},
		}))
		plain := took(ask(&openintentv1.GetInboxRequest{Limit: new(int32(50))}))
		listed := took(func() error {
			_, err := greedy.Messages.ListMessages(t.Context(), &openintentv1.ListMessagesRequest{ChannelId: channel, Kind: new("nope")})
			return err
		})
		figure(t, "%d direct messages, sent in %v: a page of what must be answered takes %v, a plain page %v, a list of a kind that none has %v",
			size(500, 60_000), filled.Round(time.Millisecond), sifted.Round(time.Millisecond), plain.Round(time.Millisecond), listed.Round(time.Millisecond))
		for _, each := range []time.Duration{sifted, plain, listed} {
			require.Less(t, each, 5*time.Second)
		}
	})
}

// greedyChannel opens a channel of the greedy caller's own, that keeps everything.
func greedyChannel(t *testing.T, greedy *harness.Caller) string {
	intent, err := greedy.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "flood"})
	require.NoError(t, err)
	channel, err := greedy.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "flood",
		Options: &openintentv1.ChannelOptions{MaxMessages: new(int64(1_000_000)), TurnBudget: new(int64(0))},
	})
	require.NoError(t, err)
	return channel.GetId()
}

// pour sends messages on a stream that does not wait for each answer.
func pour(t *testing.T, from *harness.Caller, channel, to string, count int) {
	stream, err := from.Messages.SendMessages(t.Context())
	require.NoError(t, err)
	sent := make(chan error, 1)
	go func() {
		for range count {
			if err := stream.Send(&openintentv1.SendMessageRequest{ChannelId: channel, To: &to, Payload: text("flood")}); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for range count {
		answer, err := stream.Recv()
		require.NoError(t, err)
		require.NotNil(t, answer.GetAcknowledgement(), answer)
	}
	require.NoError(t, <-sent)
}
