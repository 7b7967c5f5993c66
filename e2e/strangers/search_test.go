package strangers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintentv1 "openintent/gen/openintent/v1"
)

// Nobody finds what is not for it, neither a message nor that there is one, with any filter.
func TestASearchFindsOnlyWhatTheCallerMaySee(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		w := newWorld(t, h)
		w.makeAnywhere(t)
		alice := w.As("alice")
		asked := time.Now()
		require.Eventually(t, func() bool {
			return w.search(t, alice, &openintentv1.SearchMessagesRequest{}).GetCompleteThrough().AsTime().After(asked)
		}, harness.Patience, 50*time.Millisecond)
		var all []string
		for _, found := range w.search(t, alice, &openintentv1.SearchMessagesRequest{}).GetMessages() {
			all = append(all, found.GetMessage().GetId())
		}
		for _, place := range []string{"notify", "members_message", "hidden_message"} {
			require.Contains(t, all, w.places[place])
		}
		mallory := w.With(harness.BoundKey, "")
		for _, filter := range []*openintentv1.SearchMessagesRequest{
			{}, {IntentId: new(w.places["intent"])}, {IntentId: new(w.places["hidden_intent"])}, {ChannelId: new(w.places["members_room"])},
			{ThreadId: new(w.places["notify"])}, {Sender: new("alice")}, {To: new("bob")},
		} {
			for _, found := range w.search(t, mallory, filter).GetMessages() {
				require.Contains(t, []string{w.places["broadcast"], w.places["other_message"]}, found.GetMessage().GetId())
			}
		}
		hidden := w.search(t, mallory, &openintentv1.SearchMessagesRequest{IntentId: new(w.places["hidden_intent"])})
		absent := w.search(t, mallory, &openintentv1.SearchMessagesRequest{IntentId: new("absent")})
		require.Empty(t, hidden.GetMessages())
		require.Empty(t, absent.GetMessages())
		require.Equal(t, absent.NextCursor, hidden.NextCursor)
		require.NotNil(t, hidden.GetCompleteThrough())
		require.Nil(t, hidden.GetCompleteFrom())
		require.Zero(t, hidden.GetMessagesLeft())
	})
}

// search searches for the world's secret.
func (w *world) search(t *testing.T, c *harness.Caller, filter *openintentv1.SearchMessagesRequest) *openintentv1.SearchMessagesResponse {
	t.Helper()
	filter.Q = "secret"
	page, err := c.Search.SearchMessages(t.Context(), filter)
	require.NoError(t, err)
	return page
}
