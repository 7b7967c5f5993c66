package channels

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/fault"
	"openintent/internal/fault/faulttest"
	"openintent/internal/pages"
)

// Channels that list many members end a page before it is full of channels.
func TestAPageOfChannelsIsBoundedInBytes(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		const many = 90
		members := make([]string, 40)
		for i := range members {
			members[i] = fmt.Sprint(strings.Repeat("𝄞", 240), i) // four bytes each
		}
		for i := range many {
			h.create(t, "alice", &createRequest{IntentId: intentID, Name: fmt.Sprint("wide ", i), Members: members})
		}
		request := &openintentv1.ListChannelsRequest{IntentId: intentID}
		var sizes []int
		seen := 0
		for {
			page, err := h.channels.ListChannels(as("alice"), request)
			require.NoError(t, err)
			sizes = append(sizes, len(page.GetChannels()))
			seen += len(page.GetChannels())
			if request.Cursor = page.NextCursor; request.Cursor == nil {
				break
			}
		}
		require.Len(t, sizes, 2)
		require.Equal(t, many, seen)
		require.InDelta(t, pages.MaxBytes/(40*965), sizes[0], 3)
	})
}

func TestAForeignCursorIsRefused(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		intentID := h.intent(t, "alice")
		for _, cursor := range []string{"x", pages.Cursor("tasks", int64(1)), pages.Cursor("channels", int64(1))} {
			_, err := h.channels.ListChannels(as("alice"), &openintentv1.ListChannelsRequest{IntentId: intentID, Cursor: &cursor})
			faulttest.Require(t, err, fault.Invalid, "INVALID_FIELD")
		}
	})
}
