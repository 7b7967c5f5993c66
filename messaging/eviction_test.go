package messaging

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/timestamppb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/message"
	"openintent/messaging/obligation"
	"openintent/messaging/writing"
)

// removeEvicted runs the removal of a channel's evicted messages, due or not.
func (h *house) removeEvicted(t require.TestingT, channelID string) {
	key := h.key(t, channelID)
	require.NoError(t, h.messaging.removeEvicted(context.Background(),
		writing.Work{Kind: writing.WorkEviction, Key: fmt.Sprint(key.ChannelNo), IntentNo: key.IntentNo}, key))
}

// exists reports whether a message's row is there.
func (h *house) exists(t require.TestingT, m *wireMessage) bool {
	return h.rows(t, "messages", "id = ?", m.GetId()) == 1
}

func (h *house) awaits(t require.TestingT, agent string, asked *wireMessage) ([]*wireMessage, error) {
	got, err := h.messaging.AwaitResponses(as(agent), &awaitRequest{ChannelId: asked.GetChannelId(), MessageId: asked.GetId()})
	return got.GetResponses(), err
}

// small opens a channel that lists as many messages.
func (h *house) small(t require.TestingT, listed int64) string {
	return h.create(t, &createRequest{Options: &optionsInput{MaxMessages: &listed}})
}

// What an asker may still ask for stays when newer messages push it out, until its time has run out: requests with a
// deadline, answered or not, with the responses to them. An answered request without a deadline goes with its eviction.
func TestEvictionKeepsWhatAnAskerMayAwait(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		timed := func() *wireMessage {
			return h.send(t, "alice", &sendRequest{
				ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Minute),
			})
		}
		open, openTimed, answeredTimed, answered := h.asks(t, "alice", id, "bob"), timed(), timed(), h.asks(t, "alice", id, "bob")
		inTime, settled := h.reply(t, "bob", id, answeredTimed.GetId(), "in time"), h.reply(t, "bob", id, answered.GetId(), "settled")
		note := h.say(t, "carol", id, "gone")
		h.say(t, "carol", id, "the last")
		h.removeEvicted(t, id)
		for _, m := range []*wireMessage{open, openTimed, answeredTimed, inTime} {
			require.True(t, h.exists(t, m))
			_, err := h.tryGet(as("alice"), id, m.GetId())
			require.ErrorIs(t, err, message.ErrMessageNotFound, "evicted is evicted for reading")
		}
		for _, m := range []*wireMessage{answered, settled, note} {
			require.False(t, h.exists(t, m))
		}
		late := h.reply(t, "bob", id, open.GetId(), "an evicted request is answerable")
		for asked, answer := range map[*wireMessage]*wireMessage{open: late, answeredTimed: inTime} {
			got, err := h.awaits(t, "alice", asked)
			require.NoError(t, err)
			require.Equal(t, []string{answer.GetId()}, idsOf(got))
		}
		h.clock.Advance(time.Minute + askersPatience - time.Second)
		h.sweep(t)
		for _, m := range []*wireMessage{openTimed, answeredTimed, inTime} {
			require.True(t, h.exists(t, m), "an asker whose wait has just ended finds it")
		}
		h.clock.Advance(time.Second)
		h.sweep(t)
		for _, m := range []*wireMessage{openTimed, answeredTimed, inTime} {
			require.False(t, h.exists(t, m), "past its time it goes")
		}
		require.True(t, h.exists(t, open), "who asked for what was answered after the eviction has a day to fetch it")
		h.clock.Advance(24 * time.Hour)
		h.sweep(t)
		require.False(t, h.exists(t, open))
		require.True(t, h.exists(t, late), "it is listed")
		h.say(t, "carol", id, "now it is not")
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		require.False(t, h.exists(t, late))
		h.requireNothingPending(t)
	})
}

// What an evicted request owes may be discharged after the sweep has looked at it, and before it has locked the intent.
func TestAnObligationIsDischargedWhileItsRequestIsEvicted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		key := h.key(t, id)
		owed := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Obligation: &openintentv1.Obligation{},
		})
		h.reply(t, "bob", id, owed.GetId(), "an answer discharges nothing")
		h.say(t, "carol", id, "the last")
		_, floor, err := h.messaging.evictionProgress(t.Context(), key)
		require.NoError(t, err)
		page, err := h.messaging.evictedMessages(t.Context(), key, 0, floor)
		require.NoError(t, err)
		by, err := caller.Known(as("alice"))
		require.NoError(t, err)
		require.NoError(t, h.messaging.HoldMessage(t.Context(), by, "alice", id, owed.GetId(), message.Dischargeable, func(seen *Sighting) error {
			o, err := obligation.Of(seen.Tx, seen.Message.IntentNo, seen.Message.Position)
			if err != nil {
				return err
			}
			return seen.Discharge(o, "alice", "")
		}))
		require.NoError(t, h.messaging.settleEvicted(t.Context(), key, h.messaging.judge(page, h.clock.Now()), floor))
		h.clock.Advance(time.Second)
		h.sweep(t)
		require.False(t, h.exists(t, owed), "it is not kept for ever")
	})
}

