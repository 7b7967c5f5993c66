package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
	"openintent/server"
)

// In each of these tests calls race, and their outcomes must be explained by some order of the calls.

// racing is how many calls start at the same moment.
const racing = 8

// arena is where a race takes place: an intent of alice's, and the servers on its database. On PostgreSQL there are
// two servers, and the racers are spread over both.
type arena struct {
	servers []*harness.Server
	intent  *openintentv1.Intent
	next    atomic.Int64
}

// eachArena runs a race several times on each engine.
func eachArena(t *testing.T, race func(t *testing.T, a *arena)) {
	databasetest.EachURL(t, func(t *testing.T, url string) {
		options := harness.Options{URL: url, Configure: func(cfg *server.Config) { cfg.LookAgain = 10 * time.Millisecond }}
		servers := []*harness.Server{harness.Start(t, options)}
		if strings.HasPrefix(url, "postgres:") {
			servers = append(servers, harness.Start(t, options))
		}
		for range 4 {
			a := &arena{servers: servers}
			active := openintentv1.IntentStatus_INTENT_STATUS_ACTIVE
			intent, err := a.as("alice").Intents.CreateIntent(t.Context(), &openintentv1.CreateIntentRequest{Title: "race", Status: &active})
			require.NoError(t, err)
			a.intent = intent
			race(t, a)
		}
		for _, h := range servers {
			require.NoError(t, h.Stop())
		}
		storage(t, url).holds(t)
	})
}

// as returns a caller, on the servers in turn.
func (a *arena) as(agent string) *harness.Caller {
	return a.servers[int(a.next.Add(1))%len(a.servers)].As(agent)
}

func (a *arena) channel(t *testing.T, name string, members ...string) *openintentv1.Channel {
	t.Helper()
	request := &openintentv1.CreateChannelRequest{IntentId: a.intent.GetId(), Name: name, Members: members}
	if len(members) > 0 {
		request.MemberPolicy = openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT.Enum()
	}
	channel, err := a.as("alice").Channels.CreateChannel(t.Context(), request)
	require.NoError(t, err)
	return channel
}

// atOnce starts calls at the same moment and waits for all of them.
func atOnce(calls ...func()) {
	var begin, end sync.WaitGroup
	begin.Add(1)
	for _, call := range calls {
		end.Go(func() {
			begin.Wait()
			call()
		})
	}
	begin.Done()
	end.Wait()
}

// repeated returns one call for each number.
func repeated(count int, call func(number int)) []func() {
	calls := make([]func(), count)
	for i := range calls {
		calls[i] = func() { call(i) }
	}
	return calls
}

// collected gathers what racers found.
type collected[T any] struct {
	mutex sync.Mutex
	all   []T
}

func (c *collected[T]) add(value T) {
	c.mutex.Lock()
	defer c.mutex.Unlock()
	c.all = append(c.all, value)
}

// TestCloseRacesSends checks that every accepted message lies before the closing, and that every later send is
// refused.
func TestCloseRacesSends(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		channel := a.channel(t, "talk")
		var accepted collected[*openintentv1.Message]
		var closed *openintentv1.Channel
		calls := repeated(racing, func(int) {
			sender := a.as("bob")
			for {
				message, err := sender.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
					ChannelId: channel.GetId(), Payload: payload("hello"),
				})
				if err != nil {
					assert.Equal(t, "CHANNEL_CLOSED", harness.Reason(err))
					return
				}
				accepted.add(message)
			}
		})
		atOnce(append(calls, func() {
			var err error
			closed, err = a.as("alice").Channels.UpdateChannel(t.Context(), closing(channel.GetId()))
			assert.NoError(t, err)
		})...)
		for _, message := range accepted.all {
			require.True(t, message.GetCreatedAt().AsTime().Before(closed.GetClosedAt().AsTime()))
		}
		require.EqualValues(t, len(accepted.all), closed.GetMessageCount())
		require.Len(t, allMessages(t, a.as("carol"), channel.GetId()), len(accepted.all))
	})
}

func closing(channelID string) *openintentv1.UpdateChannelRequest {
	return &openintentv1.UpdateChannelRequest{
		Channel:    &openintentv1.Channel{Id: channelID, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
		UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
	}
}

// TestStatusesRace checks that only one of several changes to the same version is made.
func TestStatusesRace(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		statuses := []openintentv1.IntentStatus{
			openintentv1.IntentStatus_INTENT_STATUS_BLOCKED, openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
			openintentv1.IntentStatus_INTENT_STATUS_ABANDONED, openintentv1.IntentStatus_INTENT_STATUS_SUSPENDED_AWAITING_INPUT,
		}
		var changed collected[*openintentv1.Intent]
		atOnce(repeated(racing, func(i int) {
			intent, err := a.as("alice").Intents.SetIntentStatus(t.Context(), &openintentv1.SetIntentStatusRequest{
				IntentId: a.intent.GetId(), ExpectedVersion: &a.intent.Version, Status: statuses[i%len(statuses)],
			})
			if err == nil {
				changed.add(intent)
				return
			}
			assert.Equal(t, "VERSION_MISMATCH", harness.Reason(err))
			assert.Equal(t, fmt.Sprint(a.intent.GetVersion()+1), harness.Metadata(err)["current_version"])
		})...)
		require.Len(t, changed.all, 1)
		intent, err := a.as("alice").Intents.GetIntent(t.Context(), &openintentv1.GetIntentRequest{IntentId: a.intent.GetId()})
		require.NoError(t, err)
		require.True(t, proto.Equal(changed.all[0], intent))
	})
}

