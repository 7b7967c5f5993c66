package sdks_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	openintent "openintent/sdk/go"
)

// running is a running agent.
type running struct {
	*openintent.Agent
	cancel context.CancelFunc
	ended  chan error
}

// runAgent runs an agent with this handler and returns once it receives messages.
func runAgent(t *testing.T, client *openintent.Client, id string, handle openintent.Handler) *running {
	t.Helper()
	return runAgentWith(t, client, openintent.AgentOptions{ID: id}, handle)
}

// runAgentWith does the same with these options and the agent's role.
func runAgentWith(t *testing.T, client *openintent.Client, options openintent.AgentOptions, handle openintent.Handler) *running {
	t.Helper()
	ready := make(chan struct{})
	options.Role, options.Ready = "role-of-"+options.ID, func() { close(ready) }
	agent := client.Agent(options)
	agent.OnMessage("", handle)
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{agent, cancel, make(chan error, 1)}
	go func() { r.ended <- agent.Run(ctx) }()
	select {
	case <-ready:
	case err := <-r.ended:
		t.Fatalf("the agent ended with %v", err)
	}
	return r
}

func (r *running) leave(t *testing.T) {
	t.Helper()
	r.cancel()
	require.NoError(t, <-r.ended)
}

func answering(by string) openintent.Handler {
	return func(context.Context, *openintent.Message) (any, error) { return map[string]any{"by": by}, nil }
}

// room makes a channel on a fresh intent, and returns it with its asker.
func room(t *testing.T, h *harness.Server, key string) (*openintent.Client, *openintent.Channel) {
	t.Helper()
	client, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: key, AgentID: "asker"})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, client.Close()) })
	intent, err := client.CreateIntent(t.Context(), openintent.IntentOptions{Title: "Questions"})
	require.NoError(t, err)
	channel, err := client.Open(t.Context(), intent.ID, "desk", openintent.ChannelOptions{})
	require.NoError(t, err)
	return client, channel
}

func TestAnotherProcessTakesAnAgentOver(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		_, err := client.As("worker").Raw().Agents.UpsertAgent(t.Context(), &openintentv1.RegisterAgentRequest{
			AgentId: proto.String("worker"), HeartbeatConfig: &openintentv1.HeartbeatConfig{IntervalSeconds: proto.Int32(1)},
		})
		require.NoError(t, err)
		begun, finish := make(chan struct{}), make(chan struct{})
		first := runAgent(t, client, "worker", func(context.Context, *openintent.Message) (any, error) {
			close(begun)
			<-finish
			return map[string]any{"by": "first"}, nil
		})
		answered := make(chan *openintent.Message, 1)
		go func() {
			defer close(answered)
			if answer, err := channel.Ask(t.Context(), "worker", map[string]any{"n": 1}); err == nil {
				answered <- answer
			}
		}()
		<-begun

		// The standby agent must not handle requests that it finds unanswered: the first agent still works on them.
		var seen []any
		standby := runAgent(t, client, "worker", func(_ context.Context, message *openintent.Message) (any, error) {
			seen = append(seen, message.Payload["n"]) // messages are sent one at a time
			return map[string]any{"by": "standby"}, nil
		})
		close(finish)
		answer := <-answered
		require.NotNil(t, answer)
		require.Equal(t, "first", answer.Payload["by"])
		first.leave(t)
		answer, err = channel.Ask(t.Context(), "worker", map[string]any{"n": 2})
		require.NoError(t, err)
		require.Equal(t, "standby", answer.Payload["by"])
		require.Eventually(t, func() bool {
			agent, err := client.Raw().Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: "worker"})
			return err == nil && agent.GetStatus() == openintentv1.AgentStatus_AGENT_STATUS_ACTIVE
		}, harness.Patience, 50*time.Millisecond, "the agent that took over is not leaving")
		standby.leave(t)
		require.Equal(t, []any{2.0}, seen)
	})
}

func TestTheProcessThatStartsLastDecidesHowMessagesWait(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		subscription := func() *openintentv1.Subscription {
			listed, err := client.As("worker").Raw().Subscriptions.ListSubscriptions(t.Context(), &openintentv1.ListSubscriptionsRequest{
				SubscriberId: proto.String("worker"),
			})
			require.NoError(t, err)
			require.Len(t, listed.GetSubscriptions(), 1)
			return listed.GetSubscriptions()[0]
		}
		ask := func() any {
			answer, err := channel.AskWith(t.Context(), openintent.Question{
				To: "worker", Timeout: harness.Patience, Conversation: openintent.Conversation{Priority: openintent.PriorityUrgent},
			})
			require.NoError(t, err)
			return answer.Payload["by"]
		}
		first := runAgent(t, client, "worker", answering("first"))
		require.Equal(t, "first", ask())
		require.Nil(t, subscription().Compose)
		options := openintent.AgentOptions{ID: "worker", Compose: true, Digest: time.Hour, MaxChars: 900}
		second := runAgentWith(t, client, options, answering("second"))
		made := subscription()
		require.Equal(t, []any{true, int32(3600), int32(900)}, []any{made.GetCompose(), made.GetDigestSeconds(), made.GetMaxChars()})

		// The process that was there before goes on over the new subscription.
		require.Contains(t, []any{"first", "second"}, ask())
		second.leave(t)
		require.Equal(t, "first", ask())
		require.Equal(t, made.GetId(), subscription().GetId())
		first.leave(t)
	})
}

