package messaging

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// withinChannel is a context in which the agent calls with a key for one channel alone.
func withinChannel(agent, channelID string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{
		Agent: agent, KeyID: "scoped", KeyRoles: []string{caller.AnyRole}, Scope: caller.NewScope(nil, []string{channelID}),
	})
}

// mentioned sends a text and returns whom it mentions.
func (h *house) mentioned(ctx context.Context, t require.TestingT, channelID, text string) []string {
	m, err := h.messaging.SendMessage(ctx, &sendRequest{ChannelId: channelID, Payload: content(text)})
	require.NoError(t, err)
	require.Empty(t, cmpMessages(m, h.get(t, channelID, m.GetId())))
	return m.GetMentions()
}

func TestFoundNamesAreParticipantsOfTheChannel(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		open := h.create(t, &createRequest{IntentId: intentID, Name: "open"})
		members := h.explicitIn(t, intentID, "members", "alice", "bob", "listed", "left")
		h.say(t, "spoke", open, "hello")
		h.register(t, "registered", "")
		h.register(t, "left", "")
		h.deregister(t, "left")
		all := "@alice @bob @listed @left @spoke @registered @nobody @creator @operator @Bob"
		require.Equal(t, []string{"alice", "bob", "listed", "spoke", "creator"}, h.mentioned(as("alice"), t, open, all),
			"whoever an intent names or lists, or has spoken there, takes part")
		require.Equal(t, []string{"alice", "bob", "listed"}, h.mentioned(as("alice"), t, members, all),
			"only members take part in a channel of members")

		h.admit(t, intentID, "alice", "bob")
		require.Equal(t, []string{"alice", "bob", "creator"}, h.mentioned(as("alice"), t, open, all), "whoever lost access does not take part")
	})
}

func TestFoundRolesAreHeld(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.register(t, "bob", "tester")
		h.register(t, "gone", "reviewer")
		h.deregister(t, "gone")
		id := h.open(t)
		require.Equal(t, []string{"role:tester"}, h.mentioned(as("alice"), t, id, "@role:tester, @role:reviewer, @role:poet, @tester"))
	})
}

// A key for one channel sees no agents' records and not who takes part in the intent. So its words tell it no more than the
// channel's list of members, which it can read.
func TestFoundNamesTellAScopedKeyNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		h.register(t, "bob", "tester")
		id := h.create(t, &createRequest{IntentId: intentID, Name: "open", Members: []string{"listed"}})
		h.say(t, "spoke", id, "hello")
		text := "@bob @role:tester @listed @spoke @creator @nobody"
		require.Equal(t, []string{"role:tester", "listed", "spoke", "creator"}, h.mentioned(as("alice"), t, id, text))
		members := h.channel(t, id).GetMembers()
		require.Subset(t, members, h.mentioned(withinChannel("alice", id), t, id, text))
		require.Contains(t, h.mentioned(withinChannel("alice", id), t, id, text), "listed")
		h.admit(t, intentID, "alice")
		require.NotContains(t, h.mentioned(withinChannel("alice", id), t, id, text), "listed", "who lost access does not take part")
	})
}

func TestAMentionMakesNothingVisible(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "carol", id, "here")
		m := h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), Mentions: names("carol"), Payload: content("about @carol")})
		require.Equal(t, []string{"carol"}, m.GetMentions())
		require.True(t, h.sees(t, "bob", m))
		require.False(t, h.sees(t, "carol", m))
	})
}

func TestNamesAreFoundOnAChannelThatTheMessageMakes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		m, err := h.messaging.SendMessageByName(as("alice"), &openintentv1.SendMessageByNameRequest{
			IntentId: h.intent(t), Name: "new", Payload: content("@creator and @nobody"),
		})
		require.NoError(t, err)
		require.Equal(t, []string{"creator"}, m.GetMentions())
	})
}
