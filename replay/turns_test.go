package replay

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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
			if turns.braked(spot{channel: "c"}, turn{agent, at}) {
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
		require.False(t, turns.braked(at, turn{"a", noon}))
		require.False(t, turns.braked(at, turn{"b", noon}))
	}
	require.True(t, turns.braked(spot{"c", "m1"}, turn{"a", noon}))
	require.False(t, turns.braked(spot{"d", ""}, turn{"a", noon}))
	require.True(t, turns.knows(spot{"c", "m2"}))
	require.False(t, turns.knows(spot{"c", "m3"}))
}

func TestWithoutABudgetNothingIsBrakedOrKept(t *testing.T) {
	turns := newTurns(Today())
	for range 50 {
		require.False(t, turns.braked(spot{}, turn{"a", noon}))
		require.False(t, turns.braked(spot{}, turn{"b", noon}))
	}
	require.Empty(t, turns.spots)
}
