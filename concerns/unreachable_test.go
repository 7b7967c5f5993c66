package concerns

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/reach"
)

// listen opens a way to an agent. It is closed by the function that it returns.
func (h *house) listen(agent string) (closed func()) {
	return reach.Hear(reach.WithHearing(context.Background(), &reach.Hearing{Here: h.here, Agent: agent}), reach.Wait)
}

func TestARequestToSomebodyWhoCannotHear(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		asked := h.ask(t, "alice", "bob", time.Hour)
		one := h.only(t, as("alice"), isUnreachable)
		require.Equal(t, asked.GetCreatedAt().AsTime(), one.GetSince().AsTime())
		require.Equal(t, []string{h.intent, h.channel, asked.GetId(), "bob"},
			[]string{one.GetIntentId(), one.GetChannelId(), one.GetMessageId(), one.GetAgentId()})
		require.Equal(t, []string{"INVITE"}, words(one), "alice manages the channel")
		require.Contains(t, one.GetSummary(), `Nothing of bob listens, and the request of alice on channel "desk" waits for it until `)
		require.Equal(t, one.GetId(), h.only(t, asOperator(), isUnreachable).GetId())
		for _, other := range []string{"bob", "carol"} {
			h.none(t, as(other), isUnreachable)
		}
		h.react(t, "alice", asked, "unclear")
		h.only(t, as("alice"), isUnreachable)
		closed := h.listen("bob")
		h.none(t, as("alice"), isUnreachable)
		h.none(t, asOperator(), isUnreachable)
		closed()
		require.Equal(t, one.GetId(), h.only(t, as("alice"), isUnreachable).GetId())
		h.clock.Advance(time.Hour)
		h.none(t, as("alice"), isUnreachable)
	})
}

// Alice administers the intent. She need not be told that she cannot hear, because the same call tells her of the question.
func TestNobodyIsToldThatItCannotHearItself(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "alice", "")
		h.ask(t, "bob", "alice", time.Hour)
		h.none(t, as("alice"), isUnreachable)
		h.only(t, as("alice"), isQuestion)
		h.only(t, as("bob"), isUnreachable)
		h.only(t, asOperator(), isUnreachable)
	})
}

func TestWhatIsHeardNonetheless(t *testing.T) {
	for name, hear := range map[string]func(t *testing.T, h *house, asked *sent){
		"it was handed over": func(t *testing.T, h *house, _ *sent) {
			_, err := h.talk.GetInbox(as("bob"), &openintentv1.GetInboxRequest{AgentId: "bob"})
			require.NoError(t, err)
			require.Eventually(t, func() bool { return len(h.of(t, as("alice"), isUnreachable)) == 0 }, 20*time.Second, time.Millisecond)
		},
		"it reacted":  func(t *testing.T, h *house, asked *sent) { h.react(t, "bob", asked, "seen") },
		"it answered": func(t *testing.T, h *house, asked *sent) { h.reply(t, "bob", asked) },
		"it claimed":  func(t *testing.T, h *house, asked *sent) { h.claim(t, "bob", asked) },
		"it spoke":    func(t *testing.T, h *house, asked *sent) { h.dispose(t, "bob", asked, "deferred", time.Hour) },
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				h.register(t, "bob", "")
				asked := h.ask(t, "alice", "bob", 0)
				h.only(t, as("alice"), isUnreachable)
				hear(t, h, asked)
				h.none(t, as("alice"), isUnreachable)
				h.none(t, asOperator(), isUnreachable)
			})
		})
	}
}

func TestWhatNeedsNoWayToHear(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		h.ask(t, "alice", "role:worker", 0)
		h.ask(t, "alice", "bob", 30*time.Second)
		h.ask(t, "alice", "bob", 0, func(f *sendForm) { f.Policy = openintentv1.ResponsePolicy_RESPONSE_POLICY_MAY_RESPOND.Enum() })
		h.none(t, as("alice"), isUnreachable)
		h.none(t, asOperator(), isUnreachable)
		h.ask(t, "alice", "bob", 0, func(f *sendForm) { f.Policy = openintentv1.ResponsePolicy_RESPONSE_POLICY_MUST_RESPOND.Enum() })
		h.only(t, as("alice"), isUnreachable)
	})
}

// Of an agent without a record its asker knows only that it has none, and that the request was handed to nothing.
func TestAnAgentWithoutARecord(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.ask(t, "alice", "nobody", 0)
		h.listen("nobody")
		h.none(t, asOperator(), isUnreachable)
		h.none(t, as("alice"), isUnreachable)
		h.clock.Advance(unheardFor)
		h.only(t, as("alice"), isUnreachable)

		shared := h.private(t, "alice", "somebody")
		h.ask(t, "alice", "somebody", 0, on(shared))
		require.Len(t, h.of(t, as("alice"), isUnreachable), 2, "who shares a list of members with it may know at once")
		h.listen("somebody")
		h.only(t, as("alice"), isUnreachable)
	})
}

// A key of one channel shows no agents' records.
func TestAKeyOfOneChannel(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		other := h.newChannel(t, "alice", &openintentv1.CreateChannelRequest{IntentId: h.intent, Name: "other"})
		h.ask(t, "alice", "bob", 0)
		h.ask(t, "alice", "bob", 0, on(other))
		h.clock.Advance(11 * time.Minute)
		scoped := asCaller(caller.Caller{Agent: "alice", Scope: caller.NewScope(nil, []string{other})})
		h.none(t, scoped, isUnreachable)
		require.Equal(t, other, h.only(t, scoped, isUnanswered).GetChannelId())
		require.Len(t, h.of(t, asCaller(caller.Caller{Agent: "alice", Scope: caller.NewScope([]string{h.intent}, nil)}), isUnanswered), 2)
		h.none(t, asCaller(caller.Caller{Agent: "alice", Scope: caller.NewScope([]string{"elsewhere"}, nil)}), isUnanswered)
	})
}

func TestWhoInvites(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		h.ask(t, "carol", "bob", 0)
		require.Empty(t, words(h.only(t, as("carol"), isUnreachable)), "it does not manage the channel")
		one := h.only(t, as("alice"), isUnreachable)
		require.Equal(t, []string{"INVITE"}, words(one))
		require.Equal(t, `A request on channel "desk" waits for an agent that cannot hear of it.`, one.GetSummary(), "it may not see the request")
		require.Nil(t, one.MessageId)
		require.Nil(t, one.AgentId)
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "alice", ReadOnly: true}), isUnreachable)))
	})
}

// Open requests of several intents come in the order in which they were sent, and all of them, however many each intent has.
func TestManyRequestsOfSeveralIntents(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "")
		asked := []*sent{h.ask(t, "alice", "bob", 0)}
		for range 2 {
			asked = append(asked, h.ask(t, "alice", "bob", 0, on(h.newChannelIn(t, "alice", h.newIntent(t, "alice")))))
		}
		for i, one := range asked {
			h.copies(t, one, 50+70*i)
		}
		all := h.all(t, asOperator(), &listed{Kind: isUnreachable}, 100)
		count := len(all) // Len would show them all
		require.Equal(t, 3+50+120+190, count)
		requireSame(t, all, h.all(t, as("alice"), &listed{Kind: isUnreachable}, 100))
	})
}
