package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"
	"pgregory.net/rapid"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database/databasetest"
)

// brakeOver is enough time for every brake to end.
const brakeOver = 11 * time.Minute

// withBudget opens a channel with a turn budget for everyone on a new intent.
func (h *house) withBudget(t require.TestingT, budget int64) string {
	return h.create(t, &createRequest{Options: &optionsInput{TurnBudget: &budget}})
}

// tells sends a notify to one agent, under a parent unless that is nil.
func (h *house) tells(t require.TestingT, agent, channelID, to string, parent *wireMessage) *wireMessage {
	req := &sendRequest{ChannelId: channelID, To: &to, Payload: content("go on")}
	if parent != nil {
		req.ParentId = ptr(parent.GetId())
	}
	return h.send(t, agent, req)
}

// braked reports whether a message is braked for the agent to which it is sent.
func (h *house) braked(t require.TestingT, m *wireMessage) bool {
	reason, _ := h.asksOf(as(m.GetTo()), t, m, m.GetTo())
	return reason == "loop_brake"
}

// exchange lets two agents tell each other something, in turns, and returns how many of the messages were not braked.
func (h *house) exchange(t require.TestingT, channelID, one, other string, parent *wireMessage, count int) (free int) {
	for i := range count {
		from, to := one, other
		if i%2 == 1 {
			from, to = other, one
		}
		if !h.braked(t, h.tells(t, from, channelID, to, parent)) {
			free++
		}
	}
	return free
}

func TestTwoAgentsAloneAreBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 4)
		require.Equal(t, 4, h.exchange(t, id, "alice", "bob", nil, 7))
		braked := h.tells(t, "alice", id, "bob", nil)
		require.True(t, h.braked(t, braked))
		page := h.attends(t, "bob")
		for _, item := range page.GetItems() {
			if item.GetMessage().GetId() == braked.GetId() {
				require.Equal(t, mustNotRespond, item.GetAttention().GetPolicy())
				require.Equal(t, openintentv1.Injection_INJECTION_TOOL_MAILBOX, item.GetAttention().GetInjection())
			}
		}
		require.False(t, h.braked(t, h.tells(t, "bob", id, "carol", nil)), "what is for somebody else is no part of it")
		require.True(t, h.braked(t, h.tells(t, "bob", id, "alice", nil)), "and ends nothing")

		h.say(t, "carol", id, "stop it")
		require.Equal(t, 5, h.exchange(t, id, "alice", "bob", nil, 7), "somebody else wrote, and alice's first message followed on that")
		require.True(t, h.braked(t, braked), "a message keeps its judgement")

		h.clock.Advance(brakeOver)
		require.Equal(t, 4, h.exchange(t, id, "bob", "alice", nil, 5), "the brake lasts 10 minutes")
		require.Equal(t, 2, h.exchange(t, h.withBudget(t, 2), "alice", "bob", nil, 3))
	})
}

func TestSlowExchangesAreNotBraked(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 3)
		for range 4 {
			require.Equal(t, 3, h.exchange(t, id, "alice", "bob", nil, 3))
			h.clock.Advance(brakeOver)
		}
		for range 8 {
			require.False(t, h.braked(t, h.tells(t, "alice", id, "bob", nil)), "one agent alone exchanges nothing")
		}
	})
}

func TestThreadsHaveBrakesOfTheirOwn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 4)
		root := h.tells(t, "alice", id, "bob", nil)
		require.Equal(t, 3, h.exchange(t, id, "bob", "alice", root, 5), "the first message counts")
		require.Equal(t, 3, h.exchange(t, id, "bob", "alice", nil, 5), "the channel has it too, and nothing else of the thread")

		question := h.asks(t, "alice", id, "bob")
		answer := h.reply(t, "bob", id, question.GetId(), "yes")
		require.False(t, h.braked(t, answer), "a request and its answer are a pair")
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", answer, 4), "both count below the answer")
	})
}

func TestRequestsAndTheirAnswersAreNoLoop(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		for range 6 {
			question := h.asks(t, "alice", id, "bob")
			require.False(t, h.braked(t, question))
			require.False(t, h.braked(t, h.reply(t, "bob", id, question.GetId(), "yes")))
		}
	})
}

func TestABudgetOfZeroSwitchesTheBrakeOff(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 0)
		require.Equal(t, 30, h.exchange(t, id, "alice", "bob", nil, 30))
		_, err := h.channels.UpdateChannel(as("creator"), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: id, Options: &optionsInput{}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.turn_budget"}},
		})
		require.NoError(t, err)
		require.EqualValues(t, 20, h.channel(t, id).GetOptions().GetTurnBudget())
		require.Equal(t, 20, h.exchange(t, id, "alice", "bob", nil, 22), "the counting begins with the budget")
	})
}

