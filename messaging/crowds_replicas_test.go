package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// Agents that talk in a ring through two replicas are braked as on one, wherever each speaks, and with other talk beside it.
func TestARingOverTwoReplicasIsBraked(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t)
	id := one.withConversationBudget(t, 10)
	stored, _ := ring(t, id, nil, 30, four, one, other)
	require.Equal(t, 11, stored)

	root := one.say(t, "ann", id, "a thread")
	stored = 0
	for i := range 30 {
		h := []*house{one, other, other}[i%3]
		h.say(t, "eve", id, "something else")
		_, err := h.tryAsk(as("asker"), id, "oracle", root)
		require.NoError(t, err, "one that asks is never braked")
		if _, err := h.tryAsk(as(four[i%4]), id, four[(i+1)%4], root); err != nil {
			faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
			break
		}
		stored++
	}
	require.Equal(t, 11, stored)
	_, err := one.messaging.SendMessage(asHuman("kim", false), under(id, root.GetId(), "go on"))
	require.NoError(t, err)
	stored, _ = ring(t, id, root, 30, four, other, one)
	require.Equal(t, 11, stored, "a person on one replica is heard on both")
}

func TestTheCoordinatorIsToldOnceByAllReplicas(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t)
	id := one.withConversationBudget(t, 2)
	intentID := one.channel(t, id).GetIntentId()
	_, err := one.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &intentID, AgentId: ptr("carol")})
	require.NoError(t, err)
	untilBraked(t, id, nil, one, other)
	for range 3 {
		for _, h := range []*house{one, other} {
			_, err := h.tryAsk(as("dia"), id, "ann", nil)
			faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		}
	}
	require.Len(t, one.list(t, "carol", &listRequest{ChannelId: one.system(t, intentID)[0].GetId()}), 1)
}

// What counts is in the log, so a restart changes nothing: neither in the midst of a ring nor once it is braked.
func TestABrakeOutlastsARestart(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 10)
		root := h.send(t, "dia", &sendRequest{ChannelId: id, MessageType: ptr(broadcast), Payload: content("begin")})
		restart := func() {
			h.messaging.Stop()
			require.NoError(t, h.db.Close())
			h.rooms = h.replica(t)
		}
		for _, place := range []*wireMessage{root, nil} {
			stored, _ := ring(t, id, place, 6, four, h)
			require.Equal(t, 6, stored)
			restart()
			for i := 6; i < 30; i++ {
				if _, err := h.tryAsk(as(four[i%4]), id, four[(i+1)%4], place); err != nil {
					faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
					break
				}
				stored++
			}
			require.Equal(t, 10, stored, "each answers another one, the first one the broadcast")
			restart()
			_, err := h.tryAsk(as("cem"), id, "dia", place)
			faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		}
	})
}
