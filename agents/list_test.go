package agents

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

// The server compares capabilities after reading the rows, and the pages are full nevertheless.
func TestAgentsComeInPages(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for i := range 9 {
			said := registering(fmt.Sprint("agent-", i))
			said.Capabilities = []string{fmt.Sprint("by ", i%2+2)}
			_, err := h.RegisterAgent(asOperator(), said)
			require.NoError(t, err)
		}
		for _, c := range []struct {
			capabilities []string
			total        int64
			sizes        []int
		}{
			{nil, 9, []int{2, 2, 2, 2, 1}}, {[]string{"by 2"}, 5, []int{2, 2, 1}}, {[]string{"by 3"}, 4, []int{2, 2}},
			{[]string{"none"}, 0, []int{0}},
		} {
			request := &openintentv1.ListAgentsRequest{Capabilities: c.capabilities, Limit: pointer(int32(2))}
			var sizes []int
			seen := make(map[string]bool)
			for {
				page, err := h.ListAgents(as("a"), request)
				require.NoError(t, err)
				require.Equal(t, c.total, page.GetTotal())
				sizes = append(sizes, len(page.GetAgents()))
				for _, agent := range page.GetAgents() {
					seen[agent.GetAgentId()] = true
				}
				if request.Cursor = page.NextCursor; request.Cursor == nil {
					break
				}
			}
			require.Equal(t, c.sizes, sizes)
			require.Len(t, seen, int(c.total))
		}
	})
}

func TestAgentsAreCountedUpToABound(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		for i := range 4 {
			_, err := h.RegisterAgent(asOperator(), registering(fmt.Sprint("agent-", i)))
			require.NoError(t, err)
		}
		for bound, bounded := range map[int64]bool{3: true, 4: false} {
			h.mostCounted = bound
			page, err := h.ListAgents(as("a"), &openintentv1.ListAgentsRequest{})
			require.NoError(t, err)
			require.Equal(t, bound, page.GetTotal())
			require.Equal(t, bounded, page.GetTotalBounded())
			require.Len(t, page.GetAgents(), 4, "only the count is bounded")
		}
	})
}
