package subscriptions

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

// within returns the context of an agent's call with a key for some channels.
func within(agent string, channelIDs ...string) context.Context {
	return caller.NewContext(context.Background(), caller.Caller{
		Agent: agent, KeyAgents: []string{agent}, Scope: caller.NewScope(nil, channelIDs),
	})
}

// What was made with a key for one channel posts only what lies there, and gives up nothing else.
func TestOnlyWhatLiesInTheScopeIsPosted(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		endpoint := newHook(t, func(arrival) int { return http.StatusGone })
		intentID := h.intent(t)
		inside, outside := h.open(t, intentID, "inside"), h.open(t, intentID, "outside")
		sub, err := h.subscriptions.CreateSubscription(within("b", inside), &createInput{WebhookUrl: &endpoint.URL})
		require.NoError(t, err)
		other := newHook(t, nil)
		h.subscribe(t, "b", &createInput{WebhookUrl: &other.URL})
		h.send(t, "a", outside, "b", "out")
		h.send(t, "a", inside, "b", "in")
		h.send(t, "a", outside, "b", "out again")
		assert.ElementsMatch(t, []string{"out", "in", "out again"}, other.await(t, 3))
		eventually(t, func() bool { return len(h.deadLetters(t, sub)) == 1 }, "the endpoint is gone")
		require.Len(t, endpoint.all(), 1)
		require.Equal(t, "in", endpoint.all()[0].text())
		require.Equal(t, "in", textOf(h.deadLetters(t, sub)[0].GetDelivery().GetMessage()))
	}, webhooked)
}

// A subscription is there for those whose scope covers it, and for nobody else.
func TestWhoseScopeCoversASubscription(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		one, two := h.open(t, intentID, "one"), h.open(t, intentID, "two")
		scopes := map[string]context.Context{
			"everywhere": as("b"), "one": within("b", one), "two": within("b", two), "both": within("b", one, two),
			"the intent": caller.NewContext(context.Background(), caller.Caller{Agent: "b", Scope: caller.NewScope([]string{intentID}, nil)}),
		}
		for _, row := range []struct {
			made string
			of   *createInput
			seen []string
		}{
			{"everywhere", &createInput{}, []string{"everywhere"}},
			{"one", &createInput{}, []string{"everywhere", "one", "both"}},
			{"both", &createInput{}, []string{"everywhere", "both"}},
			{"the intent", &createInput{}, []string{"everywhere", "the intent"}},
			{"everywhere", &createInput{ChannelId: &one}, []string{"everywhere", "one", "both", "the intent"}},
			{"one", &createInput{ChannelId: &one}, []string{"everywhere", "one", "both", "the intent"}},
			{"everywhere", &createInput{IntentId: &intentID}, []string{"everywhere", "the intent"}},
		} {
			sub, err := h.subscriptions.CreateSubscription(scopes[row.made], row.of)
			require.NoError(t, err)
			for name, scope := range scopes {
				_, err := h.subscriptions.GetSubscription(scope, &openintentv1.GetSubscriptionRequest{SubscriptionId: sub.GetId()})
				_, fetched := h.tryFetch(scope, sub, 1)
				listed, failed := h.subscriptions.ListSubscriptions(scope, &openintentv1.ListSubscriptionsRequest{})
				require.NoError(t, failed)
				there := false
				for _, found := range listed.GetSubscriptions() {
					there = there || found.GetId() == sub.GetId()
				}
				covered := slices.Contains(row.seen, name)
				require.Equal(t, covered, err == nil, "%s made %v: %s", row.made, row.of, name)
				require.Equal(t, covered, fetched == nil, "%s made %v: %s", row.made, row.of, name)
				require.Equal(t, covered, there, "%s made %v: %s", row.made, row.of, name)
			}
		}
	})
}
