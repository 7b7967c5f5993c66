package messaging

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/messaging/wake"
)

func TestWatchesWakeForWhatMayReachAnAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		one, two, far := h.open(t), h.open(t), h.open(t)
		h.register(t, "bob", "tester")
		w := h.messaging.WatchIntents("bob")
		t.Cleanup(w.Close)
		woken := func() bool {
			select {
			case <-w.C():
				return true
			default:
				return false
			}
		}
		// A change wakes the watch before the call that made it returns.
		oneNo, twoNo := h.key(t, one).IntentNo, h.key(t, two).IntentNo
		w.Intents(oneNo, twoNo)
		require.False(t, woken())
		h.say(t, "alice", one, "a")
		require.True(t, woken())
		h.log(t, h.channel(t, two).GetIntentId(), "thought")
		require.True(t, woken())
		h.addMember(t, two, "carol")
		require.True(t, woken(), "rules have changed")
		h.say(t, "alice", far, "a")
		require.False(t, woken(), "that intent is not watched")
		h.register(t, "bob", "judge")
		require.True(t, woken())
		h.send(t, "alice", &sendRequest{ChannelId: far, To: ptr("bob")})
		require.True(t, woken(), "a further intent reaches the agent")
		h.send(t, "alice", &sendRequest{ChannelId: far, To: ptr("role:judge")})
		require.False(t, woken())
		w.Role("judge")
		h.send(t, "alice", &sendRequest{ChannelId: h.open(t), To: ptr("role:judge")})
		require.True(t, woken(), "a further intent reaches the role")
		w.Role("tester")
		h.send(t, "alice", &sendRequest{ChannelId: h.open(t), To: ptr("role:judge")})
		require.False(t, woken())
		w.Intents(twoNo)
		h.say(t, "alice", one, "b")
		require.False(t, woken(), "no longer watched")
		h.say(t, "alice", two, "b")
		require.True(t, woken())
		w.Close()
		h.say(t, "alice", two, "c")
		require.False(t, woken())
		require.False(t, h.listensFor(wake.FeedTopic(oneNo)) || h.listensFor(wake.FeedTopic(twoNo)) || h.listensFor(wake.AgentTopic("bob")))
	})
}

// A change that names an agent wakes it, before anybody sends it a message there.
func TestWatchesWakeForIntentsThatComeToNameTheAgent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID, channelID := h.intent(t), h.explicit(t, "carol")
		w := h.messaging.WatchIntents("bob")
		t.Cleanup(w.Close)
		for _, named := range []struct {
			name  string
			cause func() error
		}{
			{"created", func() error {
				_, err := h.intents.CreateIntent(as("bob"), &openintentv1.CreateIntentRequest{Title: "Bob's"})
				return err
			}},
			{"assigned", func() error {
				_, err := h.intents.AssignAgent(asOperator(), &openintentv1.AssignAgentRequest{IntentId: intentID, AgentId: "bob"})
				return err
			}},
			{"granted access", func() error {
				_, err := h.intents.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
					IntentId: intentID, PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
				})
				return err
			}},
			{"coordinating", func() error {
				_, err := h.intents.CreateCoordinator(asOperator(), &openintentv1.CreateCoordinatorRequest{
					IntentId: &intentID, AgentId: ptr("bob"),
				})
				return err
			}},
			{"added", func() error {
				_, err := h.channels.AddChannelMembers(asOperator(), &openintentv1.AddChannelMembersRequest{
					ChannelId: channelID, Members: []string{"bob"},
				})
				return err
			}},
			{"listed at once", func() error {
				_, err := h.channels.CreateChannel(asOperator(), &createRequest{
					IntentId: intentID, Name: "with bob", Members: []string{"bob"},
				})
				return err
			}},
			{"listed anew", func() error {
				_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
					Channel:    &openintentv1.Channel{Id: channelID, Members: []string{"carol", "bob"}},
					UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"members"}},
				})
				return err
			}},
		} {
			require.NoError(t, named.cause(), named.name)
			select {
			case <-w.C():
			default:
				require.Fail(t, "nothing woke", named.name)
			}
		}
		_, err := h.intents.CreateAccessEntry(asOperator(), &openintentv1.CreateAccessEntryRequest{
			IntentId: intentID, PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ,
			PrincipalType: ptr(openintentv1.PrincipalType_PRINCIPAL_TYPE_GROUP),
		})
		require.NoError(t, err)
		require.Empty(t, w.C(), "that bob is a group")
	})
}
