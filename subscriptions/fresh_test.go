package subscriptions

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/subscriptions/delivering"
)

// If a fetch waits long for its commit, it reads the contents again. What is deleted by then is finished.
func TestAFetchReadsAgainAfterALongCommit(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		channel := h.open(t, h.intent(t), "talk")
		sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
		edited, deleted := h.send(t, "ann", channel, "bob", "one"), h.send(t, "ann", channel, "bob", "two")
		require.Equal(t, []string{"1:one", "2:two"}, described(h.fetch(t, sub)))
		h.clock.Advance(time.Minute) // both are due again
		release := h.subscriptions.changes.HoldUp()
		fetched := make(chan []*wireDelivery, 1)
		go func() {
			found, _ := h.tryFetch(as("bob"), sub, 10)
			fetched <- found
		}()
		h.awaitChanges(t, 1)
		h.edit(t, edited, "better")
		_, err := h.messaging.DeleteMessage(as("ann"), &openintentv1.DeleteMessageRequest{ChannelId: channel, MessageId: deleted.GetId()})
		require.NoError(t, err)
		h.clock.Advance(2 * delivering.FreshFor)
		release()
		found := <-fetched
		require.Len(t, found, 2)
		require.Equal(t, "better", textOf(found[0].GetMessage()))
		require.Equal(t, int32(2), found[0].GetAttempt())
		require.Empty(t, textOf(found[1].GetMessage()))
	})
}

// If a stream that sends ahead has to wait for further numbers, it reads again what waited meanwhile.
func TestAStreamReadsAgainAfterItReservedNumbers(t *testing.T) {
	t.Parallel()
	reserving, proceed := make(chan struct{}), make(chan struct{})
	armed := &panicNext{at: func(sql string) bool {
		return strings.HasPrefix(sql, "SELECT s.subscription_no FROM subscriptions s WHERE s.deleted_at IS NULL")
	}}
	h := newHouse(t, database.PostgreSQL, func(s *settings) {
		s.database.Hooks.Statement = func(_ context.Context, sql string) func() {
			if armed.at(sql) && armed.armed.CompareAndSwap(true, false) {
				close(reserving)
				<-proceed
			}
			return nil
		}
	})
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s := h.stream(t, sub, nil)
	h.warmUp(t, s, sub, channel)
	h.ledger(t, sub).Spend()
	armed.armed.Store(true)
	sent := h.send(t, "ann", channel, "bob", "one")
	<-reserving
	h.edit(t, sent, "better")
	h.clock.Advance(2 * delivering.FreshFor)
	close(proceed)
	require.Equal(t, "better", textOf(s.next(t).GetMessage()))
}
