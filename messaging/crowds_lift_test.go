package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/loopbrake"
)

func (h *house) lift(ctx context.Context, channelID string, thread *wireMessage) (*openintentv1.LiftBrakeResponse, error) {
	req := &openintentv1.LiftBrakeRequest{ChannelId: channelID}
	if thread != nil {
		req.ThreadId = ptr(thread.GetId())
	}
	return h.messaging.LiftBrake(ctx, req)
}

func TestALiftLetsAgentsGoOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 3)
		intentID := h.channel(t, id).GetIntentId()
		_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{IntentId: &intentID, AgentId: ptr("carol")})
		require.NoError(t, err)
		root := h.say(t, "ann", id, "a thread")
		for _, place := range []*wireMessage{nil, root} {
			for name, ctx := range map[string]context.Context{
				"the coordinator": as("carol"), "the channel's creator": as("creator"), "the operator": asOperator(), "a person": asHuman("kim", false),
			} {
				stored, _ := ring(t, id, place, 10, four, h)
				require.Equal(t, 4, stored, name)
				lifted, err := h.lift(ctx, id, place)
				require.NoError(t, err, name)
				require.Equal(t, id, lifted.GetChannelId())
				require.Equal(t, place.GetId(), lifted.GetThreadId())
				require.NotNil(t, lifted.GetLiftedAt())
			}
			stored, _ := ring(t, id, place, 10, four, h)
			require.Equal(t, 4, stored)
		}
		below := h.send(t, "eve", under(id, root.GetId(), "below"))
		lifted, err := h.lift(as("carol"), id, below)
		require.NoError(t, err)
		require.Equal(t, root.GetId(), lifted.GetThreadId(), "any message of the thread names it")
		stored, _ := ring(t, id, root, 10, four, h)
		require.Equal(t, 4, stored)
		require.Len(t, h.list(t, "carol", &listRequest{ChannelId: h.system(t, intentID)[0].GetId()}), 11, "each time it is another brake")
	})
}

func TestALiftHoldsAfterARestart(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 3)
		untilBraked(t, id, nil, h)
		_, err := h.lift(as("creator"), id, nil)
		require.NoError(t, err)
		h.messaging.Stop()
		require.NoError(t, h.db.Close())
		h.rooms = h.replica(t)
		stored, _ := ring(t, id, nil, 10, four, h)
		require.Equal(t, 4, stored)
	})
}

// Who may lift nothing learns nothing, whether or not there is something.
func TestStrangersLiftNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.withConversationBudget(t, 2)
		root := h.say(t, "ann", id, "a thread")
		untilBraked(t, id, root, h)
		private := h.explicit(t, "ann")
		hidden := h.say(t, "ann", private, "hidden")
		nowhere := &wireMessage{Id: aMessageID}
		for name, caller := range map[string]context.Context{"an agent": as("ben"), "a person's model": asHuman("kim", true)} {
			for _, thread := range []*wireMessage{nil, root, nowhere} {
				_, err := h.lift(caller, id, thread)
				require.Equal(t, "FORBIDDEN", fault.From(err).Reason, name)
			}
		}
		for _, thread := range []*wireMessage{nil, hidden, nowhere} {
			_, err := h.lift(asHuman("kim", false), private, thread)
			faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		}
		secret := h.send(t, "ann", &sendRequest{ChannelId: id, To: ptr("ben"), Payload: content("between us")})
		for _, thread := range []*wireMessage{secret, nowhere, hidden} {
			_, err := h.lift(asHuman("kim", false), id, thread)
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
		_, err := h.lift(as("creator"), id, nowhere)
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		_, err = h.tryAsk(as("dia"), id, "ann", root)
		faulttest.Require(t, err, fault.Quota, "CONVERSATION_BRAKED")
		h.closeChannel(t, id)
		_, err = h.lift(as("creator"), id, root)
		faulttest.Require(t, err, fault.Conflict, "CHANNEL_CLOSED")
	})
}

// What is noted of brakes goes when nobody asks for it any more, and with its channel.
func TestWhatIsNotedOfBrakesGoes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		noted := func() (rows int) {
			require.NoError(t, h.db.Read(t.Context(), func(tx *database.Tx) error {
				return tx.Pipeline(database.Statement{
					SQL: "SELECT count(*) FROM conversation_brakes", Scan: func(row database.Row) error { return row.Scan(&rows) },
				})
			}))
			return rows
		}
		id, other := h.withConversationBudget(t, 2), h.withConversationBudget(t, 2)
		for _, channel := range []string{id, other} {
			untilBraked(t, channel, nil, h)
			_, err := h.lift(as("creator"), channel, nil)
			require.NoError(t, err)
		}
		require.Equal(t, 2, noted(), "one row for each place")
		h.deleteChannel(t, other)
		require.NoError(t, h.messaging.Sweep(t.Context()))
		require.Equal(t, 1, noted())
		h.clock.Advance(2*loopbrake.BrakeTime - time.Minute)
		require.NoError(t, h.messaging.Sweep(t.Context()))
		require.Equal(t, 1, noted(), "it still counts somewhere")
		h.clock.Advance(2 * time.Minute)
		require.NoError(t, h.messaging.Sweep(t.Context()))
		require.Zero(t, noted())
	})
}
