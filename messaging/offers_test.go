package messaging

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

func (h *house) flushOffers(t require.TestingT) {
	require.NoError(t, h.messaging.offers.flush(context.Background()))
}

// offered gives when a message to an agent or a role was offered to a recipient; zero when it was not.
func (h *house) offered(t require.TestingT, m *wireMessage, agent string) time.Time {
	return h.deliveryTo(t, m, agent).GetOfferedAt().AsTime()
}

// deliveries are what the operator is told of a message.
func (h *house) deliveries(t require.TestingT, m *wireMessage) []*openintentv1.MessageDelivery {
	answer, err := h.messaging.ListMessageDeliveries(asOperator(), &openintentv1.ListMessageDeliveriesRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(),
	})
	require.NoError(t, err)
	return answer.GetDeliveries()
}

// deliveryTo is what the operator is told of one recipient; nil when it is not listed.
func (h *house) deliveryTo(t require.TestingT, m *wireMessage, agent string) *openintentv1.MessageDelivery {
	for _, one := range h.deliveries(t, m) {
		if one.GetAgentId() == agent {
			return one
		}
	}
	return nil
}

// Every way of reading records what it hands over, to whom it is for and to nobody else, at its first time.
func TestReadingIsRecorded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.register(t, "c", "judge")
		direct, toRole := h.asks(t, "a", channelID, "b"), h.asks(t, "a", channelID, "role:judge")
		require.Empty(t, h.offeredRows(t))
		listedAt := h.clock.Advance(time.Minute)
		for _, agent := range []string{"a", "b", "other"} {
			h.list(t, agent, &listRequest{ChannelId: channelID})
		}
		h.listIn(asOperator(), t, &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		require.Equal(t, listedAt, h.offered(t, direct, "b"))
		require.Equal(t, []string{"b"}, h.offeredRows(t))

		gotAt := h.clock.Advance(time.Minute)
		_, err := h.tryGet(as("c"), channelID, toRole.GetId())
		require.NoError(t, err)
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		require.Equal(t, gotAt, h.offered(t, toRole, "c"))
		require.Equal(t, listedAt, h.offered(t, direct, "b"), "the first time stays")

		inboxAt := h.clock.Advance(time.Minute)
		further := h.asks(t, "a", channelID, "b")
		_, err = h.tryInbox(asOperator(), &inboxRequest{AgentId: "b"})
		require.NoError(t, err)
		h.flushOffers(t)
		require.Nil(t, h.deliveryTo(t, further, "b").GetOfferedAt(), "the operator looked, not the agent")
		h.inbox(t, "b")
		h.flushOffers(t)
		require.False(t, h.offered(t, further, "b").Before(inboxAt))
	})
}

// offeredRows gives the recipients in the rows of offers.
func (h *house) offeredRows(t require.TestingT) (agents []string) {
	require.NoError(t, h.db.ReadStatement(context.Background(), func(tx *database.Tx) error {
		return tx.Pipeline(database.Statement{
			SQL: "SELECT agent_id FROM offers ORDER BY agent_id",
			Scan: func(row database.Row) error {
				var agent string
				err := row.Scan(&agent)
				agents = append(agents, agent)
				return err
			},
		})
	}))
	return agents
}

// A message that must be answered is unheard until it was handed over. Its own offer shows that or, if it is for everyone, the mark of its
// channel.
func TestWhatWasHandedOverIsHeard(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		h.say(t, "b", channelID, "b takes part")
		asked := h.asks(t, "a", channelID, "b")
		first, second := h.say(t, "a", channelID, "@b, the first"), h.say(t, "a", channelID, "@b, the second")
		by, err := caller.Known(as("b"))
		require.NoError(t, err)
		requireUnheard := func(count int, oldest *wireMessage) {
			h.flushOffers(t)
			unheard, at, err := h.messaging.Unheard(as("b"), by, "b")
			require.NoError(t, err)
			require.Equal(t, count, unheard)
			require.Equal(t, oldest.GetCreatedAt().AsTime(), at)
		}
		requireUnheard(3, asked)
		for _, step := range []struct {
			got, oldest *wireMessage
			left        int
		}{{first, asked, 2}, {asked, second, 1}} {
			_, err := h.tryGet(as("b"), channelID, step.got.GetId())
			require.NoError(t, err)
			requireUnheard(step.left, step.oldest)
		}
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		unheard, _, err := h.messaging.Unheard(as("b"), by, "b")
		require.NoError(t, err)
		require.Zero(t, unheard)
	})
}