func TestAnAgentIsPresentWhileItRunsAndComesBackAfterItsDeregistration(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		status := func() openintentv1.AgentStatus {
			agent, err := client.Raw().Agents.GetAgent(t.Context(), &openintentv1.GetAgentRequest{AgentId: "worker"})
			require.NoError(t, err)
			require.Equal(t, "role-of-worker", agent.GetRoleId())
			return agent.GetStatus()
		}
		agent := runAgent(t, client, "worker", answering("one life"))
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, status())
		agent.leave(t)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_DRAINING, status())
		agent = runAgent(t, client, "worker", answering("one life"))
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, status(), "it has come back")
		require.NoError(t, agent.Leave(t.Context(), true))
		require.NoError(t, <-agent.ended)
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_DEREGISTERED, status())

		// The subscription ended with the agent's record and is created again.
		agent = runAgent(t, client, "worker", answering("another"))
		require.Equal(t, openintentv1.AgentStatus_AGENT_STATUS_ACTIVE, status())
		answer, err := channel.Ask(t.Context(), "role:role-of-worker", nil)
		require.NoError(t, err)
		require.Equal(t, "another", answer.Payload["by"])
		agent.leave(t)
	})
}

func TestWhatAHandlerReturnsIsAnObjectOrAFailure(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, channel := room(t, h, harness.Key)
		type question struct {
			Want string `json:"want"`
		}
		type answer struct {
			Text string `json:"text"`
		}
		agent := runAgent(t, client, "worker", openintent.HandleAs(
			func(_ context.Context, q question, message *openintent.Message) (any, error) {
				switch q.Want {
				case "text":
					return "no object", nil
				case "much":
					return answer{strings.Repeat("x", 1<<20)}, nil
				case "panic":
					panic("out of paper")
				case "early":
					_, err := message.Reply(context.Background(), answer{"early"})
					return nil, err
				}
				return answer{"typed"}, nil
			}))
		ask := func(want string) (answer, error) {
			return openintent.AskAs[answer](t.Context(), channel, openintent.Question{To: "worker", Payload: question{want}})
		}
		got, err := ask("")
		require.NoError(t, err)
		require.Equal(t, answer{"typed"}, got)
		got, err = ask("early")
		require.NoError(t, err)
		require.Equal(t, answer{"early"}, got)
		for want, text := range map[string]string{"text": "string", "much": "PAYLOAD_TOO_LARGE", "panic": "out of paper"} {
			var failed *openintent.RemoteError
			_, err := ask(want)
			require.ErrorAs(t, err, &failed, want)
			require.Contains(t, failed.Message, text)
			require.Equal(t, want == "text", errors.Is(err, openintent.ErrPayload), "%s", want)
		}
		_, err = channel.Ask(t.Context(), "worker", map[string]any{"want": 1})
		require.ErrorIs(t, err, openintent.ErrPayload)
		require.ErrorContains(t, err, "worker failed: the payload is not a sdks_test.question: ")
		var unfit *openintent.PayloadError
		_, err = openintent.AskAs[struct{ Text int }](t.Context(), channel, openintent.Question{To: "worker", Payload: question{"early"}})
		require.ErrorAs(t, err, &unfit)
		require.Equal(t, "worker", unfit.Agent)
		require.ErrorIs(t, err, openintent.ErrInvalidArgument)
		agent.leave(t)
	})
}

func TestARefusedAgentEndsWithItsRefusal(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		client, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: "no such key"})
		require.NoError(t, err)
		require.ErrorIs(t, client.Agent(openintent.AgentOptions{ID: "worker"}).Run(t.Context()), openintent.ErrUnauthenticated)
		require.NoError(t, client.Close())
		bound, err := openintent.Dial(openintent.Options{Server: h.GRPCAddress(), APIKey: harness.BoundKey})
		require.NoError(t, err)
		require.ErrorIs(t, bound.Agent(openintent.AgentOptions{ID: "another"}).Run(t.Context()), openintent.ErrPermissionDenied)
		require.NoError(t, bound.Close())
	})
}
