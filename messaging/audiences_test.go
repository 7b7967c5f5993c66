package messaging

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/intents"
	"openintent/internal/database"
	"openintent/messaging/reading"
)

// reaching gives the intents from which something may reach an agent.
func (h *house) reaching(t require.TestingT, agent, role string) (intentNos []int64) {
	require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) (err error) {
		intentNos, err = reading.ReachingIntents(tx, agent, role)
		return err
	}))
	return intentNos
}

func (h *house) intentNo(t require.TestingT, intentID string) (intentNo int64) {
	require.NoError(t, h.db.ReadStatement(context.Background(), func(tx *database.Tx) (err error) {
		intentNo, err = h.intents.Resolve(tx, intentID)
		return err
	}))
	return intentNo
}

func TestReachingIntents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		addressed, spoken, byRole, listed, assigned, admitted := h.open(t), h.open(t), h.open(t), h.explicit(t, "a"), h.open(t), h.intent(t)
		h.open(t) // concerns nobody but its creator
		h.asks(t, "b", addressed, "a")
		h.say(t, "a", spoken, "hello")
		h.asks(t, "b", byRole, "role:judge")
		_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{
			IntentId: h.channel(t, assigned).GetIntentId(), AgentId: "a",
		})
		require.NoError(t, err)
		h.admit(t, admitted, "a")
		mine, err := h.intents.CreateIntent(as("a"), &openintentv1.CreateIntentRequest{Title: "Mine"})
		require.NoError(t, err)
		coordinated := h.intent(t)
		_, err = h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
			IntentId: &coordinated, AgentId: ptr("a"),
		})
		require.NoError(t, err)

		want := []int64{
			h.key(t, addressed).IntentNo, h.key(t, spoken).IntentNo, h.key(t, listed).IntentNo, h.key(t, assigned).IntentNo,
			h.intentNo(t, admitted), h.intentNo(t, mine.GetId()), h.intentNo(t, coordinated),
		}
		slices.Sort(want)
		require.Equal(t, want, h.reaching(t, "a", ""))
		want = append(want, h.key(t, byRole).IntentNo)
		slices.Sort(want)
		require.Equal(t, want, h.reaching(t, "a", "judge"))
		require.Empty(t, h.reaching(t, "stranger", ""))
	})
}

// What is said to everyone is for those that take part, and only for as long as they do.
func TestTakingPart(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		takesPart := func(channelID, agent string, departedAt time.Time) (part bool) {
			key := h.key(t, channelID)
			require.NoError(t, h.db.Read(context.Background(), func(tx *database.Tx) error {
				reached, statements := reading.PrepareCatchment(tx, agent, "judge")
				if err := tx.Pipeline(statements...); err != nil {
					return err
				}
				head, err := intents.ReadHead(tx, key.IntentNo)
				if err != nil {
					return err
				}
				rules, err := h.intents.Rules(tx, key.IntentNo, head.Epoch)
				part = reached.TakesPart(key.IntentNo, rules, agent, departedAt, head.Now())
				return err
			}))
			return part
		}
		channel := h.open(t)
		h.asks(t, "b", channel, "a")
		h.asks(t, "b", channel, "role:judge")
		require.False(t, takesPart(channel, "a", time.Time{}), "who was only addressed")
		require.False(t, takesPart(channel, "other", time.Time{}), "a holder of a role that was only addressed")
		require.True(t, takesPart(channel, "b", time.Time{}), "who has sent")
		require.True(t, takesPart(channel, "creator", time.Time{}))

		listing := h.explicit(t, "a")
		require.True(t, takesPart(listing, "a", time.Time{}))
		require.False(t, takesPart(listing, "a", h.clock.Now().Add(time.Hour)), "a departure ended the membership")
	})
}

// Of a commit that failed nothing is known, and of one whose acknowledgement was lost nothing is sure.
func TestAudiencesAreLearntFromCommitsAlone(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		channelID := h.open(t)
		stored := func() int { return h.rows(t, "audiences", "intent_no = ?", h.key(t, channelID).IntentNo) }
		f.set(failing, nil)
		_, err := h.messaging.SendMessage(as("a"), &sendRequest{ChannelId: channelID, To: ptr("b")})
		require.Error(t, err)
		f.set(nil, nil)
		require.Zero(t, stored())

		f.set(nil, times(1))
		h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		require.Equal(t, 2, stored())
		h.send(t, "a", &sendRequest{ChannelId: channelID, To: ptr("b")})
		require.Equal(t, 2, stored())
	})
}

// However an intent came to reach an agent, it does no more once it is purged.
func TestAPurgedIntentReachesNobody(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		ended, other := h.explicit(t, "a", "listed"), h.explicit(t, "a", "listed")
		for _, channelID := range []string{ended, other} {
			h.asks(t, "a", channelID, "listed")
			intentID := h.channel(t, channelID).GetIntentId()
			_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: "assigned"})
			require.NoError(t, err)
			h.admit(t, intentID, "a", "listed", "admitted")
			_, err = h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
				IntentId: &intentID, AgentId: ptr("coordinator"),
			})
			require.NoError(t, err)
		}
		reached := []string{"a", "listed", "creator", "assigned", "admitted", "coordinator"}
		h.setStatus(t, h.channel(t, ended).GetIntentId(), completed)
		h.sweep(t)
		for _, agent := range reached {
			require.Len(t, h.reaching(t, agent, ""), 2, agent)
		}
		h.clock.Advance(defaultRetention + time.Second)
		h.sweep(t)
		for _, agent := range reached {
			require.Equal(t, []int64{h.key(t, other).IntentNo}, h.reaching(t, agent, ""), agent)
		}
	})
}
