package c2a

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/c2a/played"
	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// Keys of one agent that are kept to different places do not share what the agent's harness has passed, whichever connects first.
func TestKeysOfDifferentPlacesMissNothing(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		for _, first := range []string{"kept", "free"} {
			inside, outside := newScene(t, h), newScene(t, h)
			agent := "bob-" + first
			for _, s := range []*scene{inside, outside} {
				s.takesPart(t, agent)
			}
			made, err := h.Operator().Keys.CreateKey(t.Context(), &openintentv1.CreateKeyRequest{
				Label: "kept " + first, Agents: []string{agent}, Intents: []string{inside.intent},
			})
			require.NoError(t, err)
			secrets := map[string]string{"kept": made.GetSecret(), "free": harness.Key}
			order := []string{first, map[string]string{"kept": "free", "free": "kept"}[first]}
			connected := make(map[string]*played.Harness)
			for _, key := range order {
				connected[key] = played.Dial(t, &h.Clients, secrets[key], agent)
				connected[key].Initialize(t, played.June2, played.Every)
			}
			hidden := outside.asks(t, "ann", agent, "outside")
			seen := inside.asks(t, "ann", agent, "inside")
			d := connected["kept"].Next(t)
			require.Equal(t, seen.GetId(), d.Event(), "%s first", first)
			connected["kept"].Accept(t, d)
			d = connected["free"].Next(t)
			require.Equal(t, hidden.GetId(), d.Event(), "%s first; what both see is past", first)
			connected["free"].Accept(t, d)
		}
	})
}
