package claim

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/channels"
	"openintent/intents"
	"openintent/internal/caller"
	"openintent/internal/database"
	"openintent/messaging/message"
)

// What ends the claims on a message for all holders comes before what ends the claim of one, and an answer before both.
func TestEndings(t *testing.T) {
	request := func(change func(*message.Message)) *message.Message {
		m := &message.Message{Type: message.TypeRequest, Target: "role:worker", Sender: "alice", Open: true}
		change(m)
		return m
	}
	plain := request(func(*message.Message) {})
	for _, row := range []struct {
		name      string
		situation Situation
		claim     Claim
		want      Ending
	}{
		{"stored", Situation{Closed: true}, Claim{Ended: EndedByTime}, EndedByTime},
		{"the intent", Situation{Message: plain, Closed: true, IntentEnded: true}, Claim{}, EndedByIntent},
		{"the channel", Situation{Message: plain, Closed: true}, Claim{}, EndedByChannel},
		{"the channel of a message that is gone", Situation{Closed: true}, Claim{}, EndedByChannel},
		{"an answer before the channel closed", Situation{Message: plain, Closed: true, Channel: &channels.Rules{}, Access: &intents.Rules{}},
			Claim{Answered: true}, EndedByAnswer},
		{"the deadline", Situation{Message: request(func(m *message.Message) { m.ExpiresAt = noon }), Now: noon}, Claim{ExpiresAt: noon}, EndedByMessage},
		{"an expiry that is stored", Situation{Message: request(func(m *message.Message) { m.EndedAt = noon }), Now: noon}, Claim{}, EndedByMessage},
		{"a deletion", Situation{Message: &message.Message{Conversation: &message.Conversation{DeletedAt: noon}}, Now: noon}, Claim{}, EndedByMessage},
	} {
		require.Equal(t, row.want, row.situation.EndingOf(&row.claim), row.name)
	}
}

func TestWhatKeepsItsPlace(t *testing.T) {
	exact := Situation{Message: &message.Message{
		Type: message.TypeRequest, Target: "role:worker", Conversation: &message.Conversation{Collect: &message.Collect{Collection: message.CollectOne}},
	}}
	loose := Situation{Message: &message.Message{Type: message.TypeRequest, Target: "role:worker"}}
	for ending, keeps := range map[Ending]bool{
		EndedByTime: true, EndedByDeath: true, EndedByLeaving: true, EndedByAccess: true, EndedByRole: true,
		EndedByRelease: false, EndedByAnswer: false, EndedByMessage: false, EndedByChannel: false, EndedByIntent: false,
	} {
		require.Equal(t, keeps, exact.Keeps(ending), ending)
		require.False(t, loose.Keeps(ending), ending)
		require.False(t, Situation{}.Keeps(ending), ending)
	}
}

func TestAClaimEndsByItsMessagesDeadline(t *testing.T) {
	var c Claim
	c.Extend(&message.Message{ExpiresAt: noon.Add(time.Minute)}, noon, time.Hour)
	require.Equal(t, noon.Add(time.Minute), c.ExpiresAt)
	c.Extend(&message.Message{}, noon, time.Hour)
	require.Equal(t, noon.Add(time.Hour), c.ExpiresAt)
}

// A claim of one holder ends with what made that agent one that may hold it.
func TestAClaimEndsWithItsHolder(t *testing.T) {
	const fence = 1_000_000
	members := &channels.Rules{Policy: channels.PolicyExplicit} // only the operator takes part
	thread := &message.Message{Type: message.TypeNotify, Sender: "alice"}
	role := &message.Message{Type: message.TypeRequest, Target: "role:worker", Sender: "alice", Open: true}
	for name, row := range map[string]struct {
		message  *message.Message
		holder   string
		presence agents.Presence
		left     time.Duration
		want     Ending
	}{
		"the operator's":            {thread, caller.Operator, agents.Presence{}, 1, ""},
		"the operator's request":    {role, caller.Operator, agents.Presence{}, 1, ""},
		"the operator's, over":      {thread, caller.Operator, agents.Presence{}, 0, EndedByTime},
		"whoever takes no part":     {thread, "bob", agents.Presence{Status: agents.StatusActive}, 1, EndedByAccess},
		"a dead agent":              {thread, "bob", agents.Presence{Status: agents.StatusDead}, 1, EndedByDeath},
		"one that deregistered":     {thread, "bob", agents.Presence{Status: agents.StatusDeregistered}, 1, EndedByLeaving},
		"one that left and is back": {thread, caller.Operator, agents.Presence{DepartedAt: database.Time(fence + 1)}, 1, EndedByLeaving},
		"one that left before":      {thread, caller.Operator, agents.Presence{DepartedAt: database.Time(fence)}, 1, ""},
	} {
		row.presence.AgentID = row.holder
		s := Situation{Message: row.message, Channel: members, Access: new(intents.Rules), Now: noon}
		c := &Claim{AgentID: row.holder, Presence: row.presence, Fence: fence, ExpiresAt: noon.Add(row.left)}
		require.Equal(t, row.want, s.EndingOf(c), name)
	}
}
