package messaging

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
)

type wireDelivery = openintentv1.SubscribeResponse

func TestStreamFromNowOn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		channel := h.channel(t, id)
		h.say(t, "alice", id, "before")
		alice, bob := h.follow(t, "alice", id, nil), h.follow(t, "bob", id, nil)
		m := h.say(t, "alice", id, "one")
		position := h.positionOf(t, id)
		for _, follower := range []*streaming{alice, bob} {
			d := follower.next(t)
			require.Empty(t, cmpMessages(m, d.GetMessage()), "own messages included")
			require.Equal(t, position, d.GetPosition())
			require.Equal(t, channel.GetIntentId(), d.GetIntentId())
			require.Equal(t, channel.GetName(), d.GetChannelName())
			require.False(t, d.GetBackfill())
		}
		h.say(t, "bob", id, "two")
		h.say(t, "carol", id, "three")
		require.Equal(t, []string{"two", "three"}, alice.texts(t, 2))
		require.Equal(t, []string{"two", "three"}, bob.texts(t, 2))
		bob.cancel()
		require.ErrorIs(t, bob.end(t), context.Canceled)
		h.say(t, "bob", id, "four")
		require.Equal(t, []string{"four"}, alice.texts(t, 1))
	})
}

func TestStreamsTellWhereTheyBegin(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "before")
		f := h.follow(t, "bob", id, nil)
		begin := h.positionOf(t, id)
		require.Equal(t, []string{fmt.Sprint(begin)}, f.accepted.Get(PositionHeader))
		f.cancel()
		require.ErrorIs(t, f.end(t), context.Canceled)
		h.say(t, "alice", id, "meanwhile")
		again := h.follow(t, "bob", id, &begin)
		require.Equal(t, []string{fmt.Sprint(begin)}, again.accepted.Get(PositionHeader))
		require.Equal(t, []string{"meanwhile"}, again.texts(t, 1), "nothing is missed, though nothing was received")
	})
}

func TestStreamFromAPosition(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		positions := []int64{0}
		for i := range 6 {
			h.say(t, "alice", id, fmt.Sprint(i))
			h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("carol"), Payload: content("not for bob")})
			positions = append(positions, h.positionOf(t, id))
		}
		for i, position := range positions {
			f := h.follow(t, "bob", id, &position)
			for n := i; n < 6; n++ {
				d := f.next(t)
				require.Equal(t, fmt.Sprint(n), textOf(d.GetMessage()))
				require.Equal(t, positions[n+1]-1, d.GetPosition())
			}
			f.cancel()
			require.ErrorIs(t, f.end(t), context.Canceled)
		}
		f := h.follow(t, "bob", id, &positions[5])
		require.Equal(t, []string{"5"}, f.texts(t, 1))
		h.say(t, "alice", id, "live")
		require.Equal(t, []string{"live"}, f.texts(t, 1), "and goes on with what comes")
	})
}

func TestStreamsAreRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice")
		last := h.positionOf(t, id)
		_, err := h.tryFollow(as("alice"), id, ptr(last+1))
		refused := faulttest.Require(t, err, fault.Conflict, "CURSOR_BEYOND_LOG")
		require.Equal(t, map[string]string{"last_position": fmt.Sprint(last)}, refused.Metadata)
		_, err = h.tryFollow(as("bob"), id, nil)
		faulttest.Require(t, err, fault.Denied, "NOT_A_MEMBER")
		_, err = h.tryFollow(context.Background(), id, nil)
		faulttest.Require(t, err, fault.Unauthenticated, "UNAUTHENTICATED")
		_, err = h.tryFollow(as("alice"), "chan_01ARZ3NDEKTSV4RRFFQ69G5FAV", nil)
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		gone := h.open(t)
		h.deleteChannel(t, gone)
		_, err = h.tryFollow(as("alice"), gone, nil)
		faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
		h.admit(t, h.channel(t, id).GetIntentId(), "bob")
		_, err = h.tryFollow(as("alice"), id, nil)
		faulttest.Require(t, err, fault.Denied, "FORBIDDEN")
		f, err := h.tryFollow(as("alice"), h.open(t), ptr(int64(0)))
		require.NoError(t, err)
		f.cancel()
		require.ErrorIs(t, f.end(t), context.Canceled)
	})
}

func TestStreamsShowOnlyWhatTheirCallersMaySee(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "tess", "tester")
		agents := []string{"alice", "bob", "carol", "tess"}
		live, replay := make(map[string]*streaming), make(map[string]*streaming)
		for _, agent := range agents {
			live[agent] = h.follow(t, agent, id, nil)
		}
		operator, err := h.tryFollow(asOperator(), id, nil)
		require.NoError(t, err)
		t.Cleanup(operator.cancel)
		for _, to := range []string{"bob", "carol", "role:tester", "role:other", "*"} {
			h.send(t, "alice", &sendRequest{ChannelId: id, To: &to, Payload: content(to)})
		}
		h.say(t, "tess", id, "end")
		for _, agent := range agents {
			replay[agent] = h.follow(t, agent, id, ptr(int64(0)))
		}
		for agent, texts := range map[string]string{
			"alice": "bob carol role:tester role:other * end",
			"bob":   "bob * end",
			"carol": "carol * end",
			"tess":  "role:tester * end",
		} {
			expected := strings.Fields(texts)
			require.Equal(t, expected, live[agent].texts(t, len(expected)), agent)
			require.Equal(t, expected, replay[agent].texts(t, len(expected)), agent)
		}
		require.Equal(t, strings.Fields("bob carol role:tester role:other * end"), operator.texts(t, 6))
	})
}

