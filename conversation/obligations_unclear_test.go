package conversation

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// takesBack removes a signal of an agent.
func (h *house) takesBack(t require.TestingT, agent string, m *openintentv1.Message, signal string) {
	_, err := h.RemoveReaction(as(agent), &openintentv1.RemoveReactionRequest{ChannelId: h.channel, MessageId: m.GetId(), Signal: signal})
	require.NoError(t, err)
}

// explains lets alice write in the thread of her request.
func (h *house) explains(t require.TestingT, asked *openintentv1.Message) {
	_, err := h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: ptr(asked.GetId())})
	require.NoError(t, err)
}

// rewords lets alice edit her request.
func (h *house) rewords(t require.TestingT, asked *openintentv1.Message) {
	_, err := h.talk.UpdateMessage(as("alice"), &openintentv1.UpdateMessageRequest{
		ChannelId: h.channel, MessageId: asked.GetId(), Subject: ptr("the other lock"),
	})
	require.NoError(t, err)
}

// An answer of the author ends the pause for good: another note beside the same signal asks nothing anew.
func TestUnclearPausesOnce(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		_, err := h.talk.UpdateMessage(as("alice"), &openintentv1.UpdateMessageRequest{
			ChannelId: h.channel, MessageId: asked.GetId(), Subject: ptr("the other lock"),
		})
		require.NoError(t, err)
		h.signal(t, "bob", asked, "unclear")
		h.returns(t, step)
		require.Empty(t, h.toldOf(t), "what the author edited before answers nothing")
		_, err = h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: ptr(asked.GetId())})
		require.NoError(t, err)
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
		_, err = h.AddReaction(as("bob"), &openintentv1.AddReactionRequest{
			ChannelId: h.channel, MessageId: asked.GetId(), Signal: "unclear", Note: ptr("still"),
		})
		require.NoError(t, err)
		h.returns(t, step)
		require.Equal(t, []string{"bob obligation_return 1", "bob obligation_return 2"}, h.toldOf(t))
	})
}

// Only who owes takes the pause back, and only by taking unclear back. Whatever others say or write leaves it.
func TestUnclearIsTakenBack(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.signal(t, "bob", asked, "unclear")
		h.signal(t, "bob", asked, "seen")
		h.takesBack(t, "bob", asked, "seen")
		h.signal(t, "alice", asked, "unclear")
		h.takesBack(t, "alice", asked, "unclear")
		_, err := h.talk.SendMessage(as("bob"), &openintentv1.SendMessageRequest{ChannelId: h.channel, ParentId: ptr(asked.GetId())})
		require.NoError(t, err, "only the author ends it by writing there")
		_, err = h.talk.SendMessage(as("alice"), &openintentv1.SendMessageRequest{ChannelId: h.channel})
		require.NoError(t, err, "and only in the request's thread")
		for range 3 {
			h.returns(t, step)
		}
		require.Empty(t, h.toldOf(t))
		h.takesBack(t, "bob", asked, "unclear")
		h.returns(t, step-2*time.Second)
		require.Empty(t, h.toldOf(t), "an interval has to pass")
		h.returns(t, 2*time.Second)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
	})
}

// The steps go on an interval after the first thing that the author did: it edited the request, or wrote in its thread.
func TestTheFirstWordOfTheAuthorEndsUnclear(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for i, does := range [][]func(require.TestingT, *openintentv1.Message){{h.explains, h.rewords}, {h.rewords, h.explains}} {
			asked := h.oblige(t, "bob")
			h.signal(t, "bob", asked, "unclear")
			h.clock.Advance(time.Minute)
			does[0](t, asked)
			h.clock.Advance(4 * time.Minute)
			does[1](t, asked)
			h.returns(t, step-4*time.Minute)
			require.Len(t, h.toldOf(t), i+1)
			_, err := h.discharge(as("alice"), asked)
			require.NoError(t, err)
		}
	})
}

// An author that goes on writing in the thread puts nothing off: the first thing that it wrote counts.
func TestWhatTheAuthorWritesLaterPutsNothingOff(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.signal(t, "bob", asked, "unclear")
		h.clock.Advance(time.Minute)
		h.explains(t, asked)
		h.clock.Advance(8 * time.Minute)
		h.explains(t, asked)
		h.returns(t, time.Minute)
		require.Empty(t, h.toldOf(t), "an interval has to pass")
		h.returns(t, time.Minute)
		require.Equal(t, []string{"bob obligation_return 1"}, h.toldOf(t))
	})
}

// Once the author has written, there is no pause to take back. Taking an old unclear back puts nothing off.
func TestUnclearIsTakenBackTooLate(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		asked := h.oblige(t, "bob")
		h.signal(t, "bob", asked, "unclear")
		h.explains(t, asked)
		h.returns(t, step)
		require.Len(t, h.toldOf(t), 1)
		h.clock.Advance(9 * time.Minute)
		h.takesBack(t, "bob", asked, "unclear")
		h.returns(t, step-9*time.Minute)
		require.Equal(t, []string{"bob obligation_return 1", "bob obligation_return 2"}, h.toldOf(t))
	})
}