// What is said to everyone costs one mark for each recipient, which only moves forward.
func TestMarksMoveForward(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		one, two := h.say(t, "a", channelID, ""), h.say(t, "a", channelID, "")
		firstAt := h.clock.Advance(time.Minute)
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		require.Equal(t, firstAt, h.offered(t, one, "b"))
		require.Equal(t, firstAt, h.offered(t, two, "b"))
		three := h.say(t, "a", channelID, "")
		require.Nil(t, h.deliveryTo(t, three, "b"))

		h.clock.Advance(time.Minute)
		_, err := h.tryGet(as("b"), channelID, one.GetId()) // behind the mark
		require.NoError(t, err)
		h.flushOffers(t)
		require.Equal(t, firstAt, h.offered(t, two, "b"))
		secondAt := h.clock.Advance(time.Minute)
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.flushOffers(t)
		require.Equal(t, secondAt, h.offered(t, three, "b"))
		require.Equal(t, secondAt, h.offered(t, one, "b"), "the time by which it had been offered")
		require.Equal(t, 1, h.rows(t, "channel_offers", "1 = 1"))
		require.Zero(t, h.rows(t, "offers", "1 = 1"))
	})
}

// Of two replicas the one that is further wins, whichever writes last; of two first offers the earlier written.
func TestReplicasAgreeOnOffers(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		other := newOffers(h.db, slog.New(slog.DiscardHandler), time.Hour, nil)
		channelID := h.open(t)
		key := h.key(t, channelID)
		direct := h.asks(t, "a", channelID, "b")
		h.say(t, "a", channelID, "")
		newest := h.say(t, "a", channelID, "")
		message := func(position, ordinal int64, target string) *message.Message {
			return &message.Message{IntentNo: key.IntentNo, ChannelNo: key.ChannelNo, Position: position, Ordinal: ordinal, Sender: "a", Target: target}
		}
		position := h.storedOf(t, key.IntentNo)[0].position
		early, late := h.clock.Advance(time.Minute), h.clock.Advance(time.Minute)
		h.messaging.offers.record("b", late, message(position, 1, "b"), message(position+2, 3, ""))
		other.record("b", early, message(position, 1, "b"), message(position+1, 2, ""))
		h.flushOffers(t)
		require.NoError(t, other.flush(context.Background()))
		require.Equal(t, late, h.offered(t, newest, "b"))
		require.Equal(t, late, h.offered(t, direct, "b"))
	})
}

// recorder makes a recorder of its own, which writes when it is told to.
func (h *house) recorder(log io.Writer) *offers {
	return newOffers(h.db, slog.New(slog.NewTextHandler(log, nil)), time.Hour, nil)
}

// messagesFor makes messages from a to b in a channel that exists, which are not stored unless their positions are.
func (h *house) messagesFor(t require.TestingT, channelID string, count int) []*message.Message {
	key := h.key(t, channelID)
	messages := make([]*message.Message, count)
	for i := range messages {
		messages[i] = &message.Message{IntentNo: key.IntentNo, ChannelNo: key.ChannelNo, Position: int64(i), Sender: "a", Target: "b"}
	}
	return messages
}

