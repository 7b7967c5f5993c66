package reading

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	"openintent/messaging/message"
	"openintent/messaging/wake"
)

// A handover tells who sees a message only where that hangs on nothing but what was read under the lock.
func TestHandoverTellsWhatHangsOnNoRecord(t *testing.T) {
	at := time.Unix(1000, 0)
	known := func(agent string, version int64) agents.Presence {
		return agents.Presence{AgentID: agent, Status: agents.StatusActive, Version: version}
	}
	for name, c := range map[string]struct {
		policy            channels.Policy
		target            string
		followers         map[string]agents.Presence
		records           map[string]agents.Presence
		open, tellsAnyway bool
	}{
		"to an agent": {
			policy: channels.PolicyExplicit, target: "bob", tellsAnyway: true,
			followers: map[string]agents.Presence{"bob": known("bob", 1), "eve": known("eve", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1), "bob": known("bob", 1)},
		},
		"to an agent that has changed": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"bob": known("bob", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1), "bob": known("bob", 2)},
		},
		"to an agent whose record was not read": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"bob": known("bob", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 1)},
		},
		"from a follower that has changed": {
			policy: channels.PolicyExplicit, target: "bob",
			followers: map[string]agents.Presence{"ann": known("ann", 1)},
			records:   map[string]agents.Presence{"ann": known("ann", 2), "bob": known("bob", 1)},
		},
		"to an agent that does not follow": {policy: channels.PolicyExplicit, target: "bob", tellsAnyway: true},
		"to all members":                   {policy: channels.PolicyExplicit, target: "*"},
		"to whoever may read the intent":   {policy: channels.PolicyIntent, target: "*", tellsAnyway: true},
		"to a role":                        {policy: channels.PolicyIntent, target: "role:judge"},
		"a request":                        {policy: channels.PolicyIntent, target: "bob", open: true, tellsAnyway: true},
		"a request to an agent that left at once": {
			policy: channels.PolicyIntent, target: "bob", open: true,
			records: map[string]agents.Presence{"bob": {AgentID: "bob", DepartedAt: at}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			h := &wake.Handover{
				Messages:  []*message.Message{{Sender: "ann", Target: c.target, CreatedAt: at, Open: c.open}},
				Presences: c.records,
			}
			before := Snapshot{Channel: &channels.Rules{Policy: c.policy}, Presences: c.followers}
			require.Equal(t, c.tellsAnyway, before.CanTell(h))
		})
	}
}