// A request whose obligation is open stays for as long as that, answered or not and past every deadline.
func TestEvictionKeepsWhatIsOwed(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		owes := func(expires *timestamppb.Timestamp) *wireMessage {
			return h.send(t, "alice", &sendRequest{
				ChannelId: id, To: ptr("bob"), MessageType: ptr(request), Obligation: &openintentv1.Obligation{}, ExpiresAt: expires,
			})
		}
		open, answered, timed := owes(nil), owes(nil), owes(h.in(time.Minute))
		h.reply(t, "bob", id, answered.GetId(), "an answer discharges nothing")
		h.say(t, "carol", id, "the last")
		h.removeEvicted(t, id)
		h.clock.Advance(100 * 24 * time.Hour)
		h.sweep(t)
		for _, m := range []*wireMessage{open, answered, timed} {
			require.True(t, h.exists(t, m))
		}
	})
}

func (h *house) requireNothingPending(t require.TestingT) {
	require.Zero(t, h.rows(t, "evicted_requests", "1 = 1"))
	require.Zero(t, h.rows(t, "pending_work", "1 = 1"))
	require.Zero(t, h.rows(t, "open_requests", "1 = 1"))
}

// A request that nobody answers and that has no deadline expires when the retention has passed since its eviction, for
// everyone, and goes. Until then it waits for its addressee.
func TestEvictedRequestsExpire(t *testing.T) {
	retaining := func(_ *configOfDatabase, cfg *Config) { cfg.Retention = time.Hour }
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 2)
		h.say(t, "carol", id, "")
		first := h.asks(t, "alice", id, "bob")
		for range 2 {
			h.say(t, "carol", id, "")
		}
		h.sweep(t)
		h.clock.Advance(time.Hour - time.Microsecond)
		h.sweep(t)
		require.Equal(t, []string{first.GetId()}, idsIn(h.inbox(t, "bob")))
		_, err := h.awaits(t, "alice", first)
		require.NoError(t, err)

		h.clock.Advance(time.Microsecond)
		require.Empty(t, idsIn(h.inbox(t, "bob")), "before any sweep")
		_, err = h.tryReply(as("bob"), id, first.GetId(), "too late")
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
		h.sweep(t)
		require.Zero(t, h.rows(t, "open_requests", "1 = 1"))
		h.clock.Advance(askersPatience)
		h.sweep(t)
		require.False(t, h.exists(t, first))
		_, err = h.awaits(t, "alice", first)
		require.ErrorIs(t, err, message.ErrMessageNotFound)
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		h.requireNothingPending(t)
	}, retaining)
}

// However few messages push a request out, and whether or not the sweep came by before, it is found in the end.
func TestWhatIsEvictedBetweenTheStepsIsFound(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 5)
		for range 6 {
			h.say(t, "carol", id, "")
		}
		h.sweep(t)
		h.clock.Advance(10 * time.Minute)
		h.sweep(t)
		asked := h.asks(t, "alice", id, "bob")
		for range 5 {
			h.say(t, "carol", id, "")
		}
		h.clock.Advance(2 * time.Minute)
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "evicted_requests", "1 = 1"))
		require.Equal(t, 6, h.rows(t, "messages", "1 = 1"))
		h.clock.Advance(24 * time.Hour)
		h.sweep(t)
		h.clock.Advance(askersPatience)
		h.sweep(t)
		require.False(t, h.exists(t, asked))
		h.requireNothingPending(t)
	})
}

// Nobody keeps evicted requests for longer than a day by deadlines that lie far ahead.
func TestEvictionBringsFarDeadlinesForward(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		far := func(wait time.Duration) *wireMessage {
			return h.send(t, "alice", &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(wait)})
		}
		day := far(24 * time.Hour)
		year, answered := far(365*24*time.Hour), far(365*24*time.Hour)
		h.reply(t, "bob", id, answered.GetId(), "")
		h.say(t, "bob", id, "")
		h.removeEvicted(t, id)
		h.clock.Set(day.GetExpiresAt().AsTime().Add(-time.Microsecond))
		h.sweep(t)
		require.Equal(t, idsOf([]*wireMessage{day, year}), idsIn(h.inbox(t, "bob")))
		h.clock.Advance(time.Second)
		h.sweep(t)
		require.Empty(t, idsIn(h.inbox(t, "bob")))
		h.clock.Advance(askersPatience)
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "messages", "1 = 1"))
		h.requireNothingPending(t)
	})
}

