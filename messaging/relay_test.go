package messaging

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/channels"
)

// everyTopic has each type of topic.
func everyTopic() []any {
	return []any{
		channels.Key{IntentNo: 1, ChannelNo: 2},
		channels.Key{IntentNo: math.MaxInt64, ChannelNo: math.MaxInt64},
		closingTopic{IntentNo: 1, ChannelNo: 2},
		requestTopic(newMessageID()),
		intentTopic(1),
		feedTopic(math.MaxInt64),
		agentTopic("agent-1"),
		agentTopic("an agent, ü.7"),
		audienceTopic("agent-1"),
		audienceTopic("role:tester"),
		subscriptionTopic(36),
	}
}

func TestTopicsTravelAsNotices(t *testing.T) {
	topics := everyTopic()
	notices := noticesOf(topics)
	require.Equal(t, topics, topicsOf(notices))
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
		"z1", "\xff", "\x00",
	} {
		require.Nil(t, topicOf(notice), "%q", notice)
	}
	require.Equal(t, []any{intentTopic(1), feedTopic(2)}, topicsOf([]string{"i1", "?", "", "f2"}))
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
	h := newHub()
	var told []any
	h.tell = func(topics []any) { told = append(told, topics...) }
	one, other := h.listen(intentTopic(1)), h.listen(intentTopic(2), agentTopic("bob"))
	h.wakeUp(intentTopic(1))
	require.True(t, woken(one))
	require.False(t, woken(other))
	require.Equal(t, []any{intentTopic(1)}, told)
	h.wakeHere(agentTopic("bob"))
	require.False(t, woken(one))
	require.True(t, woken(other))
	h.wakeAll()
	require.True(t, woken(one))
	require.True(t, woken(other))
	require.Len(t, told, 1)
}
