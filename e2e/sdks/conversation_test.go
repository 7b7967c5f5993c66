package sdks_test

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

func TestAnAgentThatBeginsToUseAttentionGetsANewSubscription(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		include := func() []string {
			listed, err := client.As("worker").Raw().Subscriptions.ListSubscriptions(t.Context(), &openintentv1.ListSubscriptionsRequest{
				SubscriberId: proto.String("worker"),
			})
			require.NoError(t, err)
			require.Len(t, listed.GetSubscriptions(), 1)
			return listed.GetSubscriptions()[0].GetInclude()
		}
		for _, uses := range []bool{false, true, false} {
			ready := make(chan struct{})
			agent := client.Agent(openintent.AgentOptions{ID: "worker", Attention: uses, Ready: func() { close(ready) }})
			agent.OnMessage("", answering("worker"))
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- agent.Run(ctx) }()
			<-ready
			answer, err := channel.Ask(t.Context(), "worker", nil)
			require.NoError(t, err)
			require.Equal(t, "worker", answer.Payload["by"])
			if uses {
				require.Equal(t, []string{"attention"}, include())
			}
			cancel()
			require.NoError(t, <-ended)
		}
		require.Equal(t, []string{"attention"}, include(), "an agent that does not use it takes what there is")
	})
}

func TestAFollowerSeesWhatHappensToMessages(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		plain, err := channel.Follow(t.Context(), openintent.FollowOptions{})
		require.NoError(t, err)
		defer plain.Close()
		following, err := channel.Follow(t.Context(), openintent.FollowOptions{Annotations: true})
		require.NoError(t, err)
		defer following.Close()
		sent, err := channel.Broadcast(t.Context(), map[string]any{"n": 1})
		require.NoError(t, err)
		_, err = client.As("reader").React(t.Context(), channel.ID, sent.ID, "agree", openintent.ReactionOptions{Note: "yes"})
		require.NoError(t, err)
		_, err = channel.Broadcast(t.Context(), map[string]any{"n": 2})
		require.NoError(t, err)
		var came []string
		for event, err := range following.Events() {
			require.NoError(t, err)
			if event.Annotation != nil {
				require.Equal(t, sent.ID, event.Annotation.MessageID)
				require.Equal(t, "reader", event.Annotation.AgentID)
				came = append(came, event.Annotation.Change+" "+event.Annotation.Signal+" "+event.Annotation.Note)
			} else {
				came = append(came, "message")
			}
			if len(came) == 3 {
				break
			}
		}
		require.Equal(t, []string{"message", "added agree yes", "message"}, came)
		count := 0
		for _, err := range plain.Messages() {
			require.NoError(t, err)
			if count++; count == 2 {
				break
			}
		}
	})
}

// The first agent that handles a request fails. Still each request has one answer, and it is no failure.
func TestFailingAgentsOfARoleGiveOneAnswerToEachRequest(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		var mutex sync.Mutex
		failed := map[string]bool{}
		for _, id := range []string{"a", "b", "c", "d", "e"} {
			ready := make(chan struct{})
			agent := client.Agent(openintent.AgentOptions{ID: id, Role: "desk", Ready: func() { close(ready) }, Log: slog.New(slog.DiscardHandler)})
			agent.OnMessage("", func(_ context.Context, message *openintent.Message) (any, error) {
				mutex.Lock()
				defer mutex.Unlock()
				if !failed[message.ID] {
					failed[message.ID] = true
					return nil, errors.New("the first attempt fails")
				}
				return map[string]any{"by": id}, nil
			})
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- agent.Run(ctx) }()
			t.Cleanup(func() {
				cancel()
				require.NoError(t, <-ended)
			})
			<-ready
		}
		var asking sync.WaitGroup
		answers := make([]error, 20)
		for i := range answers {
			asking.Go(func() {
				_, answers[i] = channel.AskWith(t.Context(), openintent.Question{
					To: "role:desk", Timeout: harness.Patience, Conversation: openintent.Conversation{Collect: openintent.CollectOne},
				})
			})
		}
		asking.Wait()
		for _, err := range answers {
			require.NoError(t, err)
		}
		listed, err := client.ListMessages(t.Context(), channel.ID, openintent.Selection{MessageType: openintent.Response})
		require.NoError(t, err)
		require.Len(t, listed, len(answers))
	})
}
