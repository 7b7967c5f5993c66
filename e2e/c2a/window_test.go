package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// with returns what a harness declares that takes everything and lets deliveries wait.
func with(delivery object) object {
	all := object{"delivery": delivery}
	for name, value := range played.Every {
		all[name] = value
	}
	return all
}

// What somebody writes in pieces comes as one event, with the pieces in their order.
func TestFragmentsComeAsOneEvent(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, with(object{"compose": true}))
		var ids []any
		for _, piece := range []string{"when someone types", "in", "pieces"} {
			ids = append(ids, s.message(t, "ann", "bob", piece, nil).GetId())
		}
		d := bob.Next(t)
		for d.Params["sourceIds"] == nil { // a busy machine took longer than a pause between two pieces
			bob.Accept(t, d)
			s.message(t, "ann", "bob", "and", nil)
			ids = []any{s.message(t, "ann", "bob", "again", nil).GetId()}
			d = bob.Next(t)
		}
		sources, _ := d.Params["sourceIds"].([]any)
		require.Contains(t, sources, ids[len(ids)-1])
		require.Equal(t, sources[len(sources)-1], d.Event(), "the newest names the event")
		require.Len(t, d.Content(), len(sources))
		bob.Accept(t, d)
	})
}

// What is ambient comes as one digest, which has nothing of the payloads and nothing to answer.
func TestAmbientMessagesComeAsOneDigest(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		for _, draft := range []string{played.June2, played.June24} {
			bob := played.Connect(t, &h.Clients, "bob", draft, with(object{"digestSeconds": 1, "digestMaxChars": 1000}))
			for range 3 {
				s.message(t, "ann", "", "the payload", func(r *openintentv1.SendMessageRequest) { r.Subject = new("Build 7") })
			}
			d := bob.Next(t)
			require.Equal(t, "digest", d.At("injection.mode"))
			require.NotContains(t, d.Text, "the payload")
			require.Contains(t, d.Text, "from agent:ann in talk")
			require.Contains(t, d.Text, "Build 7")
			if draft == played.June2 {
				d.Holds(t, object{"attention.policy": "must_not_respond", "conversation.kind": "system", "author.kind": "system"})
			}
			bob.Accept(t, d)
			bob.Leave()
			<-bob.Over
		}
	})
}

// A harness that asks for other windows gets what it had not acknowledged before.
func TestOtherWindowsLoseNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		s := newScene(t, h)
		bob := played.Connect(t, &h.Clients, "bob", played.June2, played.Every)
		first := s.message(t, "ann", "bob", "one", nil)
		require.Equal(t, first.GetId(), bob.Next(t).Event())
		bob.Leave()
		<-bob.Over

		bob = played.Connect(t, &h.Clients, "bob", played.June2, with(object{"digestSeconds": 60}))
		again := bob.Next(t)
		require.Equal(t, first.GetId(), again.Event())
		bob.Accept(t, again)
		second := s.message(t, "ann", "bob", "two", nil)
		d := bob.Next(t)
		require.Equal(t, second.GetId(), d.Event())
		bob.Accept(t, d)
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
