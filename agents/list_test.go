package agents

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	openintentv1 "openintent/gen/openintent/v1"
)

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

// A capability is found as it was registered, and by nothing that only looks like a part of the list.
func TestAgentsAreFoundByTheirExactCapabilities(t *testing.T) {
	eachHouse(t, func(t *testing.T, h *house) {
		capabilities := map[string][]string{
			"plain": {"sum", "sort"}, "quoted": {`a "sum" of`}, "two": {`sum","sort`}, "slash": {`sum\`}, "angle": {"<sum> & more"}, "foreign": {"größe"},
		}
		for agent, list := range capabilities {
			said := registering(agent)
			said.Capabilities = list
			_, err := h.RegisterAgent(asOperator(), said)
			require.NoError(t, err)
		}
		found := func(capabilities ...string) (agents []string) {
			page, err := h.ListAgents(as("a"), &openintentv1.ListAgentsRequest{Capabilities: capabilities})
			require.NoError(t, err)
			require.EqualValues(t, len(page.GetAgents()), page.GetTotal())
			for _, agent := range page.GetAgents() {
				agents = append(agents, agent.GetAgentId())
			}
			return agents
		}
		for agent, list := range capabilities {
			for _, capability := range list {
				require.Equal(t, []string{agent}, found(capability))
			}
		}
		require.Equal(t, []string{"foreign", "plain"}, found("sort", "größe"))
		for _, none := range []string{"su", "Sum", "um", `"sum"`, "sum,sort", "[", "", "größ_", "%"} {
			require.Empty(t, found(none), none)
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
