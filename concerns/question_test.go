package concerns

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

func TestAQuestionWaitsForItsRecipient(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.ask(t, "alice", "bob", time.Hour)
		one := h.only(t, as("bob"), isQuestion)
		require.Equal(t, asked.GetCreatedAt().AsTime(), one.GetSince().AsTime())
		require.Equal(t, []string{h.intent, h.channel, asked.GetId(), "alice"},
			[]string{one.GetIntentId(), one.GetChannelId(), one.GetMessageId(), one.GetAgentId()})
		require.Nil(t, one.SubscriptionId)
		require.Nil(t, one.TaskId)
		require.Equal(t, []string{"ANSWER", "CLAIM", "DECLINE", "DEFER"}, words(one))
		require.Contains(t, one.GetSummary(), `alice asks on channel "desk", and waits for an answer until `)
		for _, other := range []string{"alice", "carol"} {
			h.none(t, as(other), isQuestion)
		}
		h.none(t, asOperator(), isQuestion)

		h.clock.Advance(10 * time.Minute)
		again := h.only(t, as("bob"), isQuestion)
		require.Equal(t, one.GetId(), again.GetId(), "it is the same as long as it lasts")
		require.Equal(t, one.GetSince(), again.GetSince())
		require.Empty(t, words(h.only(t, asCaller(caller.Caller{Agent: "bob", ReadOnly: true}), isQuestion)))

		h.reply(t, "bob", asked)
		h.none(t, as("bob"), isQuestion)
	})
}

func TestWhatEndsAQuestion(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *house, asked *sent){
		"its time": func(_ *testing.T, h *house, _ *sent) { h.clock.Advance(time.Hour) },
		"a no":     func(t *testing.T, h *house, asked *sent) { h.react(t, "bob", asked, "declined") },
		"a deed":   func(t *testing.T, h *house, asked *sent) { h.react(t, "bob", asked, "done") },
		"a word":   func(t *testing.T, h *house, asked *sent) { h.dispose(t, "bob", asked, "failed", 0) },
		"a claim of somebody else": func(t *testing.T, h *house, asked *sent) {
			_, err := h.deeds.ClaimMessage(asOperator(), &openintentv1.ClaimMessageRequest{ChannelId: h.channel, MessageId: asked.GetId()})
			require.NoError(t, err)
		},
		"its deletion": func(t *testing.T, h *house, asked *sent) {
			_, err := h.talk.DeleteMessage(as("alice"), &openintentv1.DeleteMessageRequest{ChannelId: h.channel, MessageId: asked.GetId()})
			require.NoError(t, err)
		},
		"the channel's end": func(t *testing.T, h *house, _ *sent) {
			_, err := h.channels.DeleteChannel(as("alice"), &openintentv1.DeleteChannelRequest{ChannelId: h.channel})
			require.NoError(t, err)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachHouse(t, func(t *testing.T, h *house) {
				asked := h.ask(t, "alice", "bob", time.Hour)
				h.only(t, as("bob"), isQuestion)
				end(t, h, asked)
				h.none(t, as("bob"), isQuestion)
			})
		})
	}
}

// A question that was put off is a concern again at the time that was named. Other dispositions change nothing.
func TestAQuestionIsPutOff(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.ask(t, "alice", "bob", time.Hour)
		h.react(t, "bob", asked, "seen")
		h.react(t, "bob", asked, "working")
		one := h.only(t, as("bob"), isQuestion)
		h.dispose(t, "bob", asked, "deferred", 10*time.Minute)
		h.none(t, as("bob"), isQuestion)
		h.clock.Advance(10 * time.Minute)
		require.Equal(t, one.GetId(), h.only(t, as("bob"), isQuestion).GetId())
		h.dispose(t, "bob", asked, "deferred", 0)
		require.Equal(t, one.GetSince(), h.only(t, as("bob"), isQuestion).GetSince())
	})
}

// The last thing that an agent did with a question counts. A signal that it took back does not.
func TestWhatAnAgentDidLastWithAQuestionCounts(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.ask(t, "alice", "bob", time.Hour)
		h.dispose(t, "bob", asked, "ignored", 0)
		h.none(t, as("bob"), isQuestion)
		h.react(t, "bob", asked, "working")
		h.only(t, as("bob"), isQuestion)
		h.clock.Advance(time.Millisecond)
		h.dispose(t, "bob", asked, "failed", 0)
		h.none(t, as("bob"), isQuestion)

		other := h.ask(t, "alice", "bob", time.Hour)
		h.react(t, "bob", other, "done")
		h.none(t, as("bob"), isQuestion)
		h.clock.Advance(time.Millisecond)
		_, err := h.deeds.RemoveReaction(as("bob"), &openintentv1.RemoveReactionRequest{ChannelId: h.channel, MessageId: other.GetId(), Signal: "done"})
		require.NoError(t, err)
		require.Equal(t, other.GetId(), h.only(t, as("bob"), isQuestion).GetMessageId())
	})
}

// A disposition ends an agent's question, unless it says that the agent will still act.
func TestWhichDispositionsEndAQuestion(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for word, ends := range map[string]bool{
			"responded": true, "ignored": true, "superseded": true, "failed": true, "acknowledged": false, "deferred": false,
		} {
			asked := h.ask(t, "alice", "bob", time.Hour)
			h.dispose(t, "bob", asked, word, 0)
			if ends {
				h.none(t, as("bob"), isQuestion)
				continue
			}
			require.Equal(t, asked.GetId(), h.only(t, as("bob"), isQuestion).GetMessageId(), word)
			h.reply(t, "bob", asked)
		}
	})
}

func TestAQuestionToARole(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		h.register(t, "carol", "worker")
		one := structpb.NewStringValue("one")
		asked := h.ask(t, "alice", "role:worker", 0, func(f *sendForm) { f.Collect = one })
		require.Equal(t, []string{"CLAIM", "DECLINE", "DEFER"}, words(h.only(t, as("bob"), isQuestion)), "an answer needs a claim")
		require.Equal(t, `alice asks the role worker on channel "desk", and waits for an answer.`, h.only(t, as("carol"), isQuestion).GetSummary())
		h.claim(t, "bob", asked)
		h.none(t, as("carol"), isQuestion)
		require.Equal(t, []string{"ANSWER", "DECLINE", "DEFER"}, words(h.only(t, as("bob"), isQuestion)))
		h.clock.Advance(2 * time.Minute)
		require.Len(t, h.of(t, as("carol"), isQuestion), 1, "the claim is over")
	})
}

// Of several answers an agent gives one. The request waits for the others then, and is no question of its own any more.
func TestWhoeverHasGivenOneOfSeveralAnswersIsAskedNoMore(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "worker")
		h.register(t, "carol", "worker")
		asked := h.ask(t, "alice", "role:worker", 0, takingTwo)
		h.only(t, as("bob"), isQuestion)
		h.replyWithClaim(t, "bob", asked)
		h.none(t, as("bob"), isQuestion)
		h.only(t, as("carol"), isQuestion)
		h.replyWithClaim(t, "carol", asked)
		h.none(t, as("carol"), isQuestion)
	})
}
