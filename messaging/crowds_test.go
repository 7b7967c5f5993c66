package messaging

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// withConversationBudget opens a channel with a conversation budget for everyone on a new intent.
func (h *house) withConversationBudget(t require.TestingT, budget int64) string {
	return h.create(t, &createRequest{Options: &optionsInput{ConversationBudget: &budget, TurnBudget: ptr(int64(0))}})
}

// tryAsk sends a request, under a parent unless that is nil.
func (h *house) tryAsk(ctx context.Context, channelID, to string, parent *wireMessage) (*wireMessage, error) {
	req := &sendRequest{ChannelId: channelID, To: &to, MessageType: ptr(request), Payload: content("do it")}
	if parent != nil {
		req.ParentId = ptr(parent.GetId())
	}
	return h.messaging.SendMessage(ctx, req)
}

// ring lets agents ask each other in a ring, so many times, and returns how many requests were stored before one was refused.
func ring(t require.TestingT, channelID string, parent *wireMessage, times int, agents []string, houses ...*house) (stored int, refusal error) {
	for i := range times {
		h := houses[i%len(houses)]
		_, err := h.tryAsk(as(agents[i%len(agents)]), channelID, agents[(i+1)%len(agents)], parent)
		if err != nil {
			faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
			return stored, err
		}
		stored++
	}
	return stored, nil
}

// untilBraked lets four agents ask each other in a ring until one is braked.
func untilBraked(t require.TestingT, channelID string, parent *wireMessage, houses ...*house) {
	_, err := ring(t, channelID, parent, 30, four, houses...)
	require.Error(t, err)
}

var four = []string{"ann", "ben", "cem", "dia"}

func TestARingOfAgentsIsBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 10)
		stored, err := ring(t, id, nil, 30, four, h)
		require.Equal(t, 11, stored, "the first one answers nobody")
		braked := fault.From(err)
		require.Equal(t, "10", braked.Metadata["conversation_budget"])
		until, err := time.Parse(time.RFC3339Nano, braked.Metadata["until"])
		require.NoError(t, err)
		require.InDelta(t, 10*time.Minute, braked.RetryAfter, float64(time.Minute))
		require.Equal(t, until.Sub(h.db.Now()).Round(time.Second), braked.RetryAfter.Round(time.Second))

		root := h.say(t, "ann", id, "a thread")
		stored, _ = ring(t, id, root, 30, four, h)
		require.Equal(t, 11, stored, "a thread is a place of its own")
		other := h.withConversationBudget(t, 10)
		stored, _ = ring(t, other, nil, 30, four, h)
		require.Equal(t, 11, stored, "and so is another channel")

		h.clock.Advance(brakeOver)
		stored, _ = ring(t, id, nil, 30, four, h)
		require.Equal(t, 11, stored, "the brake ends")
	})
}

// Where nobody has set a budget, it is 60 in a thread and 200 outside. It is not shown, and 0 switches the brake off.
func TestTheUsualConversationBudgets(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{TurnBudget: ptr(int64(0))}})
		require.Nil(t, h.channel(t, id).GetOptions().ConversationBudget)
		stored, _ := ring(t, id, nil, 250, four, h)
		require.Equal(t, 201, stored)
		root := h.say(t, "ann", id, "a thread")
		stored, _ = ring(t, id, root, 250, four, h)
		require.Equal(t, 61, stored)
		set := func(budget *int64) {
			_, err := h.channels.UpdateChannel(as("creator"), &openintentv1.UpdateChannelRequest{
				Channel:    &openintentv1.Channel{Id: id, Options: &optionsInput{ConversationBudget: budget}},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.conversation_budget"}},
			})
			require.NoError(t, err)
			require.Equal(t, budget, h.channel(t, id).GetOptions().ConversationBudget)
		}
		set(ptr(int64(0)))
		stored, _ = ring(t, id, root, 100, four, h)
		require.Equal(t, 100, stored)
		set(nil)
		_, err := h.tryAsk(as("ben"), id, "cem", root)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
	})
}

