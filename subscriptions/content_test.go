package subscriptions

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/proto"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
	"openintent/subscriptions/delivering"
	"openintent/subscriptions/record"
)

// contentReads counts the messages that the database returns with their contents, and the deliveries of own logs that are compared with
// open requests.
type contentReads struct{ messages, logged atomic.Int64 }

func (c *contentReads) count(s *settings) {
	s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
		switch {
		case strings.Contains(sql, "m.payload"):
			return func() { c.messages.Add(1) }
		case strings.HasPrefix(sql, "SELECT position FROM subscription_deliveries"):
			return func() { c.logged.Add(1) }
		}
		return nil
	}
}

func (c *contentReads) reset() {
	c.messages.Store(0)
	c.logged.Store(0)
}

// eachEngineCounting is eachEngine with a count of what is read.
func eachEngineCounting(t *testing.T, run func(t *testing.T, h *house, read *contentReads), options ...option) {
	t.Parallel()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			read := new(contentReads)
			run(t, newHouse(t, engine, append(options, read.count)...), read)
		})
	}
}

// A digest is made without the contents of what it sums up. What is for the subscriber by now is read in full.
func TestADigestReadsNoContents(t *testing.T) {
	eachEngineCounting(t, func(t *testing.T, h *house, read *contentReads) {
		intentID := h.intent(t)
		talk := h.open(t, intentID, "talk")
		h.send(t, "bob", talk, "*", "bob takes part")
		sub := h.subscribe(t, "bob", digesting(intentID))
		var sent []*wireMessage
		for i := range 20 {
			sent = append(sent, h.send(t, "ann", talk, "*", fmt.Sprint("message ", i)))
		}
		require.Empty(t, h.fetch(t, sub))
		h.clock.Advance(time.Minute)
		read.reset()
		found := h.fetch(t, sub)
		require.Len(t, found, 1)
		require.EqualValues(t, 20, found[0].GetDigest().GetMessageCount())
		require.Zero(t, read.messages.Load())

		h.edit(t, sent[7], "what does @bob say?")
		h.send(t, "ann", talk, "bob", "to bob")
		h.clock.Advance(time.Minute) // the digest was not acknowledged, so it is made again
		read.reset()
		found = h.fetch(t, sub)
		require.Len(t, found, 2)
		require.Equal(t, []string{"what does @bob say?"}, spoken(found[0]))
		require.EqualValues(t, 19, found[0].GetDigest().GetMessageCount())
		require.Equal(t, []string{"to bob"}, spoken(found[1]))
		require.LessOrEqual(t, read.messages.Load(), int64(5), "the two, when they are gathered, and when they are delivered")
	})
}

// Large deliveries come in answers of a few megabytes, in order and each once, whichever intents they are from, and not much more is
// read for each.
func TestLargeDeliveriesAreReadInPages(t *testing.T) {
	eachEngineCounting(t, func(t *testing.T, h *house, read *contentReads) {
		const count = 48
		large := strings.Repeat("x", 250<<10)
		first, second := h.open(t, h.intent(t), "first"), h.open(t, h.intent(t), "second")
		sub := h.subscribe(t, "bob", &createInput{AcknowledgeSeconds: ptr(int32(3600))})
		for i := range count {
			h.send(t, "ann", []string{first, second}[i%2], "bob", fmt.Sprint(i, large))
			if i%8 == 7 { // so that the numbers of both intents alternate
				require.Len(t, h.fetch(t, sub), 8)
			}
		}
		h.clock.Advance(time.Hour)
		found, due := h.due(t, sub)
		require.Len(t, due, count)

		some, known, err := h.subscriptions.supplier.SomeContents(context.Background(), found, due, true)
		require.NoError(t, err)
		require.Positive(t, known)
		size := 0
		for _, entries := range some {
			for _, entry := range entries {
				size += entry.Size()
			}
		}
		require.LessOrEqual(t, size, 2*delivering.PageBytes)

		var numbers []int64
		for rows := due; len(rows) > 0; {
			read.reset()
			parcels, gone, err := h.subscriptions.supplier.Pack(context.Background(), found, rows, 0)
			require.NoError(t, err)
			require.Empty(t, gone)
			size := 0
			for _, p := range parcels {
				numbers, size = append(numbers, p.Number), size+proto.Size(p.Wire)
			}
			require.LessOrEqual(t, size, delivering.PageBytes)
			require.LessOrEqual(t, read.messages.Load(), int64(len(rows)+16), "all at once, and then what is missing in the answer")
			rows = rows[len(parcels):]
			if len(rows) > 0 {
				require.Greater(t, size, delivering.PageBytes-len(large)-1000, "the answer is full")
			}
		}
		require.Equal(t, record.NumbersOf(due), numbers)
	})
}

// Nothing is left out of a message that is larger than an answer, and it comes alone.
func TestAMessageLargerThanAnAnswerComesAlone(t *testing.T) {
	roomy := func(s *settings) { s.messaging.MaxPayloadBytes = delivering.PageBytes + 1000 }
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{})
		large := strings.Repeat("x", delivering.PageBytes)
		for _, text := range []string{"one", "two", large, "three"} {
			h.send(t, "ann", channel, "bob", text)
		}
		require.NotEmpty(t, h.fetch(t, sub))
		h.clock.Advance(time.Hour)
		found, due := h.due(t, sub)
		for _, want := range []int{2, 1, 1} {
			parcels, gone, err := h.subscriptions.supplier.Pack(context.Background(), found, due, 0)
			require.NoError(t, err)
			require.Empty(t, gone)
			require.Len(t, parcels, want)
			due = due[want:]
		}
		require.Empty(t, due)
	}, roomy)
}

// due returns a subscription as it is stored, and its deliveries that are due.
func (h *house) due(t *testing.T, sub *openintentv1.Subscription) (*record.Subscription, []record.Delivery) {
	found, err := h.subscriptions.find(asOperator(), sub.GetId())
	require.NoError(t, err)
	var due []record.Delivery
	require.NoError(t, h.db.ReadStatement(t.Context(), func(tx *database.Tx) error {
		due, err = record.Deliveries(tx, record.UnfinishedOf(tx)+" AND d.due_at <= ?", "", found.No, database.Micros(h.clock.Now()))
		return err
	}))
	return found, due
}

// An answer to a fetch ends at 3 MiB, as its proto says.
func TestAFetchEndsAtThreeMegabytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		const count = 100
		for range count {
			h.send(t, "ann", channel, "bob", strings.Repeat("x", 45_000))
		}
		fetched := 0
		for answers := 0; fetched < count; answers++ {
			require.Less(t, answers, 4)
			found, err := h.tryFetch(as("bob"), sub, count)
			require.NoError(t, err)
			size := 0
			for _, d := range found {
				require.Equal(t, int32(1), d.GetAttempt(), "what did not fit was not offered")
				size += proto.Size(d)
			}
			require.LessOrEqual(t, size, 3<<20)
			fetched += len(found)
		}
	})
}
