package subscriptions

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/database/databasetest"
	openintentv1 "openintent/gen/openintent/v1"
)

// looks counts how often a subscription is read. A look of a stream reads it; what is handed over takes no look.
type looks struct{ atomic.Int64 }

func (l *looks) count(s *settings) {
	s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
		if strings.Contains(sql, "FROM subscriptions s") {
			l.Add(1)
		}
		return nil
	}
}

// explicit creates a channel for its members alone.
func (r rooms) explicit(t require.TestingT, intentID, name string, members ...string) string {
	channel, err := r.channels.CreateChannel(as("creator"), &openintentv1.CreateChannelRequest{
		IntentId: intentID, Name: name, Members: members, MemberPolicy: ptr(openintentv1.MemberPolicy_MEMBER_POLICY_EXPLICIT),
	})
	require.NoError(t, err)
	return channel.GetId()
}

// A stream that has sent everything takes what is handed over to it without a look. What hangs on a role or on membership takes one.
func TestAStreamTakesWhatIsHandedOver(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			seen := new(looks)
			h := newHouse(t, engine, seen.count)
			h.unhurried()
			h.register(t, "bob", "judge")
			intent := h.intent(t)
			channel, members := h.open(t, intent, "talk"), h.explicit(t, intent, "members", "ann", "bob")
			for name, req := range map[string]*createInput{
				"everything": {}, "the intent": {IntentId: &intent}, "the channel": {ChannelId: &channel},
			} {
				req.Name = &name
				sub := h.subscribe(t, "bob", req)
				s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(1000))})
				h.warmUp(t, s, sub, channel)
				// round sends one message and returns whether the stream looked before it came.
				round := func(channelID, sender, to string) bool {
					before := seen.Load()
					h.send(t, sender, channelID, to, to)
					require.Equal(t, to, textOf(s.next(t).GetMessage()))
					return seen.Load() > before
				}
				round(channel, "bob", "ann")
				for _, c := range []struct {
					channel, sender, to string
					looks               bool
				}{
					{channel, "ann", "bob", false}, {channel, "ann", "*", false}, {channel, "bob", "ann", false},
					{members, "ann", "bob", false}, {channel, "ann", "role:judge", true}, {members, "ann", "*", true},
				} {
					if c.channel == members && req.ChannelId != nil {
						continue
					}
					if c.looks {
						for range 3 {
							require.True(t, round(c.channel, c.sender, c.to), "%s: from %s to %s", name, c.sender, c.to)
						}
						continue
					}
					eventually(t, func() bool { return !round(c.channel, c.sender, c.to) }, name+": from "+c.sender+" to "+c.to)
				}
				s.cancel()
				require.ErrorIs(t, s.end(t), context.Canceled)
			}
		})
	}
}

// What is handed over counts in the window, and a stream whose window is full sends nothing.
func TestWhatIsHandedOverFillsTheWindow(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{})
		s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(3))})
		last := h.warmUp(t, s, sub, channel)
		for _, text := range []string{"one", "two", "three", "four", "five"} {
			h.send(t, "ann", channel, "bob", text)
		}
		for _, text := range []string{"one", "two", "three"} {
			require.Equal(t, text, textOf(s.next(t).GetMessage()))
		}
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 3 }, "")
		select {
		case d := <-s.deliveries:
			require.Fail(t, "the window is full", "%v", d)
		default:
		}
		h.acknowledge(t, sub, last+1, last+2)
		require.Equal(t, "four", textOf(s.next(t).GetMessage()))
		require.Equal(t, "five", textOf(s.next(t).GetMessage()))
	})
}