// A thread's first message belongs to the thread.
func TestAThreadsFirstMessageSetsToWork(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		root := h.send(t, "ann", &sendRequest{ChannelId: id, MessageType: ptr(broadcast), Payload: content("who does it?")})
		for _, agent := range []string{"ben", "cem"} {
			_, err := h.tryAsk(as(agent), id, "dia", root)
			require.NoError(t, err)
		}
		_, err := h.tryAsk(as("eli"), id, "dia", root)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		quiet := h.say(t, "ann", id, "a notify sets nobody to work")
		for _, agent := range []string{"ben", "cem", "eli"} {
			_, err := h.tryAsk(as(agent), id, "dia", quiet)
			require.NoError(t, err)
		}
	})
}

// None of these ever counts, however many they are.
func TestWhatIsNeverBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		stored, _ := ring(t, id, nil, 10, four, h)
		require.Equal(t, 3, stored)
		for i := range 20 {
			from, to := four[i%4], four[(i+1)%4]
			h.send(t, from, &sendRequest{ChannelId: id, To: &to, Payload: content("a notify")})
			h.send(t, from, &sendRequest{
				ChannelId: id, To: &to, MessageType: ptr(request), Payload: content("one that collects"), Collect: structpb.NewStringValue("any"),
			})
			owed := h.send(t, from, &sendRequest{
				ChannelId: id, To: &to, MessageType: ptr(request), Payload: content("an obligation"), Obligation: &openintentv1.Obligation{},
			})
			h.reply(t, to, id, owed.GetId(), "a response")
			_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, MessageType: ptr(broadcast)})
			require.NoError(t, err)
		}
		_, err := h.tryAsk(as("ann"), id, "ben", nil)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
	})
}

func TestAThousandNotifiesAreNeverBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		h.sendMany(t, id, "ann", "", 500)
		h.sendMany(t, id, "ben", "ann", 500)
		require.EqualValues(t, 1000, h.channel(t, id).GetMessageCount())
	})
}

// Many agents that ask one are many callers of a service.
func TestManyWhoAskOneAreNeverBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		var all sync.WaitGroup
		var refused atomic.Pointer[error]
		for agent := range 64 {
			all.Go(func() {
				for i := agent; i < 1000; i += 64 {
					m, err := h.tryAsk(as(fmt.Sprint("agent-", agent)), id, "oracle", nil)
					if err == nil && i%10 == 0 {
						_, err = h.tryReply(as("oracle"), id, m.GetId(), "yes")
					}
					if err != nil {
						refused.Store(&err)
						return
					}
				}
			})
		}
		all.Wait()
		require.Nil(t, refused.Load())
	})
}

func TestAPersonsWordLetsAgentsGoOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 3)
		root := h.say(t, "ann", id, "a thread")
		for _, place := range []*wireMessage{nil, root} {
			stored, _ := ring(t, id, place, 10, four, h)
			require.Equal(t, 4, stored)
		}
		_, err := h.tryAsk(as("eve"), id, "kim", nil)
		require.NoError(t, err)
		_, err = h.tryAsk(asHuman("kim", false), id, "ann", nil)
		require.NoError(t, err, "a person is not braked, although an agent has asked it")
		stored, _ := ring(t, id, nil, 10, four, h)
		require.Equal(t, 4, stored, "any message of a person there does")
		stored, _ = ring(t, id, root, 10, four, h)
		require.Zero(t, stored, "elsewhere it does not")
		_, err = h.messaging.SendMessage(asHuman("kim", true), under(id, root.GetId(), "its model says go on"))
		require.NoError(t, err)
		stored, _ = ring(t, id, root, 10, four, h)
		require.Zero(t, stored, "a person's model is no person")
		_, err = h.messaging.SendMessage(asHuman("kim", false), under(id, root.GetId(), "go on"))
		require.NoError(t, err)
		stored, _ = ring(t, id, root, 10, four, h)
		require.Equal(t, 4, stored)

		for range 10 {
			_, err = h.tryAsk(asHuman("kim", false), id, "ann", nil)
			require.NoError(t, err, "a person is never braked")
			_, err = h.tryAsk(as("ann"), id, "kim", nil)
			require.NoError(t, err, "and who answers a person answers no agent")
		}
	})
}

