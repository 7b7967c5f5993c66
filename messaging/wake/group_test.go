package wake

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A wake-up of a group reaches its members once, is noted once, and is handed over to those who take it.
func TestAGroupWakesItsMembers(t *testing.T) {
	hub := NewHub()
	group := hub.NewGroup(FeedTopic(1), AudienceTopic("bob"))
	called := 0
	taking, looking, calling := hub.Listen(), hub.ListenLooking(SubscriptionTopic(3)), hub.ListenCalling(func() { called++ })
	for _, member := range []*Listener{taking, looking, calling} {
		group.Join(member)
	}
	require.Equal(t, []*Group{group}, hub.GroupsOf(FeedTopic(1)))
	require.Empty(t, hub.GroupsOf(SubscriptionTopic(3)))

	stored := &Handover{}
	hub.WakeWith(func(heard []any) map[any]*Handover {
		require.Equal(t, []any{FeedTopic(1)}, heard)
		return map[any]*Handover{FeedTopic(1): stored}
	}, FeedTopic(1), FeedTopic(2))
	require.True(t, woken(taking) && woken(looking))
	require.Equal(t, 1, called)
	given, look := taking.Take()
	require.Equal(t, []*Handover{stored}, given)
	require.False(t, look)
	topics, all := group.Noted()
	require.Equal(t, map[any]struct{}{FeedTopic(1): {}}, topics)
	require.False(t, all)
	require.False(t, looking.Stirred(), "it was woken by its group alone")

	hub.WakeUp(SubscriptionTopic(3))
	require.True(t, woken(looking))
	require.True(t, looking.Stirred())
	require.False(t, woken(taking))
	hub.WakeNamed(7, []string{"bob", "eve"})
	topics, _ = group.Noted()
	require.Equal(t, map[any]struct{}{Reached{"bob", 7}: {}}, topics)
	require.True(t, woken(taking) && woken(looking))

	taking.Close()
	require.False(t, group.listener.takes(), "the others only look")
	hub.wakeAll()
	require.False(t, woken(taking))
	require.True(t, woken(looking))
	_, all = group.Noted()
	require.True(t, all)
	require.Equal(t, 3, called)
	group.Close()
	hub.WakeUp(FeedTopic(1))
	require.False(t, woken(looking))
	require.Empty(t, hub.GroupsOf(FeedTopic(1)))
}
