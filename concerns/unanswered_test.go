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

func TestPatience(t *testing.T) {
	for _, row := range []struct {
		wait    time.Duration
		ends    bool
		patient time.Duration
	}{
		{0, false, 10 * time.Minute},
		{time.Second, true, time.Minute},
		{2 * time.Minute, true, time.Minute},
		{3 * time.Minute, true, 90 * time.Second},
		{24 * time.Hour, true, 12 * time.Hour},
	} {
		require.Equal(t, row.patient, patienceFor(row.wait, row.ends), "%+v", row)
	}
}

func TestARequestThatNobodyTakesUp(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.ask(t, "alice", "bob", 10*time.Minute)
		h.clock.Advance(5*time.Minute - 2*time.Millisecond)
		h.none(t, as("alice"), isUnanswered)
		h.clock.Advance(2 * time.Millisecond)
		one := h.only(t, as("alice"), isUnanswered)
		require.Equal(t, asked.GetCreatedAt().AsTime(), one.GetSince().AsTime())
		require.Equal(t, []string{h.intent, h.channel, asked.GetId(), "bob"},
			[]string{one.GetIntentId(), one.GetChannelId(), one.GetMessageId(), one.GetAgentId()})
		require.Equal(t, []string{"WITHDRAW"}, words(one))
		require.Contains(t, one.GetSummary(), `bob has not taken up the request of alice on channel "desk" until `)
		require.Equal(t, one.GetId(), h.only(t, asOperator(), isUnanswered).GetId())
		for _, other := range []string{"bob", "carol"} {
			h.none(t, as(other), isUnanswered)
		}

		h.clock.Advance(5 * time.Minute)
		over := h.only(t, as("alice"), isUnanswered)
		require.Contains(t, over.GetSummary(), "bob has not answered the request of alice")
		h.expire(t)
		over = h.only(t, as("alice"), isUnanswered)
		require.Contains(t, over.GetSummary(), "bob has not answered the request of alice")
		require.Equal(t, []any{one.GetId(), one.GetSince().AsTime()}, []any{over.GetId(), over.GetSince().AsTime()})
		require.Len(t, h.of(t, asOperator(), isUnanswered), 1)
		h.clock.Advance(time.Hour - 2*time.Millisecond)
		h.only(t, as("alice"), isUnanswered)
		h.clock.Advance(2 * time.Millisecond)
		h.none(t, as("alice"), isUnanswered)
		h.none(t, asOperator(), isUnanswered)
	})
}

func TestWhatTakesARequestUp(t *testing.T) {
	for name, take := range map[string]func(t *testing.T, h *house, asked *sent){
		"an answer":  func(t *testing.T, h *house, asked *sent) { h.reply(t, "bob", asked) },
		"a reaction": func(t *testing.T, h *house, asked *sent) { h.react(t, "bob", asked, "seen") },
		"a no":       func(t *testing.T, h *house, asked *sent) { h.react(t, "bob", asked, "declined") },
		"a word":     func(t *testing.T, h *house, asked *sent) { h.dispose(t, "bob", asked, "deferred", 0) },
		"its withdrawal": func(t *testing.T, h *house, asked *sent) {
			_, err := h.talk.DeleteMessage(as("alice"), &openintentv1.DeleteMessageRequest{ChannelId: h.channel, MessageId: asked.GetId()})
			require.NoError(t, err)
		},
		"the channel's end": func(t *testing.T, h *house, _ *sent) {
			_, err := h.channels.UpdateChannel(as("alice"), &openintentv1.UpdateChannelRequest{
				Channel:    &openintentv1.Channel{Id: h.channel, Status: openintentv1.ChannelStatus_CHANNEL_STATUS_CLOSED},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"status"}},
			})
			require.NoError(t, err)
		},
		"that its recipient leaves": func(t *testing.T, h *house, _ *sent) {
			_, err := h.agents.DeregisterAgent(as("bob"), &openintentv1.DeregisterAgentRequest{AgentId: "bob"})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				h.register(t, "bob", "")
				asked := h.ask(t, "alice", "bob", 20*time.Minute)
				h.clock.Advance(11 * time.Minute)
				h.only(t, as("alice"), isUnanswered)
				take(t, h, asked)
				h.clock.Advance(time.Second)
				h.none(t, as("alice"), isUnanswered)
				h.none(t, asOperator(), isUnanswered)
				h.clock.Advance(10 * time.Minute) // the request's time is over
				h.expire(t)
				h.none(t, as("alice"), isUnanswered)
				h.none(t, asOperator(), isUnanswered)
			})
		})
	}
}

