package repomesh

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// Whatever sources there are and however they are cut, the pages of a list together have each event once and in order.
func TestPagesHaveEachEventOnce(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		sources := make([][]*event, rapid.IntRange(1, 4).Draw(r, "sources"))
		total := rapid.IntRange(0, 30).Draw(r, "events")
		begin := time.Date(2026, 2, 22, 0, 0, 0, 0, time.UTC)
		for i := range total {
			at := begin.Add(time.Duration(i) * time.Microsecond)
			which := rapid.IntRange(0, len(sources)-1).Draw(r, "source")
			size := rapid.SampledFrom([]int{1, 50, 500}).Draw(r, "size")
			sources[which] = append(sources[which], &event{
				ID: string(rune('A' + i)), at: at, CreatedAt: at.Format(stampLayout), Payload: map[string]any{"content": strings.Repeat("x", size)},
			})
		}
		ascending, limit := rapid.Bool().Draw(r, "ascending"), rapid.IntRange(1, 7).Draw(r, "limit")
		var got []string
		after := begin.Add(-time.Hour)
		if !ascending {
			after = begin.Add(time.Hour)
		}
		for range 2*total + 2 {
			g := &gathering{span: span{ascending: ascending, limit: limit}, room: 1_000}
			for _, source := range sources {
				g.take(source, after, limit)
			}
			page := g.page()
			for _, e := range page.Items {
				got = append(got, e.ID)
			}
			if page.Next == "" {
				break
			}
			next, err := time.Parse(time.RFC3339Nano, page.Next)
			require.NoError(r, err)
			require.NotEqual(r, after, next, "the list does not go on")
			after = next
		}
		require.Len(r, got, total)
		for i := range got {
			wanted := i
			if !ascending {
				wanted = total - 1 - i
			}
			require.Equal(r, string(rune('A'+wanted)), got[i])
		}
	})
}

// take takes one page of a source, as a channel gives it.
func (g *gathering) take(source []*event, after time.Time, limit int) {
	taken := 0
	for i := range source {
		e := source[i]
		if !g.ascending {
			e = source[len(source)-1-i]
		}
		if !g.later(e.at, after) {
			continue
		}
		g.add(e)
		if taken++; taken == limit {
			g.reached(e.at)
			return
		}
	}
}