func TestClosingEndsStreamsAfterTheLastMessage(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		for name, end := range map[string]func(channel *openintentv1.Channel){
			"by its manager":  func(c *openintentv1.Channel) { h.closeChannel(t, c.GetId()) },
			"with its intent": func(c *openintentv1.Channel) { h.setStatus(t, c.GetIntentId(), completed) },
		} {
			id := h.open(t)
			before := h.positionOf(t, id)
			f := h.follow(t, "bob", id, nil)
			for i := range 5 {
				h.say(t, "alice", id, fmt.Sprint(i))
			}
			end(h.channel(t, id))
			require.Equal(t, []string{"0", "1", "2", "3", "4"}, f.texts(t, 5), name)
			faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")

			late := h.follow(t, "bob", id, &before)
			require.Equal(t, []string{"0", "1", "2", "3", "4"}, late.texts(t, 5), name)
			faulttest.Require(t, late.end(t), fault.Conflict, "CHANNEL_CLOSED")
			faulttest.Require(t, h.follow(t, "bob", id, nil).end(t), fault.Conflict, "CHANNEL_CLOSED")
		}
		id := h.open(t)
		f := h.follow(t, "bob", id, nil)
		h.deleteChannel(t, id)
		faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")
	})
}

func TestLapsedChannelEndsItsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{TtlSeconds: ptr(int64(5))}})
		f := h.follow(t, "bob", id, nil)
		h.clock.Advance(time.Minute)
		faulttest.Require(t, f.end(t), fault.Conflict, "CHANNEL_CLOSED")
	}, restless)
}

func TestLosingAccessEndsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob", "carol")
		bob, carol := h.follow(t, "bob", id, nil), h.follow(t, "carol", id, nil)
		h.removeMember(t, id, "bob")
		faulttest.Require(t, bob.end(t), fault.Denied, "NOT_A_MEMBER")
		h.say(t, "alice", id, "still")
		require.Equal(t, []string{"still"}, carol.texts(t, 1))
		h.admit(t, h.channel(t, id).GetIntentId(), "alice")
		faulttest.Require(t, carol.end(t), fault.Denied, "FORBIDDEN")

		gone := h.explicit(t, "alice", "dora")
		h.register(t, "dora", "")
		h.clock.Advance(time.Second)
		dora := h.follow(t, "dora", gone, nil)
		h.deregister(t, "dora")
		faulttest.Require(t, dora.end(t), fault.Denied, "NOT_A_MEMBER")
	})
}

// Access that ends by time ends streams at that time, without a wake-up.
func TestAccessThatExpiresEndsStreams(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		_, err := h.intents.SetAccessControl(asOperator(), &openintentv1.SetAccessControlRequest{
			IntentId: h.channel(t, id).GetIntentId(), DefaultPolicy: openintentv1.AccessPolicy_ACCESS_POLICY_CLOSED,
			Entries: []*openintentv1.AccessEntryInput{{
				PrincipalId: "bob", Permission: openintentv1.Permission_PERMISSION_READ, ExpiresAt: h.in(50 * time.Millisecond),
			}},
		})
		require.NoError(t, err)
		f := h.follow(t, "bob", id, nil)
		h.clock.Advance(time.Second)
		faulttest.Require(t, f.end(t), fault.Denied, "FORBIDDEN")
	})
}

// A client that takes its time gets nothing any more once its rights are gone, though it was read before.
func TestRightsAreThoseOfTheDelivery(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		f := h.follow(t, "bob", id, nil)
		watcher := h.follow(t, "alice", id, nil)
		h.fill(t, id, "alice", 5)
		require.Len(t, watcher.texts(t, 5), 5)
		h.removeMember(t, id, "bob")
		h.awaitSight(t, id)
		require.Equal(t, []string{"1"}, f.texts(t, 1), "under way already")
		faulttest.Require(t, f.end(t), fault.Denied, "NOT_A_MEMBER")
	})
}

// awaitSight waits until the followers of a channel know of the latest change of its rules: whoever joins them is admitted by
// a look that began afterwards, which all share.
func (h *house) awaitSight(t *testing.T, channelID string) {
	f, err := h.tryFollow(asOperator(), channelID, nil)
	require.NoError(t, err)
	f.cancel()
}

// awaitSightOfIntent is awaitSight for the followers of a channel's intent.
func (h *house) awaitSightOfIntent(t *testing.T, channelID string) {
	h.subscribeIntent(asOperator(), t, h.channel(t, channelID).GetIntentId(), nil).cancel()
}