// The sender's own signal is none, and neither is one that was taken back, nor a claim that is over.
func TestWhatDoesNotTakeARequestUp(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.ask(t, "alice", "bob", 0)
		h.clock.Advance(11 * time.Minute)
		h.react(t, "alice", asked, "unclear")
		h.only(t, as("alice"), isUnanswered)
		h.react(t, "bob", asked, "seen")
		h.none(t, as("alice"), isUnanswered)
		_, err := h.deeds.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{ChannelId: h.channel, MessageId: asked.GetId(), Signal: "seen"})
		require.NoError(t, err)
		h.only(t, as("alice"), isUnanswered)
		h.claim(t, "bob", asked)
		h.none(t, as("alice"), isUnanswered)
		h.none(t, asOperator(), isUnanswered)
		h.clock.Advance(2 * time.Minute)
		h.only(t, as("alice"), isUnanswered)
		require.NoError(t, h.deeds.SweepClaims(context.Background()))
		h.only(t, as("alice"), isUnanswered)
	})
}

// An ask that waits for a moment is a concern only once it has timed out.
func TestAShortAskIsAConcernOnceItHasTimedOut(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.ask(t, "alice", "bob", 30*time.Second)
		h.clock.Advance(29 * time.Second)
		require.Empty(t, h.all(t, as("alice"), &listed{}, 100))
		h.clock.Advance(time.Second)
		h.expire(t)
		require.Equal(t, []string{"WITHDRAW"}, words(h.only(t, as("alice"), isUnanswered)))
		h.shut(t, h.channel)
		require.Empty(t, words(h.only(t, as("alice"), isUnanswered)), "on a closed channel nothing is deleted")
		_, err := h.intents.SetIntentStatus(as("alice"), &openintentv1.SetIntentStatusRequest{
			IntentId: h.intent, Status: openintentv1.IntentStatus_INTENT_STATUS_COMPLETED, ExpectedVersion: pointer(int64(1)),
		})
		require.NoError(t, err)
		h.none(t, as("alice"), isUnanswered)
	})
}

// A request that nobody can answer any more concerns nobody, also before the sweep has ended it.
func TestARequestOnAChannelThatLapsedIsForgotten(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "brief", Options: &openintentv1.ChannelOptions{TtlSeconds: pointer(int64(900))},
		})
		h.ask(t, "alice", "bob", 0, on(channel))
		h.clock.Advance(11 * time.Minute)
		h.only(t, as("alice"), isUnanswered)
		h.clock.Advance(4 * time.Minute)
		h.none(t, as("alice"), isUnanswered)
		h.none(t, asOperator(), isUnanswered)
	})
}

// A request that timed out concerns its asker only while somebody can still read it.
func TestARequestThatTimedOutAndWasEvictedIsForgotten(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "short", Options: &openintentv1.ChannelOptions{MaxMessages: pointer(int64(1))},
		})
		h.ask(t, "alice", "bob", 30*time.Second, on(channel))
		h.clock.Advance(30 * time.Second)
		h.expire(t)
		h.only(t, as("alice"), isUnanswered)
		_, err := h.talk.SendMessage(as("carol"), &sendForm{ChannelId: channel})
		require.NoError(t, err)
		h.none(t, as("alice"), isUnanswered)
		h.none(t, asOperator(), isUnanswered)
	})
}

// Of several answers, the first one shows that somebody has taken the request up.
func TestAQuorumThatHasBegunIsTakenUp(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		asked := h.ask(t, "alice", "role:worker", 0, takingTwo)
		h.clock.Advance(11 * time.Minute)
		one := h.only(t, as("alice"), isUnanswered)
		require.Equal(t, `Nobody of the role worker has taken up the request of alice on channel "desk".`, one.GetSummary())
		require.Nil(t, one.AgentId)
		h.replyWithClaim(t, "bob", asked)
		h.clock.Advance(10 * time.Minute)
		h.none(t, as("alice"), isUnanswered)
	})
}

