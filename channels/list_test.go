package channels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/fault"
	openintentv1 "openintent/gen/openintent/v1"
	"openintent/pages"
)

// Channels that list many members end a page before it is full of channels.
func TestAPageOfChannelsIsBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		members := make([]string, 3_000)
		for i := range members {
			members[i] = fmt.Sprint(strings.Repeat("m", 240), i)
		}
		for i := range 5 {
			h.create(t, "alice", &createRequest{IntentId: intentID, Name: fmt.Sprint("wide ", i), Members: members})
		}
		request := &openintentv1.ListChannelsRequest{IntentId: intentID}
		var sizes []int
		for {
			page, err := h.channels.ListChannels(as("alice"), request)
			require.NoError(t, err)
			sizes = append(sizes, len(page.GetChannels()))
			if request.Cursor = page.NextCursor; request.Cursor == nil {
				break
			}
		}
		require.Equal(t, []int{4, 1}, sizes)
	})
}

func TestAForeignCursorIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		for _, cursor := range []string{"x", pages.Cursor("tasks", int64(1)), pages.Cursor("channels", int64(1))} {
			_, err := h.channels.ListChannels(as("alice"), &openintentv1.ListChannelsRequest{IntentId: intentID, Cursor: &cursor})
			requireFault(t, err, fault.Invalid, "INVALID_FIELD")
		}
	})
}
