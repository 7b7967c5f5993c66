package c2a

import (
	"testing"

	"github.com/coder/websocket"
	"github.com/stretchr/testify/require"

	"openintent/database"
	"openintent/database/databasetest"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// ledger is what a harness has persisted, and what its model has handled: each event once, by its id.
type ledger struct {
	seen    map[string]bool
	handled []string
}

func (l *ledger) persist(d delivered) {
	if !l.seen[d.event()] {
		l.seen[d.event()] = true
		l.handled = append(l.handled, d.content()...)
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
	again := func() *script {
		connected++
		return connect(t, &servers[connected%2].Clients, "bob", june2, every)
	}
	kept := &ledger{seen: make(map[string]bool)}
	bob := again()
	s.asks(t, "ann", "bob", "one")
	kept.persist(bob.next(t))
	bob.leave() // after it has persisted, and before it has acknowledged

	bob = again()
	first := bob.next(t)
	kept.persist(first)
	bob.accept(t, first)
	s.asks(t, "ann", "bob", "two")
	kept.persist(bob.next(t))
	second := s.asks(t, "ann", "bob", "three")
	third := bob.next(t)
	kept.persist(third)
	bob.accept(t, third)
	bob.leave() // the acknowledgement may be on its way

	_, err := s.As("ann").Messages.DeleteMessage(t.Context(), &openintentv1.DeleteMessageRequest{
		ChannelId: s.channel, MessageId: second.GetId(),
	})
	require.NoError(t, err)
	s.asks(t, "ann", "bob", "four")

	// What comes now is the second one again, the deletion of the third one, and the fourth one.
	bob = again()
	deleted, fourth := "", false
	for deleted == "" || !fourth {
		f := take(t, bob, bob.came, "something is missing")
		if f.Method == "notifications/cancelled" {
			deleted = second.GetId()
			require.Contains(t, string(f.Params), deleted)
			require.Contains(t, string(f.Params), "Message was deleted")
			continue
		}
		d := bob.asDelivery(t, f)
		kept.persist(d)
		bob.accept(t, d)
		fourth = fourth || d.content()[0] == "four"
	}
	require.Equal(t, []string{"one", "two", "three", "four"}, kept.handled)
}

// What was not acknowledged comes again with a higher attempt, under the same id and key.
func TestWhatWasNotAcknowledgedComesAgain(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		s.ready(t, bob)
		s.message(t, "ann", "bob", "one", nil)
		first := bob.next(t)
		bob.say(t, object{"jsonrpc": "2.0", "id": first.id, "error": object{"code": 1, "message": "no room"}})

		bob = connect(t, &h.Clients, "bob", june2, every)
		again := bob.next(t)
		require.Equal(t, first.event(), again.event())
		require.Equal(t, first.at("reliability.idempotencyKey"), again.at("reliability.idempotencyKey"))
		bob.accept(t, again)
		s.message(t, "ann", "bob", "two", nil)
		require.Equal(t, []string{"two"}, bob.next(t).content())
	})
}

// A second connection of an agent replaces the first, which is told so.
func TestASecondConnectionReplacesTheFirst(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		first := connect(t, &h.Clients, "bob", june2, every)
		s.ready(t, first)
		second := connect(t, &h.Clients, "bob", june24, every)
		<-first.over
		require.Equal(t, websocket.StatusPolicyViolation, websocket.CloseStatus(first.why), "%v", first.why)
		require.ErrorContains(t, first.why, "REPLACED")
		s.message(t, "ann", "bob", "who is there?", nil)
		require.Equal(t, []string{"who is there?"}, second.next(t).content())
	})
}

// The first connection of an agent brings the requests that are open. Requests that were answered, and what was said before, do not come.
func TestTheFirstConnectionBringsOpenRequests(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		s.message(t, "ann", "bob", "long ago", nil)
		open := s.asks(t, "ann", "bob", "still open")
		bob := connect(t, &h.Clients, "bob", june2, every)
		d := bob.next(t)
		require.Equal(t, open.GetId(), d.event())
		bob.leave()

		bob = connect(t, &h.Clients, "bob", june2, every)
		d = bob.next(t)
		require.Equal(t, open.GetId(), d.event(), "it was not acknowledged")
		bob.accept(t, d)
		s.message(t, "ann", "bob", "new", nil)
		d = bob.next(t)
		require.Equal(t, []string{"new"}, d.content())
		bob.accept(t, d)
	})
}

// A server that stops ends its connections and says so, and the next one goes on.
func TestAServerThatStopsEndsItsConnections(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		s.ready(t, bob)
		silent := dial(t, &h.Clients, harness.Key, "carl")
		require.NoError(t, h.Stop())
		for _, one := range []*script{bob, silent} {
			<-one.over
			require.Equal(t, websocket.StatusGoingAway, websocket.CloseStatus(one.why), "%v", one.why)
		}
		h.Start(t)
		bob = connect(t, &h.Clients, "bob", june2, every)
		s.message(t, "ann", "bob", "back again", nil)
		require.Equal(t, []string{"back again"}, bob.next(t).content())
	})
}
