package messaging

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
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

// An answer takes a request from nobody who held the role while it was open: several may answer. Who takes the role after
// that sees it only by what it has read or answered itself.
func TestWhoHeldTheRoleWhileARequestWasOpenKeepsIt(t *testing.T) {
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
		require.True(t, h.sees(t, "carol", asked), "it was open when carol took the role")
		require.True(t, h.sees(t, "dave", asked), "it has read it")
		h.reply(t, "bob", id, asked.GetId(), "two")
		h.reply(t, "carol", id, asked.GetId(), "three")
		for agent, sees := range map[string]bool{"bob": true, "carol": true, "dave": true, "eve": false} {
			h.clock.Advance(time.Second)
			if agent != "eve" {
				h.deregister(t, agent)
			}
			h.register(t, agent, "tester")
			require.Equal(t, sees, h.sees(t, agent, asked), "%s took the role after the answers", agent)
			_, err := h.tryReply(as(agent), id, asked.GetId(), "again")
			if sees {
				require.NoError(t, err, agent)
				continue
			}
			faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		}
	})
}
