package subscriptions

import (
	"log/slog"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/database"
	"openintent/messaging/wake"
)

// beginFirstRelease opens sessions like those of a program of release 0.1, and greets the other replicas as that does. It returns a
// function that ends them.
func (h *house) beginFirstRelease(t *testing.T) (end func()) {
	t.Helper()
	address, err := url.Parse(h.url)
	require.NoError(t, err)
	query := address.Query()
	query.Set("application_name", "openintent")
	address.RawQuery = query.Encode()
	db, err := database.Open(t.Context(), database.Config{URL: address.String()})
	require.NoError(t, err)
	require.NoError(t, db.Ping(t.Context()))
	relay := wake.NewRelay(db, slog.New(slog.DiscardHandler), nil, wake.NewHub())
	relay.Start()
	end = sync.OnceFunc(func() {
		relay.Stop()
		require.NoError(t, db.Close())
	})
	t.Cleanup(end)
	return end
}

// While a program of release 0.1 works on the database, a stream stores each delivery before it sends it, also one that was ahead, and
// goes ahead again when the program is gone.
func TestNothingIsSentAheadBesideRelease01(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL)
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s := h.stream(t, sub, nil)
	last := h.warmUp(t, s, sub, channel)
	h.send(t, "ann", channel, "bob", "ahead")
	require.Equal(t, last+1, s.next(t).GetNumber())
	require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))

	end := h.beginFirstRelease(t)
	require.Eventually(t, h.subscriptions.beside.Load, patience, time.Millisecond)
	h.send(t, "ann", channel, "bob", "stored")
	stored := s.next(t)
	require.Equal(t, "stored", textOf(stored.GetMessage()))
	require.Equal(t, 2, h.rows(t, "subscription_deliveries", "1 = 1"), "also what was sent ahead")
	require.Equal(t, 1, h.rows(t, "subscriptions", "offered_through >= ?", stored.GetNumber()), "so release 0.1 takes the acknowledgement")
	h.acknowledge(t, sub, last+1, stored.GetNumber())

	end()
	require.Eventually(t, func() bool { return !h.subscriptions.beside.Load() }, patience, time.Millisecond)
	h.warmUp(t, s, sub, channel)
}

// A replica looks for programs of release 0.1 as soon as one begins to listen, and then stores at once what it has sent ahead.
func TestAProgramOfRelease01IsNoticedWhenItBegins(t *testing.T) {
	t.Parallel()
	h := newHouse(t, database.PostgreSQL, func(s *settings) {
		s.messaging.Notifications, s.room.LookBesideEvery = true, time.Hour
	})
	h.unhurried()
	channel := h.open(t, h.intent(t), "talk")
	sub := h.subscribe(t, "bob", &createInput{ChannelId: &channel})
	s := h.stream(t, sub, nil)
	h.warmUp(t, s, sub, channel)
	h.send(t, "ann", channel, "bob", "ahead")
	number := s.next(t).GetNumber()
	require.Zero(t, h.rows(t, "subscription_deliveries", "1 = 1"))

	h.beginFirstRelease(t)
	require.Eventually(t, func() bool {
		return h.rows(t, "subscription_deliveries", "number = ?", number) == 1
	}, patience, time.Millisecond)
	require.True(t, h.subscriptions.beside.Load())
}
