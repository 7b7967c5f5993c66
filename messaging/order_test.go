package messaging

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/internal/database"
	"openintent/messaging/message"
)

// stored is what the store says of one message's places.
type stored struct {
	position, channelNo, ordinal, createdAt int64
	id                                      string
}

func (h *house) storedOf(t require.TestingT, intentNo int64) []stored {
	var rows []stored
	err := h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL:  "SELECT position, channel_no, ordinal, created_at, id FROM messages WHERE intent_no = ? ORDER BY position",
			Args: []any{intentNo},
			Scan: func(row database.Row) error {
				var s stored
				err := row.Scan(&s.position, &s.channelNo, &s.ordinal, &s.createdAt, &s.id)
				rows = append(rows, s)
				return err
			},
		})
	})
	require.NoError(t, err)
	return rows
}

// Many senders, from two replicas where there can be two, on several channels of one intent and one of another.
func TestPositionsAreGaplessAndTimesRise(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		services := []*Service{h.messaging, h.messaging}
		if h.db.Engine() == database.PostgreSQL {
			services[1] = h.replica(t).messaging
		}
		intentID := h.intent(t)
		var ids []string
		for i := range 3 {
			ids = append(ids, h.create(t, &createRequest{IntentId: intentID, Name: fmt.Sprint("talk", i)}))
		}
		ids = append(ids, h.open(t))
		before := h.positionOf(t, ids[0])

		const senders, each = 8, 12
		acknowledged := make([][]*wireMessage, senders)
		var wait sync.WaitGroup
		for i := range senders {
			wait.Go(func() {
				for n := range each {
					if n%5 == 0 {
						h.clock.Advance(time.Microsecond)
					}
					m, err := services[i%2].SendMessage(as(fmt.Sprint("agent", i)), &sendRequest{ChannelId: ids[(i+n)%len(ids)]})
					if err != nil {
						t.Error(err)
						return
					}
					acknowledged[i] = append(acknowledged[i], m)
				}
			})
		}
		wait.Wait()

		places := make(map[string]stored)
		for _, channelID := range []string{ids[0], ids[3]} {
			key := h.key(t, channelID)
			rows := h.storedOf(t, key.IntentNo)
			ordinals := make(map[int64]int64)
			for i, row := range rows {
				places[row.id] = row
				if channelID == ids[0] {
					require.Equal(t, before+int64(i)+1, row.position, "positions have no gap")
				}
				if i > 0 {
					require.Greater(t, row.createdAt, rows[i-1].createdAt, "times rise strictly with positions")
				}
				ordinals[row.channelNo]++
				require.Equal(t, ordinals[row.channelNo], row.ordinal, "ordinals count in the channel")
			}
		}
		require.Len(t, places, senders*each)
		for i, sent := range acknowledged {
			for n, m := range sent {
				require.Equal(t, database.Micros(m.GetCreatedAt().AsTime()), places[m.GetId()].createdAt)
				if n > 0 && (i+n)%len(ids) != 3 && (i+n-1)%len(ids) != 3 {
					require.Greater(t, places[m.GetId()].position, places[sent[n-1].GetId()].position,
						"what a sender sends after an acknowledgement comes after")
				}
			}
		}
		for _, id := range ids {
			key := h.key(t, id)
			require.Equal(t, int64(h.rows(t, "messages", "intent_no = ? AND channel_no = ?", key.IntentNo, key.ChannelNo)),
				h.channel(t, id).GetMessageCount())
		}
	})
}

// positionOf gives the newest position of a channel's intent.
func (h *house) positionOf(t require.TestingT, channelID string) int64 {
	key := h.key(t, channelID)
	var position int64
	err := h.db.Read(context.Background(), func(tx *database.Tx) error {
		l, err := h.messaging.reader.Snapshot(tx, key, nil)
		position = l.Head.LastPosition
		return err
	})
	require.NoError(t, err)
	return position
}

func TestTimeNeverGoesBack(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.open(t)
		h.clock.Advance(time.Hour)
		first := h.say(t, "alice", id, "one")
		h.clock.Advance(-time.Hour)
		second := h.say(t, "alice", id, "two")
		require.Equal(t, first.GetCreatedAt().AsTime().Add(time.Microsecond), second.GetCreatedAt().AsTime())
		require.Equal(t, h.clock.Now(), h.channel(t, id).GetLastMessageAt().AsTime(), "from then the time to live counts")
	})
}

func TestMaxMessagesListsTheNewestAndCountsAll(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.create(t, &createRequest{Options: &optionsInput{MaxMessages: ptr(int64(3))}})
		var sent []*wireMessage
		for i := range 10 {
			sent = append(sent, h.say(t, "alice", id, fmt.Sprint(i)))
			require.Equal(t, int64(i+1), h.channel(t, id).GetMessageCount())
			newest := sent[max(0, i-2):]
			require.Equal(t, idsOf(newest), idsOf(h.list(t, "bob", &listRequest{ChannelId: id})))
		}
		for i, m := range sent {
			_, err := h.tryGet(as("alice"), id, m.GetId())
			_, readErr := h.tryRead(as("bob"), id, m.GetId())
			if i < 7 {
				require.ErrorIs(t, err, message.ErrMessageNotFound, "an evicted message is absent at once")
				require.ErrorIs(t, readErr, message.ErrMessageNotFound)
			} else {
				require.NoError(t, err)
				require.NoError(t, readErr)
			}
		}
		h.sweep(t)
		key := h.key(t, id)
		require.Equal(t, 3, h.rows(t, "messages", "intent_no = ? AND channel_no = ?", key.IntentNo, key.ChannelNo))
		require.Equal(t, int64(10), h.channel(t, id).GetMessageCount())
	})
}