// What has been written is not written again, and all that waits is written together.
func TestOffersAreCoalesced(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		channelID := h.open(t)
		for range 30 {
			h.asks(t, "a", channelID, "b")
		}
		h.messaging.Stop() // so that nobody else writes
		commits := 0
		f.set(func() error { commits++; return nil }, nil)
		o := h.recorder(io.Discard)
		for range 10 {
			o.record("b", h.clock.Now(), h.messagesFor(t, channelID, 100)...)
		}
		require.NoError(t, o.flush(context.Background()))
		require.Equal(t, 1, commits)
		require.Equal(t, 30, h.rows(t, "offers", "agent_id = 'b'"))
		o.record("b", h.clock.Now(), h.messagesFor(t, channelID, 100)...)
		require.NoError(t, o.flush(context.Background()))
		require.Equal(t, 1, commits)
	})
}

// More than fits is dropped and said; nobody is held up.
func TestOffersAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var log bytes.Buffer
		o := h.recorder(&log)
		messages := h.messagesFor(t, h.open(t), maxOffers+10)
		o.record("b", h.clock.Now(), messages...)
		require.Len(t, o.waiting, maxOffers)
		o.record("b", h.clock.Now(), messages[:5]...)
		require.NoError(t, o.flush(context.Background()))
		require.Contains(t, log.String(), "messages=15")
		require.Empty(t, o.waiting)
		require.Zero(t, h.rows(t, "offers", "1 = 1"), "there are no such messages")
	})
}

// A failed write is tried again.
func TestOffersSurviveAFailure(t *testing.T) {
	eachFaultyEngine(t, func(t *testing.T, h *house, f *faults) {
		channelID := h.open(t)
		asked := h.asks(t, "a", channelID, "b")
		h.messaging.Stop() // so that nobody else writes
		o := h.recorder(io.Discard)
		o.record("b", h.clock.Now(), h.messagesFor(t, channelID, 10)...)
		f.set(failing, nil)
		require.ErrorIs(t, o.flush(context.Background()), errInjected)
		f.set(nil, nil)
		require.Nil(t, h.deliveryTo(t, asked, "b").GetOfferedAt())
		require.NoError(t, o.flush(context.Background()))
		require.NotNil(t, h.deliveryTo(t, asked, "b").GetOfferedAt())
	})
}

func TestOffersAreWrittenNowAndThen(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		asked := h.asks(t, "a", h.open(t), "b")
		h.inbox(t, "b")
		eventually(t, func() bool { return h.deliveryTo(t, asked, "b").GetOfferedAt() != nil }, "nobody writes it")
	}, func(_ *configOfDatabase, cfg *Config) { cfg.RecordEvery = time.Millisecond })
}

func TestStoppingWritesWhatWasOffered(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channelID := h.open(t)
		asked, said := h.asks(t, "a", channelID, "b"), h.say(t, "a", channelID, "")
		h.list(t, "b", &listRequest{ChannelId: channelID})
		h.messaging.Stop()
		require.NotNil(t, h.deliveryTo(t, asked, "b").GetOfferedAt())
		require.NotNil(t, h.deliveryTo(t, said, "b").GetOfferedAt())
	})
}

// The records go with their messages, channel and intent.
func TestOffersGoWithTheirMessages(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		doomed, ended, kept := h.open(t), h.open(t), h.open(t)
		for _, id := range []string{doomed, ended, kept} {
			asked := h.asks(t, "a", id, "b")
			h.say(t, "a", id, "")
			h.list(t, "b", &listRequest{ChannelId: id})
			h.flushOffers(t)
			h.deadLetter(t, asked, "b", "hung")
		}
		records := func(channelID string) (rows int) {
			for _, table := range []string{"offers", "channel_offers", "dead_letters"} {
				rows += h.rows(t, table, "intent_no = ?", h.key(t, channelID).IntentNo)
			}
			return rows
		}
		require.Equal(t, 3, records(doomed))
		h.deleteChannel(t, doomed)
		h.setStatus(t, h.channel(t, ended).GetIntentId(), completed)
		h.sweep(t)
		require.Zero(t, records(doomed))
		require.Equal(t, 3, records(ended))
		h.clock.Advance(defaultRetention + time.Second)
		h.sweep(t)
		require.Zero(t, records(ended))
		require.Equal(t, 3, records(kept))
		h.messaging.offers.record("c", h.clock.Now(), &message.Message{
			IntentNo: h.key(t, doomed).IntentNo, ChannelNo: h.key(t, doomed).ChannelNo, Ordinal: 2, Sender: "a",
		})
		h.flushOffers(t)
		require.Zero(t, records(doomed), "a mark needs its channel")
	})
}

