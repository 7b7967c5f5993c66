package messaging

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/channels"
	"openintent/intents"
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
		const count = tailLength + 2*tailPage + 7
		slow, quick := h.follow(t, "bob", id, nil), h.follow(t, "carol", id, nil)
		h.fill(t, id, "alice", count)
		for _, follower := range []*following{quick, slow} {
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

// deafen makes the room lose every wake-up for those who listen now.
func (h *house) deafen() {
	h.messaging.hub.mutex.Lock()
	defer h.messaging.hub.mutex.Unlock()
	h.messaging.hub.listeners = make(map[any]map[*listener]struct{})
}

func TestLostWakeUpsDelayAndDoNotLose(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob", "carol")
		bob, carol := h.follow(t, "bob", id, nil), h.follow(t, "carol", id, nil)
		h.deafen()
		h.say(t, "alice", id, "one")
		require.Equal(t, []string{"one"}, bob.texts(t, 1))
		require.Equal(t, []string{"one"}, carol.texts(t, 1))
		h.removeMember(t, id, "bob")
		require.ErrorIs(t, bob.end(t), errNotMember)
		h.closeChannel(t, id)
		require.ErrorIs(t, carol.end(t), errChannelClosed)
	}, restless)
}

// Who joins a channel that is followed already sees it as it is now, not as the others last saw it.
func TestJoiningLooksAnew(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.explicit(t, "alice", "bob")
		h.follow(t, "bob", id, nil)
		h.deafen()
		h.say(t, "alice", id, "unheard")
		position := h.positionOf(t, id)
		f := h.follow(t, "bob", id, &position)
		f.cancel()
		f = h.follow(t, "bob", id, nil)
		h.removeMember(t, id, "bob")
		_, err := h.tryFollow(as("bob"), id, nil)
		require.ErrorIs(t, err, errNotMember)
		require.ErrorIs(t, f.end(t), errNotMember)
	})
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
		var followers []*following
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
		h.messaging.tails.stop()
		require.Empty(t, h.messaging.tails.byScope)
		require.Empty(t, h.messaging.hub.listeners)
	})
}

// What a look adds to the shared messages must leave no gap among them, whatever eviction has left of the rows.
func TestSharedMessagesHaveNoGap(t *testing.T) {
	rows := func(ordinals ...int64) []*Message {
		var rows []*Message
		for _, ordinal := range ordinals {
			rows = append(rows, &Message{Ordinal: ordinal})
		}
		return rows
	}
	sightAt := func(count, floor int64) *sight {
		return &sight{section: section{look: look{
			head: intents.Head{Epoch: 1}, channel: &channels.Rules{}, now: noon,
			count: channels.Count{Messages: count, Floor: floor},
		}}}
	}
	before := sightAt(3, 0)
	before.items, before.after, before.through, before.sharedSince = itemsOf(rows(1, 2, 3)), 0, 3, noon
	for _, row := range []struct {
		name           string
		count, floor   int64
		rows           []*Message
		first, last    int64 // ordinals of what is shared then; 0: nothing is
		after, through int64
	}{
		{"nothing new", 3, 0, nil, 1, 3, 0, 3},
		{"the next ones", 5, 0, rows(4, 5), 1, 5, 0, 5},
		{"the next ones of many", 900, 0, rows(4, 5), 1, 5, 0, 5},
		{"the floor has passed what is shared", 9, 6, rows(7, 8, 9), 7, 9, 6, 9},
		{"an evicted request is left", 9, 6, rows(4, 7, 8, 9), 7, 9, 6, 9},
		{"only evicted requests are left", 900, 898, rows(4, 5), 0, 0, 900, 900},
		{"everything was removed", 9, 0, nil, 0, 0, 9, 9},
	} {
		next := sightAt(row.count, row.floor)
		next.extend(before, row.rows)
		require.Equal(t, row.after, next.after, row.name)
		require.Equal(t, row.through, next.through, row.name)
		if row.first == 0 {
			require.Empty(t, next.items, row.name)
			continue
		}
		require.Len(t, next.items, int(row.last-row.first+1), row.name)
		for i, it := range next.items {
			require.Equal(t, row.first+int64(i), it.place, row.name)
		}
		require.Equal(t, next.after+1, next.items[0].place, row.name)
	}

	changed := sightAt(4, 0)
	changed.head.Epoch = 2
	changed.extend(before, rows(4))
	require.Equal(t, int64(3), changed.after, "when rules have changed it begins anew")
	old := sightAt(4, 0)
	old.now = noon.Add(sharedFor + time.Microsecond)
	old.extend(before, rows(4))
	require.Equal(t, int64(3), old.after, "when the messages are old it begins anew")
	require.Equal(t, old.now, old.sharedSince)
}

func TestSharedMessagesAreBounded(t *testing.T) {
	latest := &sight{section: section{look: look{channel: &channels.Rules{}, now: noon}}, sharedSince: noon}
	add := func(sizes ...int) {
		var rows []*Message
		for i, size := range sizes {
			rows = append(rows, &Message{Ordinal: latest.through + int64(i) + 1, Payload: make([]byte, size)})
		}
		next := &sight{section: section{look: latest.look}}
		next.count.Messages += int64(len(rows))
		next.extend(latest, rows)
		latest = next
		require.Equal(t, latest.through-latest.after, int64(len(latest.items)))
		require.Equal(t, latest.count.Messages, latest.through)
	}
	for range 2 * tailLength / tailPage {
		add(make([]int, tailPage)...)
	}
	require.Len(t, latest.items, tailLength)
	add(tailBytes/2, tailBytes/4)
	require.Len(t, latest.items, tailLength)
	add(tailBytes / 2)
	require.Len(t, latest.items, 2, "those that came first make room")
	require.Equal(t, tailBytes/4+tailBytes/2, latest.size)
	add(tailBytes + 1)
	require.Empty(t, latest.items)
	require.Zero(t, latest.size)
	add(1, 2)
	require.Len(t, latest.items, 2)
}
