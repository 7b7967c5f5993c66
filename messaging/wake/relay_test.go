package wake

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/messaging/message"
)

// everyTopic has each type of topic.
func everyTopic() []any {
	return []any{
		channels.Key{IntentNo: 1, ChannelNo: 2},
		channels.Key{IntentNo: math.MaxInt64, ChannelNo: math.MaxInt64},
		ClosingTopic{IntentNo: 1, ChannelNo: 2},
		RequestTopic(message.NewID()),
		IntentTopic(1),
		FeedTopic(math.MaxInt64),
		AgentTopic("agent-1"),
		AgentTopic("an agent, ü.7"),
		AudienceTopic("agent-1"),
		AudienceTopic("role:tester"),
		SubscriptionTopic(36),
		LeaseTopic(37),
		Reached{"agent.2", 38},
	}
}

func TestTopicsTravelAsNotices(t *testing.T) {
	topics := everyTopic()
	notices := noticesOf(topics)
	require.Equal(t, topics, topicsOf(notices))
	require.Equal(t, "n12.agent.2", notices[len(notices)-1])
	require.Equal(t, []any{AudienceTopic("agent.2")}, topicsOf([]string{"uagent.2"}))
	require.Equal(t, topics[len(topics)-1:], topicsOf([]string{"uagent.2", "n12.agent.2"}), "release 0.2 says it twice")
	require.Equal(t, "c1.2", notices[0])
	require.Equal(t, "i1", notices[4])
	distinctNotices := make(map[string]bool)
	for _, notice := range notices {
		distinctNotices[notice] = true
	}
	require.Len(t, distinctNotices, len(topics))
	require.Panics(t, func() { noticeOf(7) }, "a new type of topic is not forgotten")
}

func TestNoticesOfNoKnownKind(t *testing.T) {
	for _, notice := range []string{
		"", "c", "c1", "c1.", "c.2", "c1.2.3", "c0.1", "c1.-2", "x9223372036854775808.1", "i", "i0", "i-1", "f!", "f1y2p0ij32e8e8",
		"z1", "n.bob", "n0.bob", "\xff", "\x00",
	} {
		require.Nil(t, topicOf(notice), "%q", notice)
	}
	require.Equal(t, []any{IntentTopic(1), FeedTopic(2)}, topicsOf([]string{"i1", "?", "", "f2"}))
}

// Whatever comes in is read without harm, and what is understood means one topic only.
func FuzzNotice(f *testing.F) {
	for _, notice := range noticesOf(everyTopic()) {
		f.Add(notice)
	}
	f.Add("c1.2.3")
	f.Add("x-")
	f.Fuzz(func(t *testing.T, notice string) {
		if topic := topicOf(notice); topic != nil {
			require.Equal(t, topic, topicOf(noticeOf(topic)))
		}
	})
}

// Own wake-ups reach those who listen here and are told to others; what others told is not told again.
func TestHubTellsOnlyItsOwnWakeUps(t *testing.T) {
	h := NewHub()
	var told []any
	h.tell = func(topics []any) { told = append(told, topics...) }
	one, other := h.Listen(IntentTopic(1)), h.Listen(IntentTopic(2), AgentTopic("bob"))
	h.WakeUp(IntentTopic(1))
	require.True(t, woken(one))
	require.False(t, woken(other))
	require.Equal(t, []any{IntentTopic(1)}, told)
	h.wakeHere(AgentTopic("bob"))
	require.False(t, woken(one))
	require.True(t, woken(other))
	h.wakeAll()
	require.True(t, woken(one))
	require.True(t, woken(other))
	require.Len(t, told, 1)
}
