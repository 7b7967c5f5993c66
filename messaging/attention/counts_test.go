package attention

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/agents"
	"openintent/messaging/message"
)

var eight = time.Date(2026, time.November, 1, 8, 0, 0, 0, time.UTC)

// A text that might be a pleasantry is read up to twice the length of the longest pleasantry.
func TestOnlyAShortPayloadIsReadAsAnAcknowledgement(t *testing.T) {
	of := func(bytes int) *message.Message {
		const short = `{"text":"ok"}`
		return &message.Message{Payload: []byte(short + strings.Repeat(" ", bytes-len(short)))}
	}
	require.True(t, isAcknowledgement(of(2*longestAcknowledgement)))
	require.False(t, isAcknowledgement(of(2*longestAcknowledgement+1)))
}

// wanting returns an open request to a role that takes so many answers, or any number for 0.
func wanting(answers int) *message.Message {
	m := &message.Message{Type: message.TypeRequest, Target: "role:worker", Open: true}
	if answers > 0 {
		m.Conversation = &message.Conversation{Collect: &message.Collect{Collection: message.CollectQuorum, Quorum: answers}}
	}
	return m
}

func TestClaimsAndAnswersTakeThePlaces(t *testing.T) {
	stands, over := Claim{Holder: "carol", ExpiresAt: eight.Add(1)}, Claim{Holder: "dave", ExpiresAt: eight}
	own := Claim{Holder: "bob", ExpiresAt: eight.Add(1)}
	for name, row := range map[string]struct {
		claims  Claims
		wanted  int
		answers int
		taken   bool
	}{
		"nobody holds a claim":            {nil, 0, 0, false},
		"answers alone take nothing":      {nil, 2, 2, false},
		"a claim that is over":            {Claims{over}, 0, 0, false},
		"another's claim":                 {Claims{stands}, 0, 0, true},
		"one of two places":               {Claims{stands}, 2, 0, false},
		"a claim and an answer take both": {Claims{stands}, 2, 1, true},
		"two of three":                    {Claims{stands}, 3, 1, false},
		"the agent has one of the places": {Claims{stands, own}, 2, 0, false},
	} {
		require.Equal(t, row.taken, row.claims.takenFrom("bob", wanting(row.wanted), row.answers, eight), name)
	}
}

func TestAnswersCountWhereSeveralAreWanted(t *testing.T) {
	require.False(t, countsAnswers(wanting(0)))
	require.False(t, countsAnswers(wanting(1)))
	require.True(t, countsAnswers(wanting(2)))
	closed := wanting(2)
	closed.Open = false
	require.False(t, countsAnswers(closed))
}

func TestHowAnAgentIsMeant(t *testing.T) {
	viewer := message.Viewer{Agent: "bob", Presence: agents.Presence{AgentID: "bob", RoleID: "worker", Status: agents.StatusActive}}
	for name, row := range map[string]struct {
		target   string
		mentions []string
		relation Relation
	}{
		"to everyone":         {"*", nil, Relation{}},
		"to it":               {"bob", nil, Relation{Addressed: true}},
		"to its role":         {"role:worker", nil, Relation{ByRole: true}},
		"mentioned":           {"*", []string{"carol", "bob"}, Relation{Mentioned: true}},
		"its role mentioned":  {"*", []string{"role:worker"}, Relation{RoleMentioned: true}},
		"others mentioned":    {"*", []string{"carol", "role:boss"}, Relation{}},
		"mentioned and after": {"*", []string{"bob", "carol"}, Relation{Mentioned: true}},
	} {
		m := &message.Message{Target: row.target, Conversation: &message.Conversation{Mentions: row.mentions}}
		require.Equal(t, row.relation, RelationOf(m, viewer), name)
	}
	require.Equal(t, Relation{Addressed: true}, RelationOf(&message.Message{Target: "bob"}, viewer), "without a conversation")
}