// TestCreationsOfOneNameRace checks that creating a channel and sending to its name, at the same moment, make one
// channel, on which everybody meets.
func TestCreationsOfOneNameRace(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		var created, refused, sentTo collected[string]
		calls := repeated(racing/2, func(int) {
			channel, err := a.as("alice").Channels.CreateChannel(t.Context(), &openintentv1.CreateChannelRequest{
				IntentId: a.intent.GetId(), Name: "meeting",
			})
			if err == nil {
				created.add(channel.GetId())
				return
			}
			assert.Equal(t, "CHANNEL_NAME_TAKEN", harness.Reason(err))
			refused.add(harness.Metadata(err)["channel_id"])
		})
		atOnce(append(calls, repeated(racing/2, func(int) {
			message, err := a.as("bob").Messages.SendMessageByName(t.Context(), &openintentv1.SendMessageByNameRequest{
				IntentId: a.intent.GetId(), Name: "meeting", Payload: payload("hello"),
			})
			assert.NoError(t, err)
			sentTo.add(message.GetChannelId())
		})...)...)
		require.LessOrEqual(t, len(created.all), 1)
		met := slices.Concat(created.all, refused.all, sentTo.all)
		slices.Sort(met)
		require.Len(t, slices.Compact(met), 1, "all met on one channel")
		require.Len(t, allMessages(t, a.as("carol"), met[0]), racing/2)
	})
}

// TestRemovalOfAMemberRacesItsSends checks that the member sends up to some moment and never after it, and that its
// messages stay.
func TestRemovalOfAMemberRacesItsSends(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		channel := a.channel(t, "talk", "alice", "bob")
		var accepted collected[string]
		var removed atomic.Bool
		calls := repeated(racing, func(int) {
			sender := a.as("bob")
			for {
				late := removed.Load()
				message, err := sender.Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
					ChannelId: channel.GetId(), Payload: payload("hello"),
				})
				if err != nil {
					assert.Equal(t, "NOT_A_MEMBER", harness.Reason(err))
					return
				}
				assert.False(t, late, "a message was accepted after the removal was answered")
				accepted.add(message.GetId())
			}
		})
		atOnce(append(calls, func() {
			_, err := a.as("alice").Channels.RemoveChannelMember(t.Context(), &openintentv1.RemoveChannelMemberRequest{
				ChannelId: channel.GetId(), AgentId: "bob",
			})
			assert.NoError(t, err)
			removed.Store(true)
		})...)
		require.ElementsMatch(t, accepted.all, idsOf(allMessages(t, a.as("alice"), channel.GetId()), (*openintentv1.Message).GetId))
	})
}

// TestRepeatsOfOneKeyRace checks that repeats make one message and that all callers get the same answer.
func TestRepeatsOfOneKeyRace(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		channel := a.channel(t, "talk")
		var answers collected[*openintentv1.Message]
		atOnce(repeated(racing, func(int) {
			message, err := a.as("bob").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: channel.GetId(), Payload: payload("hello"), IdempotencyKey: proto.String("once"),
			})
			assert.NoError(t, err)
			answers.add(message)
		})...)
		for _, message := range answers.all {
			require.True(t, proto.Equal(answers.all[0], message))
		}
		require.Len(t, allMessages(t, a.as("carol"), channel.GetId()), 1)
	})
}

