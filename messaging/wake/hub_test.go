package wake

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestHandsHoldAFewThingsAndThenAskForALook(t *testing.T) {
	var h mailbox
	one := &Handover{bytes: 1}
	for range maxHandovers {
		h.put(one)
	}
	given, look := h.take()
	require.Len(t, given, maxHandovers)
	require.False(t, look)
	given, look = h.take()
	require.Empty(t, given, "it was taken")
	require.False(t, look)

	for range maxHandovers + 1 {
		h.put(one)
	}
	given, look = h.take()
	require.Empty(t, given, "too many")
	require.True(t, look)

	h.put(one)
	h.put(&Handover{bytes: maxHandedBytes})
	given, look = h.take()
	require.Empty(t, given, "too large")
	require.True(t, look)

	h.put(one)
	h.put(nil)
	h.put(one)
	given, look = h.take()
	require.Empty(t, given, "a look sees all of it")
	require.True(t, look)

	h.put(one)
	given, look = h.take()
	require.Len(t, given, 1, "an empty mailbox begins anew")
	require.False(t, look)
}

func TestOnlyWhatIsListenedForIsHandedOver(t *testing.T) {
	hub := NewHub()
	var told []any
	hub.tell = func(topics []any) { told = topics }
	topics := []any{RequestTopic("a"), RequestTopic("b"), RequestTopic("c")}
	hub.WakeWith(func([]any) map[any]*Handover {
		require.Fail(t, "nobody listens")
		return nil
	}, topics...)
	require.Equal(t, topics, told)

	one, other := hub.Listen(RequestTopic("a")), hub.Listen(RequestTopic("b"))
	stored := &Handover{}
	hub.WakeWith(func(heard []any) map[any]*Handover {
		require.ElementsMatch(t, topics[:2], heard)
		return map[any]*Handover{RequestTopic("a"): stored}
	}, topics...)
	require.Equal(t, topics, told)
	require.True(t, woken(one))
	given, look := one.mailbox.take()
	require.Equal(t, []*Handover{stored}, given)
	require.False(t, look)
	require.True(t, woken(other))
	given, look = other.mailbox.take()
	require.Empty(t, given)
	require.True(t, look, "who is given nothing looks")
}

// woken reports whether the listener was woken since it was asked last.
func woken(l *Listener) bool {
	select {
	case <-l.wake:
		return true
	default:
		return false
	}
}

// A party that takes nothing is woken, and costs the writer no handover.
func TestWhoOnlyLooksIsHandedNothing(t *testing.T) {
	hub := NewHub()
	looking := hub.ListenLooking(FeedTopic(1))
	hub.WakeWith(func([]any) map[any]*Handover {
		require.Fail(t, "nobody takes anything")
		return nil
	}, FeedTopic(1))
	require.True(t, woken(looking))
	taking, stored := hub.Listen(FeedTopic(1)), &Handover{}
	hub.WakeWith(func([]any) map[any]*Handover { return map[any]*Handover{FeedTopic(1): stored} }, FeedTopic(1))
	given, look := looking.Take()
	require.Empty(t, given)
	require.True(t, look)
	given, look = taking.Take()
	require.Equal(t, []*Handover{stored}, given)
	require.False(t, look)
}
