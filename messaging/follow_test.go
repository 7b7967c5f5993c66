package messaging

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
	"openintent/messaging/reading"
)

// A role gained brings the open requests to it from behind the cursor; the cursor stays.
func TestGainedRoleBringsOpenRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "writer")
		h.register(t, "tess", "tester")
		ask := func(text string, to string, expiry time.Duration) *wireMessage {
			req := &sendRequest{ChannelId: id, To: &to, MessageType: ptr(request), Payload: content(text)}
			if expiry > 0 {
				req.ExpiresAt = h.in(expiry)
			}
			return h.send(t, "alice", req)
		}
		answered := ask("answered", "role:tester", 0)
		h.reply(t, "tess", id, answered.GetId(), "")
		ask("short-lived", "role:tester", time.Minute)
		ask("open", "role:tester", 0)
		ask("for a writer", "role:writer", 0)
		ask("for another", "role:other", 0)
		h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("role:tester"), Payload: content("a note to testers")})
		h.send(t, "bob", &sendRequest{
			ChannelId: id, To: ptr("role:tester"), MessageType: ptr(request), Payload: content("bob's own"),
		})
		f := h.follow(t, "bob", id, nil)
		ask("while following", "role:tester", 0)
		h.say(t, "alice", id, "to all")
		d := f.next(t)
		require.Equal(t, "to all", textOf(d.GetMessage()))
		reached := d.GetPosition()
		h.clock.Advance(2 * time.Minute)
		h.register(t, "bob", "tester")
		for _, text := range []string{"open", "while following"} {
			d := f.next(t)
			require.Equal(t, text, textOf(d.GetMessage()))
			require.True(t, d.GetBackfill())
			require.Equal(t, reached, d.GetPosition(), "a backfilled message carries the cursor reached before it")
		}
		ask("after", "role:tester", 0)
		d = f.next(t)
		require.Equal(t, "after", textOf(d.GetMessage()))
		require.False(t, d.GetBackfill())
		require.Greater(t, d.GetPosition(), reached)

		h.register(t, "bob", "tester")
		h.say(t, "alice", id, "nothing again")
		require.Equal(t, []string{"nothing again"}, f.texts(t, 1), "a registration that changes nothing brings nothing")
		h.register(t, "bob", "other")
		require.Equal(t, []string{"for another"}, f.texts(t, 1))
		ask("no longer for bob", "role:tester", 0)
		h.say(t, "alice", id, "end")
		require.Equal(t, []string{"end"}, f.texts(t, 1))
	})
}

// All open requests to a role that was gained come, also if there are more than one statement reads.
func TestGainedRoleBringsManyOpenRequests(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		f := h.follow(t, "bob", id, nil)
		var asked []string
		for i := range reading.FirstChunk + 2 {
			asked = append(asked, h.askFor(t, "alice", id, "role:tester", fmt.Sprint(i)).GetId())
		}
		h.say(t, "alice", id, "to all")
		require.Equal(t, "to all", textOf(f.next(t).GetMessage()))
		h.register(t, "bob", "tester")
		var brought []string
		for range asked {
			brought = append(brought, f.next(t).GetMessage().GetId())
		}
		require.Equal(t, asked, brought)
	})
}

// A follower that began with the role gets no backfill, but what lies after its cursor.
func TestRoleHeldFromTheStartBringsNoBackfill(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.register(t, "bob", "tester")
		h.asks(t, "alice", id, "role:tester")
		f := h.follow(t, "bob", id, nil)
		h.say(t, "alice", id, "first")
		require.Equal(t, []string{"first"}, f.texts(t, 1))
	})
}

// A follower that does not receive falls behind further than what is shared, and still misses nothing.
func TestSlowFollowerMissesNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(5000))}})
		const count = 1287 // more than a tail keeps, by more than two of its pages
		slow, quick := h.follow(t, "bob", id, nil), h.follow(t, "carol", id, nil)
		h.fill(t, id, "alice", count)
		for _, follower := range []*streaming{quick, slow} {
			for i := range count {
				require.Equal(t, fmt.Sprint(i+1), textOf(follower.next(t).GetMessage()))
			}
		}
		h.say(t, "alice", id, "end")
		require.Equal(t, []string{"end"}, slow.texts(t, 1))
	})
}

// Streams cut off anywhere and resumed after the last position received give everything once and in order, while
// others send.
func TestResumedStreamsMissNothing(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		const count = 150
		position := h.positionOf(t, id)
		go func() {
			for i := range count {
				if _, err := h.messaging.SendMessage(as("alice"), &sendRequest{
					ChannelId: id, Payload: content(fmt.Sprint(i + 1)),
				}); err != nil {
					t.Error(err)
				}
			}
		}()
		for received := 0; received < count; {
			f := h.follow(t, "bob", id, &position)
			for range min(1+rand.IntN(20), count-received) {
				d := f.next(t)
				received++
				require.Equal(t, fmt.Sprint(received), textOf(d.GetMessage()))
				require.Greater(t, d.GetPosition(), position)
				position = d.GetPosition()
			}
			f.cancel()
		}
	})
}

// What another replica stores without telling is found when the tail looks again.
func TestLostWakeUpsDelayAndDoNotLose(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t, restless)
	id := one.explicit(t, "alice", "bob", "carol")
	bob, carol := one.follow(t, "bob", id, nil), one.follow(t, "carol", id, nil)
	other.say(t, "alice", id, "one")
	require.Equal(t, []string{"one"}, bob.texts(t, 1))
	require.Equal(t, []string{"one"}, carol.texts(t, 1))
	other.removeMember(t, id, "bob")
	require.ErrorIs(t, bob.end(t), message.ErrNotMember)
	other.closeChannel(t, id)
	require.ErrorIs(t, carol.end(t), message.ErrChannelClosed)
}

