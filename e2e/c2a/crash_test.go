package c2a

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// ledger is what a harness has persisted, and what its model has handled: each event once, by its id.
type ledger struct {
	seen    map[string]bool
	handled []string
}

func (l *ledger) persist(d played.Delivery) {
	if !l.seen[d.Event()] {
		l.seen[d.Event()] = true
		l.handled = append(l.handled, d.Content()...)
	}
}

// A harness persists, and crashes before and after its acknowledgement. It connects to another server each time, and is told of a deletion.
// It loses nothing and handles nothing twice.
func TestAHarnessThatCrashesLosesNothing(t *testing.T) {
	url := databasetest.URL(t, database.PostgreSQL)
	one := harness.Start(t, harness.Options{URL: url})
	other := harness.Start(t, harness.Options{URL: url})
	crash(t, newScene(t, one), []*harness.Server{one, other})
}

// The same on the one server that there is with SQLite.
func TestAHarnessThatCrashesLosesNothingOnOneServer(t *testing.T) {
	h := harness.Start(t, harness.Options{})
	crash(t, newScene(t, h), []*harness.Server{h, h})
}

func crash(t *testing.T, s *scene, servers []*harness.Server) {
	t.Helper()
	connected := 0
	again := func() *played.Harness {
		connected++
		return played.Connect(t, &servers[connected%2].Clients, "bob", played.June2, played.Every)
	}
	kept := &ledger{seen: make(map[string]bool)}
	bob := again()
	s.asks(t, "ann", "bob", "one")
	kept.persist(bob.Next(t))
	bob.Leave() // after it has persisted, and before it has acknowledged

	bob = again()
	first := bob.Next(t)
	kept.persist(first)
	bob.Accept(t, first)
	s.asks(t, "ann", "bob", "two")
	kept.persist(bob.Next(t))
	second := s.asks(t, "ann", "bob", "three")
	third := bob.Next(t)
	kept.persist(third)
	bob.Accept(t, third)
	bob.Leave() // the acknowledgement may be on its way

	_, err := s.As("ann").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{
		ChannelId: s.channel, MessageId: second.GetId(),
	})
	require.NoError(t, err)
	s.asks(t, "ann", "bob", "four")

	// What comes now is the second one again, the deletion of the third one, and the fourth one.
	bob = again()
	deleted, fourth := "", false
	for deleted == "" || !fourth {
		f := played.Take(t, bob, bob.Came, "something is missing")
		if f.Method == "notifications/cancelled" {
			deleted = second.GetId()
			require.Contains(t, string(f.Params), deleted)
			require.Contains(t, string(f.Params), "Message was deleted")
			continue
		}
		d := bob.AsDelivery(t, f)
		kept.persist(d)
		bob.Accept(t, d)
		fourth = fourth || d.Content()[0] == "four"
	}
	require.Equal(t, []string{"one", "two", "three", "four"}, kept.handled)
}

// What was not acknowledged comes again with a higher attempt, under the same id and key.
func TestWhatWasNotAcknowledgedComesAgain(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		s.ready(t, bob)
		s.message(t, "ann", "bob", "one", nil)
		first := bob.Next(t)
		bob.Say(t, object{"jsonrpc": "2.0", "id": first.ID, "error": object{"code": 1, "message": "no room"}})

		bob = played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		again := bob.Next(t)
		require.Equal(t, first.Event(), again.Event())
		require.Equal(t, first.At("reliability.idempotencyKey"), again.At("reliability.idempotencyKey"))
		bob.Accept(t, again)
		s.message(t, "ann", "bob", "two", nil)
		require.Equal(t, []string{"two"}, bob.Next(t).Content())
	})
}

// A second connection of an agent replaces the first, which is told so.
func TestASecondConnectionReplacesTheFirst(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		first := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		s.ready(t, first)
		second := played.Connect(t, &h.Clients, "bob", played.June24, played.Every)
		<-first.Over
		require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(first.Why), "%v", first.Why)
		require.ErrorContains(t, first.Why, "REPLACED")
		s.message(t, "ann", "bob", "who is there?", nil)
		require.Equal(t, []string{"who is there?"}, second.Next(t).Content())
	})
}

// The first connection of an agent brings the requests that are open. Requests that were answered, and what was said before, do not come.
func TestTheFirstConnectionBringsOpenRequests(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		s.message(t, "ann", "bob", "long ago", nil)
		open := s.asks(t, "ann", "bob", "still open")
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		d := bob.Next(t)
		require.Equal(t, open.GetId(), d.Event())
		bob.Leave()

		bob = played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		d = bob.Next(t)
		require.Equal(t, open.GetId(), d.Event(), "it was not acknowledged")
		bob.Accept(t, d)
		s.message(t, "ann", "bob", "new", nil)
		d = bob.Next(t)
		require.Equal(t, []string{"new"}, d.Content())
		bob.Accept(t, d)
	})
}

// A server that stops ends its connections and says so, and the next one goes on.
func TestAServerThatStopsEndsItsConnections(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		s.ready(t, bob)
		silent := played.Dial(t, &h.Clients, harness.Key, "carl")
		require.NoError(t, h.Stop())
		for _, one := range []*played.Harness{bob, silent} {
			<-one.Over
			require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(one.Why), "%v", one.Why)
		}
		h.Start(t)
		bob = played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		s.message(t, "ann", "bob", "back again", nil)
		require.Equal(t, []string{"back again"}, bob.Next(t).Content())
	})
}
