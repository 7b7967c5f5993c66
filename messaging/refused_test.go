package messaging

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

// refuse lets an agent refuse a sender.
func (h *house) refuse(t require.TestingT, agent, sender string) {
	_, err := h.agents.RefuseSender(as(agent), &openintentv1.RefuseSenderRequest{AgentId: agent, Sender: sender})
	require.NoError(t, err)
}

func (h *house) allow(t require.TestingT, agent, sender string) {
	_, err := h.agents.AllowSender(as(agent), &openintentv1.AllowSenderRequest{AgentId: agent, Sender: sender})
	require.NoError(t, err)
}

// tell sends a notify to one agent or role.
func (h *house) tell(sender, channelID, to string) error {
	_, err := h.messaging.SendMessage(as(sender), &sendRequest{ChannelId: channelID, To: &to})
	return err
}

// A refusal holds for what is addressed to the agent, on every way to send, and for nothing else.
func TestARefusedSenderReachesTheAgentOnlyAsOneOfAll(t *testing.T) {
	eachRemembering(t, func(t *testing.T, h *house, atOnce *atomic.Int64) {
		h.register(t, "bob", "tester")
		id := h.open(t)
		require.NoError(t, h.tell("mallory", id, "bob"))
		require.NoError(t, h.tell("alice", id, "bob"))
		h.refuse(t, "bob", "mallory")

		intentID := h.channel(t, id).GetIntentId()
		ask := &askRequest{ChannelId: id, To: "bob", TimeoutSeconds: ptr(1.0)}
		for name, send := range map[string]func() error{
			"a notify": func() error { return h.tell("mallory", id, "bob") },
			"a request": func() error {
				_, err := h.messaging.SendMessage(as("mallory"), &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request)})
				return err
			},
			"by name": func() error {
				_, err := h.messaging.SendMessageByName(as("mallory"), &byNameRequest{IntentId: intentID, Name: "talk", To: ptr("bob")})
				return err
			},
			"by the name of a channel that is not there": func() error {
				_, err := h.messaging.SendMessageByName(as("mallory"), &byNameRequest{IntentId: intentID, Name: "new", To: ptr("bob")})
				return err
			},
			"an ask": func() error { _, err := h.messaging.Ask(as("mallory"), ask); return err },
			"an ask of all": func() error {
				_, err := h.messaging.AskAll(as("mallory"), &askAllRequest{ChannelId: id, To: "bob", TimeoutSeconds: ptr(1.0)})
				return err
			},
			"the operator in its name": func() error {
				_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, Sender: ptr("mallory"), To: ptr("bob")})
				return err
			},
		} {
			for range 2 { // the second time the writer remembers
				faulttest.Require(t, send(), fault.Denied, "REFUSED")
			}
			require.Zero(t, h.rows(t, "channels", "name = 'new'"), name)
		}
		for _, to := range []string{"role:tester", "*"} {
			require.NoError(t, h.tell("mallory", id, to))
		}
		h.say(t, "mallory", id, "what does @bob say?")
		_, err := h.messaging.SendMessage(asOperator(), &sendRequest{ChannelId: id, To: ptr("bob")})
		require.NoError(t, err, "the operator under its own name")
		question := h.asks(t, "bob", id, "mallory")
		h.reply(t, "mallory", id, question.GetId(), "an answer to the agent's own request")

		before := atOnce.Load()
		require.NoError(t, h.tell("alice", id, "bob"))
		require.NoError(t, h.tell("alice", id, "bob"))
		require.Positive(t, atOnce.Load()-before, "the writer remembers that others are not refused")

		h.allow(t, "bob", "mallory")
		require.NoError(t, h.tell("mallory", id, "bob"))
	})
}

// A refused message of a stream ends nothing but itself.
func TestARefusedMessageOfAStream(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		id := h.open(t)
		h.refuse(t, "bob", "mallory")
		p := h.pipe(t, "mallory")
		p.handsOver(t, &sendRequest{ChannelId: id}, &sendRequest{ChannelId: id, To: ptr("bob")}, &sendRequest{ChannelId: id, To: ptr("carol")})
		p.ids(t, 1)
		require.Equal(t, "REFUSED", p.answer(t).GetRefusal().GetMessage())
		p.ids(t, 1)
	})
}

// What was stored before the refusal keeps its answer, and a refused key is free again.
func TestARepeatOfWhatWasStoredBeforeARefusal(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		id := h.open(t)
		keyed := &sendRequest{ChannelId: id, To: ptr("bob"), IdempotencyKey: ptr("k1"), Payload: content("once")}
		first := h.send(t, "mallory", keyed)
		h.refuse(t, "bob", "mallory")
		require.Equal(t, first.GetId(), h.send(t, "mallory", keyed).GetId())
		other := &sendRequest{ChannelId: id, To: ptr("bob"), IdempotencyKey: ptr("k2"), Payload: content("once")}
		_, err := h.messaging.SendMessage(as("mallory"), other)
		faulttest.Require(t, err, fault.Denied, "REFUSED")
		h.allow(t, "bob", "mallory")
		h.send(t, "mallory", other)
	})
}

// A refusal holds on another replica from the answer on, whatever that replica remembers and whether or not it hears of it.
func TestARefusalHoldsOnTheOtherReplica(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t)
	one.register(t, "bob", "")
	id := one.open(t)
	for range 3 {
		require.NoError(t, other.tell("mallory", id, "bob"))
	}
	for range 3 {
		one.refuse(t, "bob", "mallory")
		faulttest.Require(t, other.tell("mallory", id, "bob"), fault.Denied, "REFUSED")
		one.refuse(t, "bob", "carol")
		faulttest.Require(t, other.tell("mallory", id, "bob"), fault.Denied, "REFUSED")
		one.allow(t, "bob", "mallory")
		require.NoError(t, other.tell("mallory", id, "bob"))
	}
}

// Whoever refuses nobody costs its senders no statement, and neither does whoever refuses others, once that is known.
func TestRefusalsCostNoStatement(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		var statements atomic.Int64
		h := newHouse(t, engine, withHooks(database.Hooks{Statement: func(context.Context, string) func() {
			statements.Add(1)
			return nil
		}}))
		h.register(t, "bob", "")
		h.register(t, "carol", "")
		id := h.open(t)
		h.refuse(t, "carol", "mallory")
		costs := func(to string) int64 {
			for range 3 {
				require.NoError(t, h.tell("alice", id, to))
			}
			before := statements.Load()
			require.NoError(t, h.tell("alice", id, to))
			return statements.Load() - before
		}
		require.Equal(t, costs("nobody-registered"), costs("bob"))
		require.Equal(t, costs("bob"), costs("carol"))
	}
}

// What guests send is refused like anybody's.
func TestAGuestIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		id := h.explicit(t, "bob", "guest-zoe")
		h.refuse(t, "bob", "guest-zoe")
		guest := caller.NewContext(t.Context(), caller.Caller{Agent: "guest-zoe", KeyID: "invite"})
		_, err := h.messaging.SendMessage(guest, &sendRequest{ChannelId: id, To: ptr("bob")})
		faulttest.Require(t, err, fault.Denied, "REFUSED")
	})
}

// A refusal outlives a departure and a new registration.
func TestARefusalOutlivesADeparture(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		id := h.open(t)
		h.refuse(t, "bob", "mallory")
		h.deregister(t, "bob")
		h.clock.Advance(time.Second)
		h.register(t, "bob", "tester")
		faulttest.Require(t, h.tell("mallory", id, "bob"), fault.Denied, "REFUSED")
	})
}
