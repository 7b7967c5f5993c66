package subscriptions

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database/databasetest"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/subscriptions/record"
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

// An acknowledgement at the replica of the stream reads nothing by itself: the transaction that stores it also says how the
// subscription is then, as a read would.
func TestAnAcknowledgementAheadIsAnsweredWithoutAFurtherRead(t *testing.T) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			bobs := new(calls)
			h := newHouse(t, engine, bobs.count)
			h.unhurried()
			channel := h.open(t, h.intent(t), "talk")
			sub := h.subscribe(t, "bob", &createInput{AcknowledgeSeconds: ptr(int32(60))})
			s := h.stream(t, sub, &openintentv1.StreamDeliveriesRequest{MaxOutstanding: ptr(int32(1000))})
			h.warmUp(t, s, sub, channel)
			next := func() int64 {
				h.send(t, "ann", channel, "bob", "text")
				return s.next(t).GetNumber()
			}
			// The answer is what a read finds once everything that was sent is stored.
			acknowledge := func(numbers ...int64) {
				before := bobs.Load()
				answered := h.acknowledge(t, sub, numbers...)
				require.Zero(t, bobs.Load()-before, "the call makes no statement of its own")
				require.NoError(t, h.subscriptions.settler.Named(sub.GetId()).Settle(t.Context()))
				require.True(t, proto.Equal(h.get(t, sub), answered), "%v\n%v", h.get(t, sub), answered)
			}
			// Each step acknowledges some of what has come; the rest is stored, so later steps acknowledge stored deliveries, too.
			left := []int64{}
			for _, take := range []func(numbers []int64) []int64{
				func(n []int64) []int64 { return n },
				func(n []int64) []int64 { return n[1:] },
				func(n []int64) []int64 { return n[len(n)-1:] },
				func(n []int64) []int64 { return n[1:3] },
			} {
				for range 3 {
					left = append(left, next())
				}
				numbers := slices.Clone(take(left))
				acknowledge(numbers...)
				left = slices.DeleteFunc(left, func(number int64) bool { return slices.Contains(numbers, number) })
			}
			require.NotEmpty(t, left)
			for len(left) > 0 {
				acknowledge(left[0])
				left = left[1:]
			}
		})
	}
}

// calls counts the statements that calls of agents make.
type calls struct{ atomic.Int64 }

func (c *calls) count(s *settings) {
	s.database.Hooks.Statement = func(ctx context.Context, _ string) func() {
		if by, calling := caller.From(ctx); calling && by.Agent == "bob" {
			c.Add(1)
		}
		return nil
	}
}

// Nobody acknowledges what a stream has sent to somebody else, whoever knows the subscription's id.
func TestNobodyAcknowledgesAheadForAnother(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		h.unhurried()
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{})
		s := h.stream(t, sub, nil)
		h.warmUp(t, s, sub, channel)
		h.send(t, "ann", channel, "bob", "one")
		number := s.next(t).GetNumber()
		acknowledge := func(ctx context.Context) error {
			_, err := h.subscriptions.AcknowledgeDeliveries(ctx, &openintentv1.AcknowledgeDeliveriesRequest{
				SubscriptionId: sub.GetId(), Numbers: []int64{number},
			})
			return err
		}
		elsewhere := caller.NewContext(t.Context(), caller.Caller{
			Agent: "bob", KeyID: "narrow", Scope: &caller.Scope{Intents: []string{h.intent(t)}},
		})
		for name, ctx := range map[string]context.Context{"another agent": as("eve"), "a key for another intent": elsewhere} {
			faulttest.Require(t, acknowledge(ctx), fault.NotFound, "SUBSCRIPTION_NOT_FOUND")
			require.Equal(t, int64(0), h.get(t, sub).GetOutstandingCount(), name) // nothing was stored
		}
		require.NoError(t, acknowledge(asOperator()))
	})
}

// What was sent and is due again comes before anything that is handed over.
func TestWhatIsDueComesBeforeWhatIsHandedOver(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{AcknowledgeSeconds: ptr(int32(10))})
		s := h.stream(t, sub, nil)
		h.warmUp(t, s, sub, channel)
		for range 2 { // the second one is handed over
			h.send(t, "ann", channel, "bob", "one")
			require.Equal(t, "one", textOf(s.next(t).GetMessage()))
		}
		eventually(t, func() bool { return h.get(t, sub).GetOutstandingCount() == 2 }, "")
		h.clock.Advance(10 * time.Second)
		h.send(t, "ann", channel, "bob", "two")
		for range 2 {
			again := s.next(t)
			require.Equal(t, "one", textOf(again.GetMessage()))
			require.Equal(t, int32(2), again.GetAttempt())
		}
		require.Equal(t, "two", textOf(s.next(t).GetMessage()))
	})
}

// Nothing is handed to an expired subscription.
func TestAnExpiredSubscriptionTakesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{AcknowledgeSeconds: ptr(int32(3600)), ExpiresAt: h.in(record.LeaseTime / 2)})
		s := h.stream(t, sub, nil)
		h.warmUp(t, s, sub, channel)
		for range 2 {
			h.send(t, "ann", channel, "bob", "in time")
			require.Equal(t, "in time", textOf(s.next(t).GetMessage()))
		}
		h.clock.Advance(record.LeaseTime / 2) // the lease lasts longer
		h.send(t, "ann", channel, "bob", "too late")
		faulttest.Require(t, s.end(t), fault.Conflict, "SUBSCRIPTION_ENDED")
	})
}