// An administrator of an intent who may not see a request learns only that there is one, and since when.
func TestAnAdministratorLearnsNoMoreThanItMay(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.intents.AssignAgent(as("alice"), &openintentv1.AssignAgentRequest{IntentId: h.intent, AgentId: "dora"})
		require.NoError(t, err)
		asked := h.ask(t, "bob", "carol", 10*time.Minute, on(h.private(t, "bob", "carol")))
		for _, wait := range []time.Duration{6 * time.Minute, 5 * time.Minute} {
			h.clock.Advance(wait)
			one := h.only(t, as("dora"), isUnanswered)
			own := h.only(t, as("bob"), isUnanswered)
			require.Equal(t, own.GetId(), one.GetId())
			require.Equal(t, asked.GetCreatedAt().AsTime(), one.GetSince().AsTime())
			require.Equal(t, []string{h.intent, own.GetChannelId()}, []string{one.GetIntentId(), one.GetChannelId()})
			require.Nil(t, one.MessageId)
			require.Nil(t, one.AgentId)
			require.Empty(t, words(one))
			for _, secret := range []string{"bob", "carol", asked.GetId()} {
				require.NotContains(t, one.GetSummary(), secret)
				require.NotContains(t, one.GetId(), secret)
			}
			for _, named := range []string{"bob", "carol"} {
				require.Empty(t, h.all(t, as("dora"), &listed{AgentId: &named}, 100), "a filter by name finds nothing")
				require.Len(t, h.all(t, as("bob"), &listed{AgentId: &named, Kind: isUnanswered}, 100), 1)
			}
			h.expire(t)
		}
	})
}

func TestWhoWithdrawsARequest(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		_, err := h.intents.AssignAgent(as("alice"), &openintentv1.AssignAgentRequest{IntentId: h.intent, AgentId: "dora"})
		require.NoError(t, err)
		h.ask(t, "bob", "alice", 0) // alice manages the channel
		h.clock.Advance(11 * time.Minute)
		for name, who := range map[string]caller.Caller{
			"WITHDRAW of bob":   {Agent: "bob"},
			"WITHDRAW of alice": {Agent: "alice"},
			"of bob":            {Agent: "bob", ReadOnly: true},
			"of dora":           {Agent: "dora"},
		} {
			actions := words(h.only(t, asCaller(who), isUnanswered))
			require.Equal(t, len(name) > 10, len(actions) == 1, name)
		}
		require.Equal(t, []string{"WITHDRAW"}, words(h.only(t, asOperator(), isUnanswered)))

		audited := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{
			IntentId: h.intent, Name: "audited", Options: &openintentv1.ChannelOptions{Audit: pointer(true)},
		})
		h.ask(t, "alice", "bob", 0, on(audited))
		update := &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: audited, Options: &openintentv1.ChannelOptions{Audit: pointer(false)}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.audit"}},
		}
		for range 2 { // the log keeps its copy when nobody audits the channel any more
			h.clock.Advance(11 * time.Minute)
			found := h.of(t, as("alice"), isUnanswered)
			require.Len(t, found, 2)
			require.Empty(t, words(found[1]))
			_, err = h.channels.UpdateChannel(as("alice"), update)
			require.NoError(t, err)
		}
	})
}

// A request is not offered for withdrawal where the channel is audited, also if it was sent before that.
func TestNothingIsWithdrawnOnAnAuditedChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		channel := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{IntentId: h.intent, Name: "soon audited"})
		h.ask(t, "alice", "bob", 0, on(channel))
		h.clock.Advance(11 * time.Minute)
		require.Equal(t, []string{"WITHDRAW"}, words(h.only(t, as("alice"), isUnanswered)))
		_, err := h.channels.UpdateChannel(as("alice"), &openintentv1.UpdateChannelRequest{
			Channel:    &openintentv1.Channel{Id: channel, Options: &openintentv1.ChannelOptions{Audit: pointer(true)}},
			UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.audit"}},
		})
		require.NoError(t, err)
		require.Empty(t, words(h.only(t, as("alice"), isUnanswered)))
	})
}
