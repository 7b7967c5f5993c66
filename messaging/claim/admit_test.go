package claim

import (
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/internal/fault"
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

func TestWhatMayBeClaimed(t *testing.T) {
	request := func(change func(m *message.Message)) *message.Message {
		m := &message.Message{ID: "m", Type: message.TypeRequest, Position: 7, Sender: "alice", Target: "role:worker", Open: true}
		change(m)
		return m
	}
	thread := func(change func(m *message.Message)) *message.Message {
		return request(func(m *message.Message) {
			m.Type, m.Open = message.TypeNotify, false
			change(m)
		})
	}
	as := func(agent string) message.Viewer { return message.Viewer{Agent: agent, Operator: agent == "operator"} }
	for name, row := range map[string]struct {
		message *message.Message
		by      message.Viewer
		refusal error
	}{
		"a request":                     {request(func(*message.Message) {}), as("bob"), nil},
		"a request in a thread":         {request(func(m *message.Message) { m.CorrelationPosition = 3 }), as("bob"), nil},
		"a thread":                      {thread(func(*message.Message) {}), as("bob"), nil},
		"a later message of a thread":   {thread(func(m *message.Message) { m.CorrelationPosition = 3 }), as("bob"), ErrNotTheRoot},
		"one's own request":             {request(func(*message.Message) {}), as("alice"), message.ErrOwnRequest},
		"one's own thread":              {thread(func(*message.Message) {}), as("alice"), nil},
		"the operator's own request":    {request(func(m *message.Message) { m.Sender = "operator" }), as("operator"), nil},
		"a request before its deadline": {request(func(m *message.Message) { m.ExpiresAt = noon.Add(1) }), as("bob"), nil},
		"a request at its deadline":     {request(func(m *message.Message) { m.ExpiresAt = noon }), as("bob"), message.ErrMessageExpired},
		"a message that somebody deleted": {
			thread(func(m *message.Message) { m.Conversation = &message.Conversation{DeletedAt: noon} }), as("bob"), message.ErrMessageDeleted,
		},
	} {
		err := Admit(Situation{Message: row.message, Now: noon}, row.by)
		if row.refusal == nil {
			require.NoError(t, err, name)
			continue
		}
		require.Error(t, err, name)
		require.Equal(t, fault.From(row.refusal).Reason, fault.From(err).Reason, name)
	}
}
