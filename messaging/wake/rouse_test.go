package wake

import (
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Those who wait rest again once they have looked, and not before.
func TestRousedListenersRestWhenTheyWaitAgain(t *testing.T) {
	hub := NewHub()
	alone, member := hub.Listen(FeedTopic(1)), hub.ListenLooking()
	group := hub.NewGroup(AgentTopic("alice"))
	group.Join(member)
	called := 0
	calling := hub.ListenCalling(func() { called++ })
	calling.Also(FeedTopic(1))

	roused := hub.RouseAll()
	require.Equal(t, 1, called)
	for _, listener := range []*Listener{alone, member} {
		require.False(t, roused.Resting())
		<-listener.Woken() // it was busy before, and looks now
		require.False(t, roused.Resting())
		listener.Woken()
	}
	require.True(t, roused.Resting())
}

func TestAListenerThatIsWokenMeanwhileLooksAgain(t *testing.T) {
	hub := NewHub()
	listener := hub.Listen(FeedTopic(1))
	roused := hub.RouseAll()
	<-listener.Woken()
	hub.WakeUp(FeedTopic(1))
	listener.Woken()
	require.False(t, roused.Resting(), "there is another wake-up to look after")
	<-listener.Woken()
	listener.Woken()
	require.True(t, roused.Resting())
}

// A listener that has ended is not waited for.
func TestAListenerThatEndsRests(t *testing.T) {
	hub := NewHub()
	listener := hub.Listen(FeedTopic(1))
	roused := hub.RouseAll()
	listener.Close()
	require.True(t, roused.Resting())
	require.True(t, hub.RouseAll().Resting())
}

// However waits and wake-ups meet, a listener rests once it has looked, and not before.
func TestRousingMeetsWaiting(t *testing.T) {
	hub := NewHub()
	listener := hub.Listen(FeedTopic(1))
	looks := make(chan struct{})
	go func() {
		for {
			select {
			case <-listener.Woken():
				<-looks // not before the test lets it
			case <-t.Context().Done():
				return
			}
		}
	}()
	for range 1000 {
		roused := hub.RouseAll()
		require.False(t, roused.Resting())
		looks <- struct{}{}
		for !roused.Resting() {
			runtime.Gosched()
		}
	}
}
