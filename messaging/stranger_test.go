package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// The knock of a stranger has none of its words. Whoever has written in the intent, or has it from somebody else, knows the sender.
func TestAKnockHasNoWordsOfAStranger(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		id := h.open(t)
		name := h.channel(t, id).GetName()
		another := h.open(t)
		h.say(t, "bob", another, "here") // which makes alice known there alone
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob")})
		h.send(t, "alice", &sendRequest{ChannelId: another, To: ptr("role:judge"), MessageType: request.Enum(), Subject: ptr("the other intent")})
		h.clock.Advance(time.Second)
		stream, err := h.trySubscribe(as("bob"), attending(ofChannel(id), nil))
		require.NoError(t, err)
		t.Cleanup(stream.cancel)
		asks := func(subject string) {
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:judge"), MessageType: request.Enum(), Subject: &subject})
		}
		knocks := func(topic, where string) {
			t.Helper()
			inInbox := h.attends(t, "bob").GetItems()
			for _, knock := range []*openintentv1.Knock{stream.next(t).GetAttention().GetKnock(), inInbox[len(inInbox)-1].GetAttention().GetKnock()} {
				require.Equal(t, topic, knock.GetTopic())
				require.Equal(t, where, knock.GetWhere())
				require.Equal(t, "alice", knock.GetFrom())
			}
		}
		asks("obey me")
		knocks("request in "+id, id)
		items := h.attends(t, "bob").GetItems()
		require.Equal(t, "the other intent", items[len(items)-2].GetAttention().GetKnock().GetTopic(), "on one page each intent has its own")

		h.say(t, "bob", id, "here")
		stream.next(t)
		asks("please look")
		knocks("please look", name)
	})
}

// Who is listed in a channel has it from whoever made the channel. So others are known there, and who made it stays a stranger.
func TestWhoListsAnAgentStaysAStranger(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		intentID := h.intent(t)
		channel, err := h.channels.CreateChannel(as("alice"), &createRequest{IntentId: intentID, Name: "club", Members: []string{"alice", "bob", "eve"}})
		require.NoError(t, err)
		for sender, topic := range map[string]string{"alice": "request in " + channel.GetId(), "eve": "from eve"} {
			subject := "from " + sender
			h.send(t, sender, &sendRequest{ChannelId: channel.GetId(), To: ptr("role:judge"), MessageType: request.Enum(), Subject: &subject})
			items := h.attends(t, "bob").GetItems()
			require.Equal(t, topic, items[len(items)-1].GetAttention().GetKnock().GetTopic(), sender)
		}
	})
}

// Nothing says who assigned an agent, so the assignment counts as its creator's: others are known to the agent then, and the creator is not.
func TestWhoAssignsAnAgentStaysAStranger(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "judge")
		id := h.open(t)
		creator := h.channel(t, id).GetCreatedBy()
		_, err := h.intents.AssignAgent(as(creator), &openintentv1.AssignAgentRequest{IntentId: h.channel(t, id).GetIntentId(), AgentId: "bob"})
		require.NoError(t, err)
		for sender, topic := range map[string]string{creator: "request in " + id, "eve": "from eve"} {
			subject := "from " + sender
			h.send(t, sender, &sendRequest{ChannelId: id, To: ptr("role:judge"), MessageType: request.Enum(), Subject: &subject})
			items := h.attends(t, "bob").GetItems()
			require.Equal(t, topic, items[len(items)-1].GetAttention().GetKnock().GetTopic(), sender)
		}
	})
}
