package intents

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/optional"
)

func TestListEvents(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		id := h.newIntent(t).GetId()
		for i := range 5 {
			h.clock.Advance(time.Second)
			h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: fmt.Sprint("type", i%2)})
		}
		all := h.log(t, id)
		for name, c := range map[string]struct {
			req  *openintentv1.ListEventsRequest
			want []int64
		}{
			"newest first":      {&openintentv1.ListEventsRequest{}, []int64{6, 5, 4, 3, 2, 1}},
			"a page":            {&openintentv1.ListEventsRequest{Limit: pointer(int32(2)), Offset: pointer(int32(1))}, []int64{5, 4}},
			"oldest first":      {&openintentv1.ListEventsRequest{Order: pointer("asc"), Limit: pointer(int32(2))}, []int64{1, 2}},
			"after a sequence":  {&openintentv1.ListEventsRequest{AfterSequence: pointer(int64(4))}, []int64{5, 6}},
			"after the newest":  {&openintentv1.ListEventsRequest{AfterSequence: pointer(int64(6))}, nil},
			"after, descending": {&openintentv1.ListEventsRequest{AfterSequence: pointer(int64(4)), Order: pointer("desc")}, []int64{6, 5}},
			"of a type":         {&openintentv1.ListEventsRequest{EventType: pointer("type1")}, []int64{5, 3}},
			"after a time":      {&openintentv1.ListEventsRequest{Since: all[3].GetCreatedAt()}, []int64{6, 5}},
			"just before a time": {
				&openintentv1.ListEventsRequest{Since: optional.Time(all[3].GetCreatedAt().AsTime().Add(-time.Microsecond))},
				[]int64{6, 5, 4},
			},
		} {
			t.Run(name, func(t *testing.T) {
				c.req.IntentId = id
				response, err := h.ListEvents(as("bob"), c.req)
				require.NoError(t, err)
				var sequences []int64
				for _, event := range response.GetEvents() {
					sequences = append(sequences, event.GetSequence())
				}
				require.Equal(t, c.want, sequences)
			})
		}
	})
}

// Pages lead on until the end, whatever they look for, and each looks at a bounded number of events.
func TestPagesOfEventsLookAtABoundedNumber(t *testing.T) {
	eachEngine(t, func(t *testing.T, h *house) {
		const bound = 6
		h.looking = looking{candidates: bound, atOnce: bound}
		id := h.newIntent(t).GetId()
		for i := range 39 {
			h.clock.Advance(time.Second)
			kind := "common"
			if i%17 == 0 {
				kind = "rare"
			}
			h.appendEvent(t, &openintentv1.AppendEventRequest{IntentId: id, EventType: kind})
		}
		all := h.log(t, id)
		require.Len(t, all, 40)
		for _, kind := range []string{"", "common", "rare", "none"} {
			for _, order := range []string{"asc", "desc"} {
				for _, since := range []int{-1, 3, 20, 39} {
					req := &openintentv1.ListEventsRequest{IntentId: id, Order: &order, Limit: pointer(int32(4))}
					if kind != "" {
						req.EventType = &kind
					}
					if since >= 0 {
						req.Since = all[since].GetCreatedAt()
					}
					var wanted []int64
					for i, event := range all {
						if i > since && (kind == "" || event.GetEventType() == kind) {
							wanted = append(wanted, event.GetSequence())
						}
					}
					if order == "desc" {
						slices.Reverse(wanted)
					}
					name := fmt.Sprintf("%q, %s, after the event %d", kind, order, since)
					found, pages := h.walk(t, req)
					require.ElementsMatch(t, wanted, found, name)
					require.True(t, slices.Equal(wanted, found), name)
					if kind != "" && since < 0 {
						require.GreaterOrEqual(t, pages, len(all)/bound, name)
					}
					for _, offset := range []int{1, 5, 39, 50} {
						skipping := &openintentv1.ListEventsRequest{
							IntentId: id, Order: &order, EventType: req.EventType, Since: req.Since, Offset: pointer(int32(offset)),
						}
						page, err := h.ListEvents(as("bob"), skipping)
						require.NoError(t, err)
						require.True(t, slices.Equal(wanted[min(offset, len(wanted)):], sequencesOf(page.GetEvents())), "%s, offset %d", name, offset)
					}
				}
			}
		}
	})
}

// walk lists events page by page, and returns their sequences and the number of pages.
func (h *house) walk(t *testing.T, req *openintentv1.ListEventsRequest) (found []int64, pages int) {
	for {
		page, err := h.ListEvents(as("bob"), req)
		require.NoError(t, err)
		found, pages = append(found, sequencesOf(page.GetEvents())...), pages+1
		if page.NextCursor == nil {
			require.False(t, page.GetBounded())
			return found, pages
		}
		require.NotEqual(t, req.GetCursor(), page.GetNextCursor())
		req.Cursor = page.NextCursor
	}
}

func sequencesOf(events []*openintentv1.Event) []int64 {
	sequences := make([]int64, 0, len(events))
	for _, event := range events {
		sequences = append(sequences, event.GetSequence())
	}
	return sequences
}
