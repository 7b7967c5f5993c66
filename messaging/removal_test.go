package messaging

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/types/known/fieldmaskpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/messaging/writing"
)

// leftOf counts the rows that an intent has in the tables of messages.
func (h *house) leftOf(t require.TestingT, intentNo int64) (messages, receipts, open int) {
	return h.rows(t, "messages", "intent_no = ?", intentNo), h.rows(t, "receipts", "intent_no = ?", intentNo),
		h.rows(t, "open_requests", "intent_no = ?", intentNo)
}

func TestDeletedChannelIsRemovedInPieces(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		intentID := h.intent(t)
		id := h.create(t, &createRequest{IntentId: intentID, Name: "one", Members: []string{"alice"}, Options: &optionsInput{
			MaxMessages: ptr(int64(100_000)), Audit: ptr(true),
		}})
		sibling := h.create(t, &createRequest{IntentId: intentID, Name: "two"})
		key := h.key(t, id)
		h.fill(t, id, "alice", 2*sweepBatch+1)
		first := h.send(t, "alice", keyed(id, "k", "x"))
		h.asks(t, "alice", id, "bob")
		_, err := h.tryRead(as("bob"), id, first.GetId())
		require.NoError(t, err)
		kept := h.say(t, "alice", sibling, "kept")
		h.deleteChannel(t, id)

		absent := func() {
			_, err := h.tryGet(asOperator(), id, first.GetId())
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
			_, err = h.messaging.ListMessages(asOperator(), &listRequest{ChannelId: id})
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
			_, err = h.messaging.SendMessage(as("alice"), &sendRequest{ChannelId: id})
			faulttest.Require(t, err, fault.NotFound, "CHANNEL_NOT_FOUND")
			require.Equal(t, first.GetId(), h.send(t, "alice", keyed(id, "k", "x")).GetId(), "a retry finds what it sent")
		}
		absent()
		commits := 0
		f.set(func() error {
			if commits++; commits > 1 {
				return errInjected
			}
			return nil
		}, nil)
		require.Error(t, h.messaging.sweepWork(context.Background(), writing.WorkRemoval, ""))
		f.set(nil, nil)
		messages, _, _ := h.leftOf(t, key.IntentNo)
		require.Equal(t, 2*sweepBatch+3+1-sweepBatch, messages, "one piece is gone, for good")
		absent()
		h.sweep(t)
		messages, receipts, open := h.leftOf(t, key.IntentNo)
		require.Equal(t, []int{1, 0, 0}, []int{messages, receipts, open})
		for _, table := range []string{"channels", "channel_heads", "members"} {
			require.Zero(t, h.rows(t, table, "intent_no = ? AND channel_no = ?", key.IntentNo, key.ChannelNo), table)
		}
		require.Zero(t, h.rows(t, "pending_work", "kind = 'removal'"))
		absent()
		require.True(t, h.sees(t, "bob", kept))
		require.Equal(t, 2*sweepBatch+3,
			h.rows(t, "events", "intent_no = ? AND event_type = 'channel_message'", key.IntentNo), "the log stays")
		h.requireChain(t, sibling)
	})
}

// A sweep rests after each batch, whatever it removes, and ends when its context ends in a rest.
func TestSweepsRestBetweenTheirBatches(t *testing.T) {
	for name, end := range map[string]func(t *testing.T, h *house, id string){
		"a deleted channel": func(t *testing.T, h *house, id string) { h.deleteChannel(t, id) },
		"an ended intent": func(t *testing.T, h *house, id string) {
			h.setStatus(t, h.channel(t, id).GetIntentId(), completed)
			h.clock.Advance(25 * time.Hour)
		},
		"evicted messages": func(t *testing.T, h *house, id string) {
			_, err := h.channels.UpdateChannel(asOperator(), &openintentv1.UpdateChannelRequest{
				Channel:    &openintentv1.Channel{Id: id, Options: &optionsInput{MaxMessages: ptr(int64(1))}},
				UpdateMask: &fieldmaskpb.FieldMask{Paths: []string{"options.max_messages"}},
			})
			require.NoError(t, err)
			h.clock.Advance(time.Hour)
		},
	} {
		t.Run(name, func(t *testing.T) {
			eachEngine(t, func(t *testing.T, h *house) {
				id := h.create(t, &createRequest{IntentId: h.intent(t), Options: &optionsInput{MaxMessages: ptr(int64(100_000))}})
				key := h.key(t, id)
				h.fill(t, id, "alice", 2*sweepBatch+2)
				end(t, h, id)
				ctx, cancel := context.WithCancel(context.Background())
				var left []int
				h.messaging.rest = func(ctx context.Context, _ time.Duration) error {
					messages, _, _ := h.leftOf(t, key.IntentNo)
					if left = append(left, messages); len(left) == 2 {
						cancel()
					}
					return ctx.Err()
				}
				require.ErrorIs(t, h.messaging.Sweep(ctx), context.Canceled)
				require.Equal(t, []int{sweepBatch + 2, 2}, left)
			})
		})
	}
}

