package claim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/messaging/message"
)

// Who is about to leave, or is gone, takes on nothing more. An agent that nobody has registered, and one that is unwell, may.
func TestWhoTakesOnNothingMore(t *testing.T) {
	thread := Situation{Message: &message.Message{Type: message.TypeNotify, Position: 7}}
	for status, leaves := range map[agents.Status]bool{
		"": false, agents.StatusActive: false, agents.StatusUnhealthy: false,
		agents.StatusDraining: true, agents.StatusDead: true, agents.StatusDeregistered: true,
	} {
		err := Admit(thread, message.Viewer{Agent: "bob", Presence: agents.Presence{Status: status}})
		if leaves {
			require.ErrorIs(t, err, ErrLeaving, status)
		} else {
			require.NoError(t, err, status)
		}
	}
}