func TestTheOperatorEndsABrake(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", nil, 3))
		_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id})
		require.NoError(t, err)
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", nil, 3))
	})
}

// A person is never braked, and its word begins the dialogue of two agents anew.
func TestAPersonEndsABrake(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		says := func(agent, to string) *wireMessage {
			m, err := h.messaging.SendMessage(asHuman(agent, false), &sendRequest{ChannelId: id, To: &to, Payload: content("go on")})
			require.NoError(t, err)
			return m
		}
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", nil, 3))
		require.False(t, h.braked(t, says("kim", "bob")))
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", nil, 3))
		require.False(t, h.braked(t, says("alice", "bob")), "also a person with the name of one of the two")
		require.Equal(t, 2, h.exchange(t, id, "alice", "bob", nil, 3))
	})
}

func TestTheCoordinatorIsToldOfABrakeOnce(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		intentID := h.channel(t, id).GetIntentId()
		h.exchange(t, id, "alice", "bob", nil, 5)
		require.Empty(t, h.system(t, intentID), "without a coordinator nobody is told")
		_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
			IntentId: &intentID, AgentId: ptr("carol"),
		})
		require.NoError(t, err)
		h.exchange(t, id, "alice", "bob", nil, 3)
		require.Empty(t, h.system(t, intentID), "the brake was on already")

		for brakes := 1; brakes <= 3; brakes++ {
			h.clock.Advance(brakeOver)
			h.exchange(t, id, "alice", "bob", nil, 5)
			told := h.list(t, "carol", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()})
			require.Len(t, told, brakes)
			words := told[brakes-1].GetPayload().AsMap()
			require.Equal(t, "loop_brake", told[brakes-1].GetKind())
			require.Equal(t, "loop_brake", words["event"])
			require.Equal(t, id, words["channel_id"])
			require.Equal(t, []any{"alice", "bob"}, words["agents"])
			require.EqualValues(t, 2, words["turn_budget"])
		}
		require.Empty(t, h.list(t, "alice", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()}))
	})
}

// Agents that put on one brake after the other do not fill the coordinator's inbox.
func TestTheCoordinatorIsToldOfSoManyBrakesAnHour(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		intentID := h.channel(t, id).GetIntentId()
		_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &intentID, AgentId: ptr("carol")})
		require.NoError(t, err)
		brake := func() {
			root := h.tells(t, "alice", id, "bob", nil)
			require.Equal(t, 1, h.exchange(t, id, "bob", "alice", root, 2))
		}
		told := func() int { return len(h.list(t, "carol", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()})) }
		for range 22 {
			brake()
		}
		require.Equal(t, 20, told())
		h.clock.Advance(time.Hour + time.Second)
		brake()
		require.Equal(t, 21, told())
	})
}

func TestAnEditAndADeletionKeepTheBrake(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withBudget(t, 2)
		h.exchange(t, id, "alice", "bob", nil, 2)
		m := h.tells(t, "alice", id, "bob", nil)
		_, err := h.messaging.UpdateMessage(as("alice"), &openintentv1.UpdateMessageRequest{
			ChannelId: id, MessageId: m.GetId(), Payload: content("go on, please"),
		})
		require.NoError(t, err)
		require.True(t, h.braked(t, m))
		require.Nil(t, m.Subject)
		require.Empty(t, m.GetMentions(), "a message does not show that it is braked")
	})
}

// Nothing that must be answered because of an obligation is braked, whatever two or three agents say to each other.
func TestObligationsAreNeverBraked(t *testing.T) {
	databasetest.SearchBriefly(t)
	eachEngine(t, func(t *testing.T, h *house) {
		braked := 0
		rapid.Check(t, func(t *rapid.T) {
			id := h.withBudget(t, 2)
			agents := []string{"alice", "bob", "carol"}[:rapid.IntRange(2, 3).Draw(t, "agents")]
			root := h.say(t, "alice", id, "let us begin")
			for range rapid.IntRange(6, 16).Draw(t, "messages") {
				from := rapid.SampledFrom(agents).Draw(t, "from")
				to := agents[0]
				if from == to {
					to = agents[1]
				}
				if rapid.IntRange(0, 2).Draw(t, "obliges") > 0 {
					if h.braked(t, h.tells(t, from, id, to, root)) {
						braked++
					}
					continue
				}
				m := h.send(t, from, &sendRequest{
					ChannelId: id, To: &to, MessageType: ptr(request), ParentId: ptr(root.GetId()), Obligation: &openintentv1.Obligation{},
				})
				reason, _ := h.asksOf(as(to), t, m, to)
				require.Equal(t, "obligation", reason)
			}
		})
		require.Positive(t, braked, "there were brakes")
	})
}