// deadLetter says that a subscription of the agent's gave a message up.
func (h *house) deadLetter(t require.TestingT, m *wireMessage, agent, reason string) {
	require.NoError(t, h.db.Write(context.Background(), func(tx *database.Tx) error {
		return h.messaging.RecordDeadLetters(tx, agent, []DeadLetter{{
			IntentNo: h.key(t, m.GetChannelId()).IntentNo, Position: h.placeOf(t, m), At: h.clock.Now(), Reason: reason,
		}})
	}))
}

// placeOf gives a message's position.
func (h *house) placeOf(t require.TestingT, m *wireMessage) int64 {
	for _, row := range h.storedOf(t, h.key(t, m.GetChannelId()).IntentNo) {
		if row.id == m.GetId() {
			return row.position
		}
	}
	require.Fail(t, "there is no such message")
	return 0
}

func TestRecordCountsRecipientsOnly(t *testing.T) {
	for name, c := range map[string]struct {
		agent   string
		message message.Message
		counts  bool
	}{
		"the addressee":               {"b", message.Message{Sender: "a", Target: "b"}, true},
		"one's own message":           {"a", message.Message{Sender: "a", Target: "b"}, false},
		"one's own to everyone":       {"a", message.Message{Sender: "a"}, false},
		"everyone":                    {"b", message.Message{Sender: "a", Target: caller.Broadcast}, true},
		"a holder of the role":        {"b", message.Message{Sender: "a", Target: "role:judge"}, true},
		"the operator, to another":    {caller.Operator, message.Message{Sender: "a", Target: "b"}, false},
		"the operator, to a role":     {caller.Operator, message.Message{Sender: "a", Target: "role:judge"}, false},
		"the operator, to everyone":   {caller.Operator, message.Message{Sender: "a"}, false},
		"the server's word":           {"b", message.Message{Sender: caller.System}, true},
		"the addressee of the server": {"b", message.Message{Sender: caller.System, Target: "b"}, true},
	} {
		o := newOffers(nil, slog.New(slog.DiscardHandler), time.Hour, nil)
		o.record(c.agent, time.Now(), &c.message)
		require.Equal(t, c.counts, len(o.waiting) == 1, name)
	}
	o := newOffers(nil, slog.New(slog.DiscardHandler), time.Hour, nil)
	var said []*message.Message
	for i := range int64(100) {
		said = append(said, &message.Message{IntentNo: i % 2, ChannelNo: 1, Ordinal: i, Sender: "a"})
	}
	o.record("b", time.Now(), said...)
	require.Len(t, o.waiting, 2, fmt.Sprint("the newest of each channel suffices: ", o.waiting))
}

// A search hands messages over the newest first, so the newest one counts wherever it stands.
func TestRecordTakesTheNewestOfAChannelInAnyOrder(t *testing.T) {
	for _, ordinals := range [][]int64{{1, 2, 3}, {3, 2, 1}, {2, 3, 1}} {
		o := newOffers(nil, slog.New(slog.DiscardHandler), time.Hour, nil)
		var said []*message.Message
		for _, ordinal := range ordinals {
			said = append(said, &message.Message{IntentNo: 1, ChannelNo: 1, Ordinal: ordinal, Sender: "a"})
		}
		o.record("b", time.Now(), said...)
		require.Len(t, o.waiting, 1)
		require.EqualValues(t, 3, o.waiting[0].ordinal, fmt.Sprint(ordinals))
	}
}
