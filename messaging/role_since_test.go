package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/fault"
)

// A clock that went ahead and back leaves intents whose time is ahead of it. What was sent there before a role was taken stays
// hidden, what is sent there later is seen, and so is what is sent elsewhere meanwhile.
func TestAStepOfTheClockWidensNoSight(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		ahead, elsewhere := h.open(t), h.open(t)
		tell := func(id, text string) {
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester"), Payload: content(text)})
		}
		tell(elsewhere, "before")
		start := h.clock.Now()
		h.clock.Set(start.Add(time.Hour))
		tell(ahead, "before, in the future")
		h.clock.Set(start.Add(time.Second))
		h.register(t, "bob", "tester")
		h.clock.Advance(time.Second)
		tell(ahead, "after, ahead")
		tell(elsewhere, "after")
		seen := func(id string) []string { return textsOf(h.list(t, "bob", &listRequest{ChannelId: id})) }
		require.Equal(t, []string{"after, ahead"}, seen(ahead))
		require.Equal(t, []string{"after"}, seen(elsewhere))
		h.register(t, "bob", "tester")
		require.Equal(t, []string{"after, ahead"}, seen(ahead), "registering again keeps both")
	})
}

// A role that was taken while the clock was ahead is taken anew when its holder registers again.
func TestARoleFromAWrongFutureBeginsAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, start := h.open(t), h.clock.Now()
		h.clock.Set(start.Add(time.Hour))
		h.register(t, "bob", "tester")
		h.clock.Set(start.Add(time.Second))
		h.register(t, "bob", "tester")
		h.clock.Advance(time.Second)
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester"), Payload: content("now")})
		require.Equal(t, []string{"now"}, textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// Answering an open request from before does not take it from who has answered it, and it may answer once more; who has not
// answered it in time sees it no more.
func TestWhoAnsweredAnOldRequestKeepsIt(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		asked := h.asks(t, "alice", id, "role:tester")
		h.clock.Advance(time.Second)
		for _, agent := range []string{"bob", "carol", "dave"} {
			h.register(t, agent, "tester")
			require.True(t, h.sees(t, agent, asked))
		}
		h.clock.Advance(time.Second)
		_, err := h.tryRead(as("dave"), id, asked.GetId())
		require.NoError(t, err)
		h.reply(t, "bob", id, asked.GetId(), "one")
		require.True(t, h.sees(t, "bob", asked))
		require.False(t, h.sees(t, "carol", asked))
		require.True(t, h.sees(t, "dave", asked), "it has read it")
		h.reply(t, "bob", id, asked.GetId(), "two")
		h.reply(t, "dave", id, asked.GetId(), "three")
		_, err = h.tryReply(as("carol"), id, asked.GetId(), "late")
		requireFault(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
	})
}
