package agentchannel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

// One agent's requests are bounded, and take no room from the others.
func TestOneAgentsRequestsAreBounded(t *testing.T) {
	var u underWay
	var leaves []func()
	for range mostAtOnce {
		leave, err := u.enter("greedy")
		require.NoError(t, err)
		leaves = append(leaves, leave)
	}
	_, err := u.enter("greedy")
	require.Equal(t, "TOO_MANY_READS", doors.RefusalOf(err).Reason)
	require.Equal(t, 429, doors.RefusalOf(err).HTTPStatus())
	leave, err := u.enter("patient")
	require.NoError(t, err)
	leave()
	leaves[0]()
	again, err := u.enter("greedy")
	require.NoError(t, err)
	for _, leave := range append(leaves[1:], again) {
		leave()
	}
	require.Empty(t, u.agents)
}
