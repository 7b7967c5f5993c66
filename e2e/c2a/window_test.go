package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// with returns what a harness declares that takes everything and lets deliveries wait.
func with(delivery object) object {
	all := object{"delivery": delivery}
	for name, value := range every {
		all[name] = value
	}
	return all
}

// What somebody writes in pieces comes as one event, with the pieces in their order.
func TestFragmentsComeAsOneEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, with(object{"compose": true}))
		var ids []any
		for _, piece := range []string{"when someone types", "in", "pieces"} {
			ids = append(ids, s.message(t, "ann", "bob", piece, nil).GetId())
		}
		d := bob.next(t)
		for d.params["sourceIds"] == nil { // a busy machine took longer than a pause between two pieces
			bob.accept(t, d)
			s.message(t, "ann", "bob", "and", nil)
			ids = []any{s.message(t, "ann", "bob", "again", nil).GetId()}
			d = bob.next(t)
		}
		sources, _ := d.params["sourceIds"].([]any)
		require.Contains(t, sources, ids[len(ids)-1])
		require.Equal(t, sources[len(sources)-1], d.event(), "the newest names the event")
		require.Len(t, d.content(), len(sources))
		bob.accept(t, d)
	})
}

// What is ambient comes as one digest, which has nothing of the payloads and nothing to answer.
func TestAmbientMessagesComeAsOneDigest(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		for _, draft := range []string{june2, june24} {
			bob := connect(t, &h.Clients, "bob", draft, with(object{"digestSeconds": 1, "digestMaxChars": 1000}))
			for range 3 {
				s.message(t, "ann", "", "the payload", func(r *openintentv1.SendMessageRequest) { r.Subject = new("Build 7") })
			}
			d := bob.next(t)
			require.Equal(t, "digest", d.at("injection.mode"))
			require.NotContains(t, d.text, "the payload")
			require.Contains(t, d.text, "from agent:ann in talk")
			require.Contains(t, d.text, "Build 7")
			if draft == june2 {
				d.holds(t, object{"attention.policy": "must_not_respond", "conversation.kind": "system", "author.kind": "system"})
			}
			bob.accept(t, d)
			bob.leave()
			<-bob.over
		}
	})
}

// A harness that asks for other windows gets what it had not acknowledged before.
func TestOtherWindowsLoseNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := connect(t, &h.Clients, "bob", june2, every)
		first := s.message(t, "ann", "bob", "one", nil)
		require.Equal(t, first.GetId(), bob.next(t).event())
		bob.leave()
		<-bob.over

		bob = connect(t, &h.Clients, "bob", june2, with(object{"digestSeconds": 60}))
		again := bob.next(t)
		require.Equal(t, first.GetId(), again.event())
		bob.accept(t, again)
		second := s.message(t, "ann", "bob", "two", nil)
		d := bob.next(t)
		require.Equal(t, second.GetId(), d.event())
		bob.accept(t, d)
		kept, err := h.As("bob").Subscriptions.ListSubscriptions(t.Context(), &openintentv1.ListSubscriptionsRequest{})
		require.NoError(t, err)
		var names []string
		for _, one := range kept.GetSubscriptions() {
			if one.GetName() != "default" {
				names = append(names, one.GetName())
			}
		}
		require.Equal(t, []string{"c2a+digest60"}, names)
	})
}
