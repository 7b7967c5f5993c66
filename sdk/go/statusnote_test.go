package openintent

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/sdk/go/internal/pace"
)

func TestAStatusNoteBringsTheNextHeartbeatForward(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		agent := newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"})
		started := time.Now()
		require.NoError(t, agent.note.untilHeartbeat(t.Context(), new(pace.Pace).Work(), time.Minute))
		require.Equal(t, time.Minute, time.Since(started), "nothing was said")
		require.Nil(t, agent.note.next())

		started = time.Now()
		time.AfterFunc(20*time.Second, func() { require.NoError(t, agent.SetStatusNote("reading")) })
		require.NoError(t, agent.note.untilHeartbeat(t.Context(), new(pace.Pace).Work(), time.Minute))
		require.Equal(t, 20*time.Second, time.Since(started))
		reading := agent.note.next()
		require.Equal(t, "reading", *reading)

		require.NoError(t, agent.SetStatusNote("writing"))
		agent.note.told(reading)
		writing := agent.note.next()
		require.Equal(t, "writing", *writing, "it was said meanwhile")
		started = time.Now()
		require.NoError(t, agent.note.untilHeartbeat(t.Context(), new(pace.Pace).Work(), time.Minute))
		require.Equal(t, notePause, time.Since(started), "notes cause one heartbeat a second at most")
		agent.note.told(writing)
		require.Nil(t, agent.note.next())

		agent.note.again()
		require.Equal(t, writing, agent.note.next(), "a new record has no note")
	})
}

func TestAStatusNoteThatTheServerWouldRefuseIsRefused(t *testing.T) {
	agent := newClient(nil, Options{}).Agent(AgentOptions{ID: "agent"})
	require.NoError(t, agent.SetStatusNote(strings.Repeat("ü", longestNote)))
	err := agent.SetStatusNote(strings.Repeat("ü", longestNote+1))
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, "The status note must have at most 200 characters, and this one has 201.")
	absent := newClient(nil, Options{}).Agent(AgentOptions{ID: "agent", WithoutRegistering: true})
	require.ErrorIs(t, absent.SetStatusNote("here"), ErrInvalidArgument)
}