func TestMessagesAreKeptForTheRetentionAndNoLonger(t *testing.T) {
	retaining := func(_ *configOfDatabase, cfg *Config) { cfg.Retention = time.Hour }
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.audited(t)
		intentID := h.channel(t, id).GetIntentId()
		sibling := h.create(t, &createRequest{IntentId: intentID, Name: "sibling"})
		other := h.open(t)
		key := h.key(t, id)
		asked := h.asks(t, "alice", id, "bob")
		h.asks(t, "alice", sibling, "bob")
		last := h.say(t, "bob", id, "last")
		_, err := h.tryRead(as("alice"), id, last.GetId())
		require.NoError(t, err)
		kept := h.say(t, "alice", other, "kept")
		h.setStatus(t, intentID, completed)
		ended := h.channel(t, id).GetClosedAt().AsTime()

		h.clock.Set(ended.Add(time.Hour - time.Microsecond))
		h.sweep(t)
		require.Equal(t, []string{asked.GetId(), last.GetId()}, idsOf(h.list(t, "alice", &listRequest{ChannelId: id})))
		require.Equal(t, []string{last.GetId()}, idsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		h.clock.Set(ended.Add(time.Hour))
		h.sweep(t)
		messages, receipts, open := h.leftOf(t, key.IntentNo)
		require.Equal(t, []int{0, 0, 0}, []int{messages, receipts, open})
		require.Empty(t, h.list(t, "bob", &listRequest{ChannelId: id}))
		require.Empty(t, h.list(t, "bob", &listRequest{ChannelId: id, Since: &asked.Id}), "a cursor that was purged is no error")
		_, err = h.tryGet(as("bob"), id, last.GetId())
		faulttest.Require(t, err, fault.NotFound, "MESSAGE_NOT_FOUND")
		require.Equal(t, int64(2), h.channel(t, id).GetMessageCount())
		faulttest.Require(t, h.follow(t, "bob", id, ptr(int64(0))).end(t), fault.Conflict, "CHANNEL_CLOSED")
		require.Len(t, h.copies(t, id), 2, "the log stays")
		h.requireChain(t, id)
		require.Zero(t, h.rows(t, "pending_work", "1 = 1"))
		require.True(t, h.sees(t, "bob", kept))
	}, retaining)
}

// A key holds for its whole lifetime, whenever the sweep comes, and then the sweep removes it.
func TestIdempotencyKeysAreKeptForTheirLifetime(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		sent := h.send(t, "alice", keyed(id, "k", "x"))
		h.clock.Set(sent.GetCreatedAt().AsTime().Add(writing.KeyLifetime - time.Microsecond))
		h.sweep(t)
		require.Equal(t, sent.GetId(), h.send(t, "alice", keyed(id, "k", "x")).GetId())
		h.clock.Advance(2 * time.Microsecond)
		h.sweep(t)
		require.Zero(t, h.rows(t, "idempotency_keys", "1 = 1"))
		require.NotEqual(t, sent.GetId(), h.send(t, "alice", keyed(id, "k", "x")).GetId())
	})
}

func TestRetentionIsADayUnlessSaid(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.say(t, "alice", id, "")
		h.setStatus(t, h.channel(t, id).GetIntentId(), openintentv1.IntentStatus_INTENT_STATUS_ABANDONED)
		h.clock.Advance(24*time.Hour - time.Second)
		h.sweep(t)
		require.Len(t, h.list(t, "bob", &listRequest{ChannelId: id}), 1)
		h.clock.Advance(2 * time.Second)
		h.sweep(t)
		require.Empty(t, h.list(t, "bob", &listRequest{ChannelId: id}))
	})
}

// One piece of work that fails does not keep others of its kind, nor of other kinds, from their turn.
func TestWorkThatFailsKeepsNoOtherFromItsTurn(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id, ended := h.open(t), h.open(t)
		h.say(t, "alice", id, "")
		h.say(t, "alice", ended, "")
		key, endedKey := h.key(t, id), h.key(t, ended)
		require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
			return writing.ScheduleWork(tx, writing.WorkRemoval, "no number", h.clock.Now(), key.IntentNo)
		}))
		h.deleteChannel(t, id)
		h.setStatus(t, h.channel(t, ended).GetIntentId(), completed)
		h.clock.Advance(25 * time.Hour)
		require.ErrorContains(t, h.messaging.Sweep(context.Background()), "no number")
		require.Zero(t, h.rows(t, "messages", "intent_no = ? OR intent_no = ?", key.IntentNo, endedKey.IntentNo))
		require.Equal(t, 1, h.rows(t, "pending_work", "1 = 1"))
	})
}
