package siege

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// TestPileOfAStranger sends a victim several times as many messages as a stranger may pile up, from several intents of the stranger's own.
// The server must stop at its bound, the victim's inbox must stay usable, and nobody must be stopped who is related to the victim.
func TestPileOfAStranger(t *testing.T) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		bound, intents := size(200, 10_000), size(2, 3)
		each := 2 * bound
		h := harness.StartProcess(t, harness.Options{
			URL: url, APIKeys: "alice-key=alice,bob-key=bob,mallory-key=mallory", Flags: []string{fmt.Sprintf("--max-unread-from-strangers=%d", bound)},
		})
		alice, bob, mallory := h.With("alice-key", ""), h.With("bob-key", ""), h.With("mallory-key", "")
		calm := openInbox(t, bob)

		began := time.Now()
		var stored, refused int
		for n := range intents {
			more, not := pourInto(t, mallory, wide(t, mallory, fmt.Sprintf("Spam %d", n)), "bob", each)
			stored, refused = stored+more, refused+not
		}
		took := time.Since(began)
		piled := openInbox(t, bob)
		figure(t, "a stranger sent %d messages to one agent in %v: %d were stored, %d refused (bound %d); the agent's inbox took %v before and %v after (p50)",
			intents*each, took.Round(time.Millisecond), stored, refused, bound, calm, piled)
		require.LessOrEqual(t, stored, bound)
		require.GreaterOrEqual(t, stored, bound*9/10, "a stranger may write as much as the bound says")

		began = time.Now()
		stored, refused = pourInto(t, alice, wide(t, bob, "Work"), "bob", each)
		figure(t, "an agent sent %d messages to the maker of its intent in %v: %d were refused", each, time.Since(began).Round(time.Millisecond), refused)
		require.Equal(t, each, stored)
		stored, refused = pourInto(t, bob, wide(t, mallory, "Answers"), "mallory", 1)
		require.Equal(t, []int{1, 0}, []int{stored, refused}, "the victim writes as before")
	})
}

// wide makes an intent with a channel that keeps very many messages.
func wide(t *testing.T, creator *harness.Caller, title string) (channelID string) {
	t.Helper()
	intent, err := creator.Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: title})
	require.NoError(t, err)
	most := int64(1_000_000)
	channel, err := creator.Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
		IntentId: intent.GetId(), Name: "talk", Options: &openintentv1.ChannelOptions{MaxMessages: &most},
	})
	require.NoError(t, err)
	return channel.GetId()
}

// pourInto sends messages to an agent on a stream, and counts what became of them.
func pourInto(t *testing.T, sender *harness.Caller, channelID, to string, count int) (stored, refused int) {
	t.Helper()
	stream, err := sender.Messages.SendMessages(t.Context())
	require.NoError(t, err)
	sent := make(chan error, 1)
	go func() {
		for range count {
			if err := stream.Send(&openintentv1.SendMessageRequest{ChannelId: channelID, To: &to, Payload: text("read me")}); err != nil {
				sent <- err
				return
			}
		}
		sent <- stream.CloseSend()
	}()
	for range count {
		answer, err := stream.Recv()
		require.NoError(t, err)
		if answer.GetRefusal() != nil {
			require.Contains(t, answer.GetRefusal().GetMessage(), "has not read")
			refused++
		} else {
			stored++
		}
	}
	require.NoError(t, <-sent)
	return stored, refused
}

// openInbox reads the first page of bob's inbox several times, and returns how long that usually took.
func openInbox(t *testing.T, bob *harness.Caller) time.Duration {
	t.Helper()
	var took []time.Duration
	limit := int32(50)
	for range size(5, 25) {
		began := time.Now()
		_, err := bob.Messages.GetInbox(t.Context(), &openintentv1.GetInboxRequest{AgentId: "bob", Limit: &limit})
		require.NoError(t, err)
		took = append(took, time.Since(began))
	}
	return quantile(took, .5)
}