// A repeat under an idempotency key gets its first answer, although others are braked.
func TestABrakeRefusesNoRepeat(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		send := func(key string) (*wireMessage, error) {
			return h.messaging.SendMessage(as("ben"), &sendRequest{
				ChannelId: id, To: ptr("ann"), MessageType: ptr(request), Payload: content("do it"), IdempotencyKey: &key,
			})
		}
		_, err := h.tryAsk(as("ann"), id, "ben", nil)
		require.NoError(t, err)
		first, err := send("k")
		require.NoError(t, err)
		untilBraked(t, id, nil, h)
		again, err := send("k")
		require.NoError(t, err)
		require.True(t, proto.Equal(first, again))
		_, err = h.tryAsk(as("ben"), id, "cem", nil)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		_, err = send("another")
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		h.clock.Advance(brakeOver)
		_, err = send("another")
		require.NoError(t, err, "a refusal is not remembered")
	})
}

func TestTheCoordinatorIsToldOnceOfABrakedConversation(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		intentID := h.channel(t, id).GetIntentId()
		_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &intentID, AgentId: ptr("carol")})
		require.NoError(t, err)
		root := h.say(t, "ann", id, "a thread")
		for brakes := 1; brakes <= 3; brakes++ {
			_, refusal := ring(t, id, root, 10, four, h)
			for range 3 {
				_, err := h.tryAsk(as("dia"), id, "ann", root)
				faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
			}
			told := h.list(t, "carol", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()})
			require.Len(t, told, brakes)
			words := told[brakes-1].GetPayload().AsMap()
			require.Equal(t, "conversation_brake", told[brakes-1].GetKind())
			require.Equal(t, map[string]any{
				"event": "conversation_brake", "channel_id": id, "thread_id": root.GetId(), "agent": "dia", "conversation_budget": 2.0,
				"until": fault.From(refusal).Metadata["until"],
			}, words)
			h.clock.Advance(brakeOver)
		}
		require.Empty(t, h.list(t, "ann", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()}))
	})
}

// What a failed commit has counted does not count.
func TestAFailedCommitCountsNothingOfAConversation(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.withConversationBudget(t, 2)
		stored, _ := ring(t, id, nil, 2, four, h)
		require.Equal(t, 2, stored)
		f.set(failing, nil)
		_, err := h.tryAsk(as("cem"), id, "eve", nil)
		require.Error(t, err)
		f.set(nil, nil)
		_, err = h.tryAsk(as("eve"), id, "ann", nil)
		require.NoError(t, err, "nobody has set eve to work, so this does not count")
		_, err = h.tryAsk(as("cem"), id, "dia", nil)
		require.NoError(t, err, "the second one that counts")
		_, err = h.tryAsk(as("dia"), id, "ann", nil)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
	})
}

// A notify asks nothing of the database because of brakes, and neither does a further request in a place that is known.
func TestBrakesCostNoFurtherStatements(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			var statements atomic.Int64
			h := newHouse(t, engine, withHooks(database.Hooks{Statement: func(context.Context, string) func() { statements.Add(1); return nil }}))
			cost := func(id string, kind openintentv1.MessageType) int64 {
				before := int64(0)
				for range 4 { // the first ones learn
					before = statements.Load()
					h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("ben"), MessageType: ptr(kind)})
				}
				return statements.Load() - before
			}
			without, with := h.withConversationBudget(t, 0), h.withConversationBudget(t, 100)
			for _, kind := range []openintentv1.MessageType{notify, request} {
				require.Equal(t, cost(without, kind), cost(with, kind), kind)
			}
			fresh := func(budget int64, kind openintentv1.MessageType) int64 {
				id := h.withConversationBudget(t, budget)
				before := statements.Load()
				h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("ben"), MessageType: ptr(kind)})
				return statements.Load() - before
			}
			fresh(0, notify)
			require.Equal(t, fresh(0, notify), fresh(100, notify), "the first notify of a channel")
			require.Greater(t, fresh(100, request), fresh(0, request), "the first request reads what counts")
		})
	}
}
