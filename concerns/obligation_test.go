package concerns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// steps lets an obligation make so many steps.
func (h *house) steps(t *testing.T, count int) {
	t.Helper()
	for range count {
		h.clock.Advance(10*time.Minute + time.Second)
		require.NoError(t, h.deeds.SweepObligations(context.Background()))
	}
}

func (h *house) coordinate(t *testing.T, agent string) {
	t.Helper()
	_, err := h.intents.CreateCoordinator(as("alice"), &openintentv1.CreateCoordinatorRequest{
		IntentId: &h.intent, AgentId: &agent, HeartbeatIntervalSeconds: pointer(int32(1_000_000)),
	})
	require.NoError(t, err)
}

func TestWhatIsOwedOnceTheWaitHasEnded(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		owed := h.ask(t, "alice", "bob", time.Minute, obliging(""))
		h.only(t, as("bob"), isQuestion)
		h.none(t, as("bob"), isObligation)
		h.clock.Advance(time.Minute)
		for range 2 {
			h.none(t, as("bob"), isQuestion)
			one := h.only(t, as("bob"), isObligation)
			require.Equal(t, owed.GetCreatedAt().AsTime(), one.GetSince().AsTime())
			require.Equal(t, []string{h.intent, h.channel, owed.GetId(), "alice"},
				[]string{one.GetIntentId(), one.GetChannelId(), one.GetMessageId(), one.GetAgentId()})
			require.Equal(t, []string{"ANSWER"}, words(one), "whoever owes it does not discharge it")
			require.Equal(t, `You owe alice what it asked on channel "desk", though the time to answer is over.`, one.GetSummary())
			for _, other := range []string{"alice", "carol"} {
				h.none(t, as(other), isObligation)
			}
			h.none(t, asOperator(), isObligation)
			h.expire(t)
		}
		_, err := h.deeds.DischargeObligation(as("alice"), &openintentv1.DischargeObligationRequest{ChannelId: h.channel, MessageId: owed.GetId()})
		require.NoError(t, err)
		h.none(t, as("bob"), isObligation)
	})
}

func TestWhoeverHasAnsweredOwesNothingMore(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		for _, to := range []string{"bob", "role:worker"} {
			owed := h.ask(t, "alice", to, time.Minute, obliging(""))
			h.reply(t, "bob", owed)
		}
		h.clock.Advance(time.Minute)
		h.none(t, as("bob"), isObligation)
	})
}

func TestADelegateThatOwesMayDischarge(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		h.ask(t, "alice", "role:worker", time.Minute, obliging("bob"))
		h.clock.Advance(time.Minute)
		require.Equal(t, []string{"ANSWER", "DISCHARGE"}, words(h.only(t, as("bob"), isObligation)))
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "bob", ReadOnly: true}), isObligation)))
	})
}

// On a closed channel nobody answers; what is owed stays a concern.
func TestWhatIsOwedOnAClosedChannelIsNotAnswered(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.ask(t, "alice", "bob", time.Minute, obliging(""))
		h.clock.Advance(time.Minute)
		_, err := h.channels.UpdateChannel(as("alice"), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: h.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
		})
		require.NoError(t, err)
		require.Empty(t, words(h.only(t, as("bob"), isObligation)))
	})
}

// An obligation is a concern of the coordinator, and later of the operator, from the moment when the server has told them of it.
func TestWhoWasToldOfAnObligation(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		private := h.private(t, "alice", "bob", "dora")
		owed := h.ask(t, "alice", "bob", 0, on(private), obliging("dora"))
		h.steps(t, 3)
		h.none(t, as("carla"), isObligation)
		h.steps(t, 1)
		one := h.only(t, as("carla"), isObligation)
		require.Equal(t, owed.GetCreatedAt().AsTime(), one.GetSince().AsTime())
		require.Equal(t, []string{h.intent, private, owed.GetId(), "bob"},
			[]string{one.GetIntentId(), one.GetChannelId(), one.GetMessageId(), one.GetAgentId()}, "as the message to it says")
		require.Equal(t, `bob owes alice what it asked on channel "private", whose work is halted meanwhile.`, one.GetSummary())
		require.Empty(t, words(one))
		h.none(t, asOperator(), isObligation)
		h.none(t, as("dora"), isObligation)
		h.steps(t, 1)
		told := h.only(t, asOperator(), isObligation)
		require.Equal(t, one.GetId(), told.GetId())
		require.Equal(t, []string{"DISCHARGE"}, words(told))
		h.only(t, as("carla"), isObligation)
		for _, form := range []*listed{{IntentId: &h.intent}, {IntentId: pointer(h.newIntent(t, "alice"))}, {IntentId: pointer("nowhere")}} {
			require.Equal(t, form.GetIntentId() == h.intent, len(h.all(t, asOperator(), form, 100)) > 0)
			require.Equal(t, form.GetIntentId() == h.intent, len(h.all(t, as("carla"), form, 100)) > 0)
		}
		h.clock.Advance(30 * 24 * time.Hour)
		h.only(t, as("carla"), isObligation) // though it is silent
		_, err := h.deeds.DischargeObligation(asOperator(), &openintentv1.DischargeObligationRequest{ChannelId: private, MessageId: owed.GetId()})
		require.NoError(t, err)
		h.none(t, as("carla"), isObligation)
		h.none(t, asOperator(), isObligation)
	})
}

// A coordinator that owes something itself has it once.
func TestACoordinatorThatOwesIsToldOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.coordinate(t, "carla")
		h.ask(t, "alice", "carla", time.Minute, obliging(""))
		h.steps(t, 4)
		require.Equal(t, []string{"ANSWER"}, words(h.only(t, as("carla"), isObligation)))
	})
}