// TestAnswersRaceDeadlines checks that the asker gets an answer exactly when the answerer was told that it is stored.
func TestAnswersRaceDeadlines(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		channel := a.channel(t, "talk")
		// The operator sees a question even after its time is over.
		questions, err := a.servers[0].Operator().Messages.Subscribe(t.Context(), &openintentv1.SubscribeRequest{
			Scope: &openintentv1.SubscribeRequest_ChannelId{ChannelId: channel.GetId()},
		})
		require.NoError(t, err)
		_, err = questions.Header()
		require.NoError(t, err)
		for milliseconds := range 8 {
			var answer, reply *openintentv1.Message
			var asked, replied error
			atOnce(func() {
				answer, asked = a.as("alice").Messages.Ask(t.Context(), &openintentv1.AskRequest{
					ChannelId: channel.GetId(), To: "bob", Payload: payload("?"),
					TimeoutSeconds: proto.Float64(float64(milliseconds+1) / 1000),
				})
			}, func() {
				var question *openintentv1.Message
				for question.GetMessageType() != openintentv1.MessageType_MESSAGE_TYPE_REQUEST {
					delivery, err := questions.Recv()
					if !assert.NoError(t, err) {
						return
					}
					question = delivery.GetMessage()
				}
				reply, replied = a.as("bob").Messages.ReplyMessage(t.Context(), &openintentv1.ReplyMessageRequest{
					ChannelId: channel.GetId(), MessageId: question.GetId(), Payload: payload("!"),
				})
			})
			if replied == nil {
				require.NoError(t, asked, "the answer was stored in time")
				require.Equal(t, reply.GetId(), answer.GetId())
			} else {
				require.Equal(t, "MESSAGE_EXPIRED", harness.Reason(replied))
				require.Equal(t, "MESSAGE_TIMEOUT", harness.Reason(asked))
			}
		}
	})
}

// TestEndOfAnIntentRacesSends checks that every accepted message lies before the intent's end, which closes every
// channel.
func TestEndOfAnIntentRacesSends(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		var accepted collected[*openintentv1.Message]
		var ended *openintentv1.Intent
		calls := repeated(racing, func(number int) {
			sender := a.as("bob")
			for round := 0; ; round++ {
				message, err := sender.Messages.SendMessageByName(t.Context(), &openintentv1.SendMessageByNameRequest{
					IntentId: a.intent.GetId(), Name: fmt.Sprint("talk ", (number+round)%3), Payload: payload("hello"),
				})
				if err != nil {
					assert.Equal(t, "INTENT_ENDED", harness.Reason(err))
					return
				}
				accepted.add(message)
			}
		})
		atOnce(append(calls, func() {
			var err error
			ended, err = a.as("alice").Intents.SetIntentStatus(t.Context(), &openintentv1.SetIntentStatusRequest{
				IntentId: a.intent.GetId(), ExpectedVersion: &a.intent.Version,
				Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED,
			})
			assert.NoError(t, err)
		})...)
		for _, message := range accepted.all {
			require.True(t, message.GetCreatedAt().AsTime().Before(ended.GetUpdatedAt().AsTime()))
		}
		channels, err := a.as("carol").Channels.ListChannels(t.Context(), &openintentv1.ListChannelsRequest{IntentId: a.intent.GetId()})
		require.NoError(t, err)
		count := int64(0)
		for _, channel := range channels.GetChannels() {
			require.Equal(t, openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED, channel.GetStatus())
			count += channel.GetMessageCount()
		}
		require.EqualValues(t, len(accepted.all), count)
	})
}

// TestDepartureRacesRequests checks that a request to the agent expires if it was accepted before the departure was
// requested, and stays open if it was sent after the departure was answered. No request is lost.
func TestDepartureRacesRequests(t *testing.T) {
	eachArena(t, func(t *testing.T, a *arena) {
		channel := a.channel(t, "talk")
		agent := fmt.Sprintf("bob of %s", channel.GetId())
		_, err := a.as(agent).Agents.RegisterAgent(t.Context(), &openintentv1.RegisterAgentRequest{})
		require.NoError(t, err)
		ask := func() *openintentv1.Message {
			message, err := a.as("alice").Messages.SendMessage(t.Context(), &openintentv1.SendMessageRequest{
				ChannelId: channel.GetId(), To: &agent, Payload: payload("?"),
				MessageType: openintentv1.MessageType_MESSAGE_TYPE_REQUEST.Enum(),
			})
			assert.NoError(t, err)
			return message
		}
		before := ask()
		calls := repeated(racing, func(int) { ask() })
		atOnce(append(calls, func() {
			_, err := a.as(agent).Agents.DeregisterAgent(t.Context(), &openintentv1.DeregisterAgentRequest{AgentId: agent})
			assert.NoError(t, err)
		})...)
		after := ask()

		statuses := make(map[string]openintentv1.MessageStatus)
		told, last := 0, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED
		for _, message := range allMessages(t, a.servers[0].Operator(), channel.GetId()) {
			if message.GetSender() == "system" {
				told++
				continue
			}
			statuses[message.GetId()] = message.GetStatus()
			require.LessOrEqual(t, message.GetStatus(), last, "the expired requests come first")
			last = message.GetStatus()
		}
		require.Equal(t, 1, told, "the channel gets one announcement")
		require.Len(t, statuses, racing+2)
		require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_EXPIRED, statuses[before.GetId()])
		require.Equal(t, openintentv1.MessageStatus_MESSAGE_STATUS_DELIVERED, statuses[after.GetId()])
	})
}
