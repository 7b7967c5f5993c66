package subscriptions

import (
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// edit gives a message of the sender a new text, and erase deletes it.
func (r rooms) edit(t require.TestingT, m *wireMessage, text string) {
	_, err := r.messaging.UpdateMessage(as(m.GetSender()), &openintentv1.UpdateMessageRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(), Payload: content(text),
	})
	require.NoError(t, err)
}

func (r rooms) erase(t require.TestingT, m *wireMessage) {
	_, err := r.messaging.DeleteMessage(as(m.GetSender()), &openintentv1.DeleteMessageRequest{
		ChannelId: m.GetChannelId(), MessageId: m.GetId(),
	})
	require.NoError(t, err)
}

func TestDeliveriesHaveTheNewestContent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		sub := h.subscribe(t, "b", &createInput{IntentId: &intentID})
		edited, erased := h.send(t, "a", channelID, "b", "old"), h.send(t, "a", channelID, "b", "secret")
		require.Len(t, h.fetch(t, sub), 2)
		h.edit(t, edited, "new")
		h.erase(t, erased)
		h.clock.Advance(time.Hour) // what was not acknowledged comes again
		var texts []string
		for _, d := range h.fetch(t, sub) {
			texts = append(texts, textOf(d.GetMessage()))
			require.Equal(t, d.GetMessage().GetId() == erased.GetId(), d.GetMessage().DeletedAt != nil)
		}
		require.Equal(t, []string{"new", ""}, texts)
	})
}

func TestPostsHaveTheNewestContent(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		var accepts atomic.Bool
		endpoint := newHook(t, func(arrival) int {
			if accepts.Load() {
				return http.StatusOK
			}
			return http.StatusBadRequest
		})
		intentID := h.intent(t)
		channelID := h.open(t, intentID, "news")
		h.subscribe(t, "b", &createInput{IntentId: &intentID, WebhookUrl: &endpoint.URL})
		m := h.send(t, "a", channelID, "b", "old")
		eventually(t, func() bool { return len(endpoint.all()) > 0 }, "nothing was posted")
		h.edit(t, m, "new")
		accepts.Store(true)
		eventually(t, func() bool {
			h.clock.Advance(time.Second)
			return len(endpoint.taken()) > 0
		}, "nothing was accepted")
		require.Equal(t, "new", endpoint.all()[len(endpoint.all())-1].text())
	}, webhooked, restless)
}
