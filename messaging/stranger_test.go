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

// Who is related, and who is not, as the page docs/delivery.md lists it.
func TestWhoIsAStranger(t *testing.T) {
	assign := func(t *testing.T, h *house, by, intentID, agent string) {
		_, err := h.intents.AssignAgent(withKey(by), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: agent})
		require.NoError(t, err)
	}
	list := func(t *testing.T, h *house, by, intentID, agent string) {
		_, err := h.channels.CreateChannel(withKey(by), &createRequest{IntentId: intentID, Name: "club of " + agent, Members: []string{agent}})
		require.NoError(t, err)
	}
	say := func(t *testing.T, h *house, agent, channelID string) {
		_, err := h.messaging.SendMessage(withKey(agent), &sendRequest{ChannelId: channelID})
		require.NoError(t, err)
	}
	for name, test := range map[string]struct {
		// prepare returns the channel in which mallory writes to bob.
		prepare func(t *testing.T, h *house) (channelID string)
		related bool
	}{
		"bob made the intent": {func(t *testing.T, h *house) string {
			_, id := h.place(t, "bob")
			return id
		}, true},
		"bob has written in the intent": {func(t *testing.T, h *house) string {
			_, id := h.place(t, "mallory")
			say(t, h, "bob", id)
			return id
		}, true},
		"somebody else assigned bob": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "alice")
			assign(t, h, "alice", intentID, "bob")
			return id
		}, true},
		"mallory assigned bob": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "mallory")
			assign(t, h, "mallory", intentID, "bob")
			return id
		}, false},
		"somebody else granted bob access": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "alice")
			h.grant(t, "alice", intentID, "mallory")
			h.grant(t, "alice", intentID, "bob")
			return id
		}, true},
		"mallory granted bob access": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "mallory")
			h.grant(t, "mallory", intentID, "bob")
			return id
		}, false},
		"bob is a member of somebody else's channel": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "mallory")
			list(t, h, "alice", intentID, "bob")
			return id
		}, true},
		"bob is a member of mallory's channel": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "alice")
			list(t, h, "mallory", intentID, "bob")
			return id
		}, false},
		"bob has written to mallory": {func(t *testing.T, h *house) string {
			_, there := h.place(t, "alice")
			_, err := h.messaging.SendMessage(withKey("bob"), &sendRequest{ChannelId: there, To: ptr("mallory")})
			require.NoError(t, err)
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"bob has written where mallory was addressed, but not to it": {func(t *testing.T, h *house) string {
			_, there := h.place(t, "alice")
			say(t, h, "bob", there)
			_, err := h.messaging.SendMessage(withKey("alice"), &sendRequest{ChannelId: there, To: ptr("mallory")})
			require.NoError(t, err)
			_, id := h.place(t, "mallory")
			return id
		}, false},
		"both are assigned to another intent": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "alice")
			assign(t, h, "alice", intentID, "mallory")
			assign(t, h, "alice", intentID, "bob")
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"both are assigned to the intent": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "alice")
			assign(t, h, "alice", intentID, "mallory")
			assign(t, h, "alice", intentID, "bob")
			return id
		}, true},
		"both were granted access to another intent": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "alice")
			h.grant(t, "alice", intentID, "mallory")
			h.grant(t, "alice", intentID, "bob")
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"mallory came to bob's open intent by itself, and writes elsewhere": {func(t *testing.T, h *house) string {
			_, there := h.place(t, "bob")
			say(t, h, "mallory", there)
			_, id := h.place(t, "mallory")
			return id
		}, false},
		"bob let mallory in, which writes elsewhere": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "bob")
			h.grant(t, "bob", intentID, "mallory")
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"mallory lists itself in an intent of bob's, and writes elsewhere": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "bob")
			list(t, h, "mallory", intentID, "mallory")
			_, id := h.place(t, "mallory")
			return id
		}, false},
		"somebody else lists bob in another intent of mallory's, in which mallory lists itself": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "mallory")
			list(t, h, "mallory", intentID, "mallory")
			list(t, h, "alice", intentID, "bob")
			_, id := h.place(t, "mallory")
			return id
		}, false},
		"somebody else lists both in another intent of mallory's": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "mallory")
			list(t, h, "alice", intentID, "mallory")
			list(t, h, "alice", intentID, "bob")
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"somebody else lists mallory in another intent, to which bob is assigned": {func(t *testing.T, h *house) string {
			intentID, _ := h.place(t, "alice")
			list(t, h, "alice", intentID, "mallory")
			assign(t, h, "alice", intentID, "bob")
			_, id := h.place(t, "mallory")
			return id
		}, true},
		"somebody else's channel that listed bob is deleted": {func(t *testing.T, h *house) string {
			intentID, id := h.place(t, "mallory")
			club, err := h.channels.CreateChannel(withKey("alice"), &createRequest{IntentId: intentID, Name: "club", Members: []string{"bob"}})
			require.NoError(t, err)
			h.deleteChannel(t, club.GetId())
			return id
		}, false},
		"nothing": {func(t *testing.T, h *house) string {
			_, id := h.place(t, "alice")
			return id
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				id := test.prepare(t, h)
				if test.related {
					h.neverRefused(withKey("mallory"), t, id, "bob")
				} else {
					h.pileUp(withKey("mallory"), t, id, "bob")
				}
			}, smallPiles)
		})
	}
}