// Who joins a channel that is followed already sees it as it is now, not as the others last saw it.
func TestJoiningLooksAnew(t *testing.T) {
	t.Parallel()
	one, other := newReplicas(t) // neither hears of what the other stores
	id := one.explicit(t, "alice", "bob")
	one.follow(t, "bob", id, nil)
	other.say(t, "alice", id, "unheard")
	position := one.positionOf(t, id)
	f := one.follow(t, "bob", id, &position)
	f.cancel()
	f = one.follow(t, "bob", id, nil)
	other.removeMember(t, id, "bob")
	_, err := one.tryFollow(as("bob"), id, nil)
	require.ErrorIs(t, err, message.ErrNotMember)
	require.ErrorIs(t, f.end(t), message.ErrNotMember)
}

// A replay shows messages as they are now, however long others have been sharing them.
func TestReplaysShowWhatHasBecomeOfMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		live := h.follow(t, "bob", id, nil)
		send := func(kind *sendRequest) *wireMessage {
			kind.ChannelId, kind.ExpiresAt = id, h.in(time.Minute)
			m := h.send(t, "alice", kind)
			require.Equal(t, m.GetId(), live.next(t).GetMessage().GetId())
			return m
		}
		note := send(&sendRequest{})
		readNote := send(&sendRequest{})
		answered := send(&sendRequest{To: ptr("bob"), MessageType: ptr(request)})
		unanswered := send(&sendRequest{To: ptr("bob"), MessageType: ptr(request)})
		_, err := h.tryRead(as("bob"), id, readNote.GetId())
		require.NoError(t, err)
		answer := h.reply(t, "bob", id, answered.GetId(), "")
		require.Equal(t, answer.GetId(), live.next(t).GetMessage().GetId())

		replay := h.follow(t, "bob", id, ptr(int64(0)))
		for i, m := range []*wireMessage{note, readNote, answered, unanswered, answer} {
			d := replay.next(t)
			require.Equal(t, m.GetId(), d.GetMessage().GetId())
			if i == 1 {
				require.Equal(t, read, d.GetMessage().GetStatus())
			}
		}
		h.clock.Advance(time.Minute)
		replay = h.follow(t, "bob", id, ptr(int64(0)))
		for _, m := range []*wireMessage{readNote, answered, answer} {
			require.Equal(t, m.GetId(), replay.next(t).GetMessage().GetId(), "what expired is not streamed any more")
		}
		sender := h.follow(t, "alice", id, ptr(int64(0)))
		for _, m := range []*wireMessage{note, readNote, answered, unanswered, answer} {
			d := sender.next(t)
			require.Equal(t, m.GetId(), d.GetMessage().GetId(), "its sender sees it still")
			require.Equal(t, h.get(t, id, m.GetId()).GetStatus(), d.GetMessage().GetStatus())
		}
		h.say(t, "alice", id, "end")
		require.Equal(t, []string{"end"}, replay.texts(t, 1))
	})
}

// A client that takes its time does not get what has expired meanwhile.
func TestNothingExpiredIsDeliveredLate(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		f := h.follow(t, "bob", id, nil)
		watcher := h.follow(t, "carol", id, nil)
		h.say(t, "alice", id, "under way")
		h.send(t, "alice", &sendRequest{ChannelId: id, Payload: content("short-lived"), ExpiresAt: h.in(time.Minute)})
		h.say(t, "alice", id, "end")
		require.Len(t, watcher.texts(t, 3), 3)
		h.clock.Advance(time.Hour)
		require.Equal(t, []string{"under way", "end"}, f.texts(t, 2))
	})
}

func TestStreamsBeginAboveTheFloor(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(2))}})
		h.asks(t, "alice", id, "bob") // evicted, but not deleted
		for i := range 5 {
			h.say(t, "alice", id, fmt.Sprint(i))
		}
		for range 2 {
			f := h.follow(t, "bob", id, ptr(int64(0)))
			require.Equal(t, []string{"3", "4"}, f.texts(t, 2))
			f.cancel()
			h.removeEvicted(t, id)
		}
	})
}

// What was evicted while a client took its time is not delivered any more.
func TestSlowFollowerGoesOnAboveTheFloor(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(3))}})
		slow, quick := h.follow(t, "bob", id, nil), h.follow(t, "carol", id, nil)
		h.say(t, "alice", id, "under way")
		require.Equal(t, []string{"under way"}, quick.texts(t, 1))
		h.fill(t, id, "alice", 9)
		for textOf(quick.next(t).GetMessage()) != "9" { // the tail has seen them all then
		}
		first := textOf(slow.next(t).GetMessage())
		if first == "under way" {
			first = textOf(slow.next(t).GetMessage())
		}
		require.Equal(t, "7", first)
		require.Equal(t, []string{"8", "9"}, slow.texts(t, 2))
	})
}

func TestTailsEndWithTheirFollowers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		var followers []*streaming
		for _, agent := range []string{"alice", "bob", "bob"} {
			followers = append(followers, h.follow(t, agent, id, nil))
		}
		for i, f := range followers {
			h.say(t, "carol", id, fmt.Sprint(i))
			for _, other := range followers[i:] {
				require.Equal(t, []string{fmt.Sprint(i)}, other.texts(t, 1), "each stream is on its own")
			}
			f.cancel()
			require.ErrorIs(t, f.end(t), context.Canceled)
		}
		h.messaging.tails.Stop()
		require.False(t, h.listensFor(h.key(t, id)))
	})
}