// A retention below a day takes nothing from the deadline of an evicted request.
func TestAShortRetentionLeavesAnEvictedRequestItsDeadline(t *testing.T) {
	retaining := func(_ *configOfDatabase, cfg *Config) { cfg.Retention = time.Hour }
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		asked := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(10 * time.Hour),
		})
		h.say(t, "carol", id, "")
		h.removeEvicted(t, id)
		h.clock.Advance(2 * time.Hour)
		h.sweep(t)
		require.Equal(t, []string{asked.GetId()}, idsIn(h.inbox(t, "bob")))
		h.reply(t, "bob", id, asked.GetId(), "in time")
	}, retaining)
}

// A request that had a deadline is kept as long as its key is remembered, for the Ask that is repeated under it. A send that
// is repeated needs nothing of the message.
func TestKeysKeepOnlyWhatARepeatedAskLooksFor(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		keyedRequest := func(key string) *sendRequest {
			return &sendRequest{ChannelId: id, To: ptr("bob"), MessageType: ptr(request), IdempotencyKey: &key}
		}
		timed, sent := keyedRequest("timed"), keyedRequest("sent")
		timed.ExpiresAt = h.in(time.Minute)
		kept, gone := h.send(t, "alice", timed), h.send(t, "alice", sent)
		answer := h.reply(t, "bob", id, kept.GetId(), "")
		h.reply(t, "bob", id, gone.GetId(), "")
		h.say(t, "carol", id, "")
		h.removeEvicted(t, id)
		require.False(t, h.exists(t, gone))
		require.Empty(t, cmpMessages(gone, h.send(t, "alice", sent)))
		h.clock.Advance(23 * time.Hour)
		h.sweep(t)
		require.True(t, h.exists(t, kept))
		require.True(t, h.exists(t, answer))
		h.clock.Advance(time.Hour + time.Second)
		h.sweep(t)
		require.False(t, h.exists(t, kept))
		require.False(t, h.exists(t, answer))
	})
}

// A writer that remembers a request notices that its eviction has given it a deadline.
func TestTheWriterNoticesADeadlineGivenByEviction(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		h.say(t, "alice", id, "")
		asked := h.asks(t, "alice", id, "bob")
		h.say(t, "alice", id, "")
		h.removeEvicted(t, id)
		h.clock.Advance(24*time.Hour + time.Second)
		_, err := h.tryReply(as("bob"), id, asked.GetId(), "")
		faulttest.Require(t, err, fault.Conflict, "MESSAGE_EXPIRED")
	})
}

func TestEvictedRowsAreDeletedInSteps(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 5)
		key := h.key(t, id)
		var texts []string
		for i := range 300 {
			text := fmt.Sprint(i)
			texts = append(texts, text)
			h.say(t, "alice", id, text)
			if i%100 == 99 {
				h.sweep(t)
			}
		}
		rows := h.rows(t, "messages", "intent_no = ? AND channel_no = ?", key.IntentNo, key.ChannelNo)
		require.Less(t, rows, 5+128)
		require.Equal(t, texts[295:], textsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
	})
}

// A request may have more responses than one transaction removes, and a channel more evicted messages.
func TestEvictionWorksInPieces(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.small(t, 1)
		asked := h.send(t, "alice", &sendRequest{
			ChannelId: id, To: ptr("bob"), MessageType: ptr(request), ExpiresAt: h.in(time.Hour),
		})
		h.fill(t, id, "carol", sweepBatch)
		key := h.key(t, id)
		h.reply(t, "bob", id, asked.GetId(), "")
		h.fill(t, id, "carol", sweepBatch)
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return tx.Pipeline(database.Statement{
				SQL: `UPDATE messages SET message_type = 'response', correlation_position = (SELECT position FROM messages WHERE id = ?)
					WHERE intent_no = ? AND sender = 'carol'`,
				Args: []any{asked.GetId(), key.IntentNo},
			})
		}))
		h.sweep(t)
		require.Equal(t, 2*sweepBatch+2, h.rows(t, "messages", "1 = 1"), "responses are kept with their request")
		h.clock.Advance(time.Hour + askersPatience)
		h.sweep(t)
		require.Equal(t, 1, h.rows(t, "messages", "1 = 1"))
		require.Zero(t, h.rows(t, "evicted_requests", "1 = 1"))
	})
}

// Work that fails in between is done again and leaves nothing out.
func TestEvictionGoesOnAfterAFailure(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		id := h.small(t, 1)
		asked := h.asks(t, "alice", id, "bob")
		h.fill(t, id, "carol", 2*sweepBatch)
		commits := 0
		f.set(func() error {
			if commits++; commits > 1 {
				return errInjected
			}
			return nil
		}, nil)
		require.Error(t, h.messaging.Sweep(context.Background()))
		f.set(nil, nil)
		require.Equal(t, sweepBatch+2, h.rows(t, "messages", "1 = 1"), "one piece is settled, for good")
		h.sweep(t)
		require.Equal(t, 2, h.rows(t, "messages", "1 = 1"))
		require.True(t, h.exists(t, asked))
	})
}
