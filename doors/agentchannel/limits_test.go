package agentchannel

import (
	"context"
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

// Of the requests of one account two are worked on at a time, and the others wait. Other accounts do not.
func TestTheRequestsOfOneAccountTakeTurns(t *testing.T) {
	var m makers
	var done []func()
	for range mostMade {
		one, err := m.enter(t.Context(), "greedy")
		require.NoError(t, err)
		done = append(done, one)
	}
	ended, end := context.WithCancel(t.Context())
	end()
	_, err := m.enter(ended, "greedy")
	require.ErrorIs(t, err, context.Canceled, "there is no place")
	other, err := m.enter(ended, nil)
	require.NoError(t, err, "nobody counts")
	other()
	patient, err := m.enter(t.Context(), "patient")
	require.NoError(t, err)
	patient()

	waited := make(chan struct{})
	go func() {
		defer close(waited)
		if last, err := m.enter(t.Context(), "greedy"); err == nil {
			last()
		}
	}()
	for _, one := range done {
		one()
	}
	<-waited
	require.Empty(t, m.lines)
}
