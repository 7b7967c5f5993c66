package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/messaging/message"
)

var noon = time.Date(2026, 6, 2, 12, 0, 0, 0, time.UTC)

func TestABrakeHoldsBackWhatTwoAgentsExchangeBeyondTheBudget(t *testing.T) {
	// Each letter is a message of that agent, one second after the one before; a dash is ten minutes of silence. Upper case is braked.
	for _, course := range []string{
		"ababABAB", "aaaaaaa", "abbbB", "aabaBA", // one agent alone exchanges nothing
		"ababABcabcabcc", "ababAc", // a third one ends the brake
		"ababAB-ababAB", "aba-babaBA", // and so does time
	} {
		turns, at := newTurns(Rules{TurnBudget: 4, TurnSeconds: 600}), noon
		var got strings.Builder
		for _, letter := range course {
			if letter == '-' {
				at = at.Add(10 * time.Minute)
				got.WriteRune(letter)
				continue
			}
			at = at.Add(time.Second)
			agent := strings.ToLower(string(letter))
			if turns.braked(spot{channel: "c"}, turn{sender: agent, at: at}) {
				agent = strings.ToUpper(agent)
			}
			got.WriteString(agent)
		}
		require.Equal(t, course, got.String())
	}
}

func TestTurnsCountForEachSpotAlone(t *testing.T) {
	turns := newTurns(Rules{TurnBudget: 2, TurnSeconds: 600})
	for _, thread := range []string{"", "m1", "m2"} {
		at := spot{"c", thread}
		require.False(t, turns.braked(at, turn{sender: "a", at: noon}))
		require.False(t, turns.braked(at, turn{sender: "b", at: noon}))
	}
	require.True(t, turns.braked(spot{"c", "m1"}, turn{sender: "a", at: noon}))
	require.False(t, turns.braked(spot{"d", ""}, turn{sender: "a", at: noon}))
	require.True(t, turns.knows(spot{"c", "m2"}))
	require.False(t, turns.knows(spot{"c", "m3"}))
}

func TestWhatIsForAThirdOneIsNoTurn(t *testing.T) {
	turns, room := newTurns(Rules{TurnBudget: 2, TurnSeconds: 600}), spot{channel: "c"}
	require.False(t, turns.braked(room, turn{sender: "a", at: noon, others: []string{"b"}}))
	require.False(t, turns.braked(room, turn{sender: "b", at: noon, others: []string{"a"}}))
	require.False(t, turns.braked(room, turn{sender: "a", at: noon, others: []string{"c"}}), "it is for somebody else")
	require.False(t, turns.braked(room, turn{sender: "a", at: noon, others: []string{"b", "role:x"}}))
	require.True(t, turns.braked(room, turn{sender: "a", at: noon, others: []string{"b"}}))
	require.False(t, turns.braked(room, turn{sender: "a", at: noon, others: []string{"c"}}), "also while the brake is on")
	require.False(t, turns.braked(room, turn{sender: "operator", at: noon}))
	require.False(t, turns.braked(room, turn{sender: "a", at: noon}), "the operator has ended the brake")
}

func TestATurnIsForItsAddressAndThoseWhomItMentions(t *testing.T) {
	m := &message.Message{Sender: "a", CreatedAt: noon, Target: "*"}
	require.Equal(t, turn{sender: "a", at: noon}, turnOf(m))
	m.Target, m.Conversation = "b", &message.Conversation{Mentions: []string{"c"}}
	require.Equal(t, []string{"b", "c"}, turnOf(m).others)
}

func TestWithoutABudgetNothingIsBrakedOrKept(t *testing.T) {
	turns := newTurns(Today())
	for range 50 {
		require.False(t, turns.braked(spot{}, turn{sender: "a", at: noon}))
		require.False(t, turns.braked(spot{}, turn{sender: "b", at: noon}))
	}
	require.Empty(t, turns.spots)
}
