package replay

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRulesAreReadFromAFile(t *testing.T) {
	rules, err := ParseRules([]byte(`
digested_kinds: [ci.result, log]
turn_budget: 5
turn_seconds: 60
compose_seconds: 3
compose_most_seconds: 20
digest_seconds: 300
max_chars: 1000
`))
	require.NoError(t, err)
	budget := 5
	require.Equal(t, Rules{
		DigestedKinds: []string{"ci.result", "log"}, TurnBudget: &budget, TurnSeconds: 60, ComposeSeconds: 3, ComposeMostSeconds: 20,
		DigestSeconds: 300, MaxChars: 1000,
	}, rules)
}

func TestWhatAFileLeavesOutIsAsToday(t *testing.T) {
	for _, text := range []string{"", "# nothing\n"} {
		rules, err := ParseRules([]byte(text))
		require.NoError(t, err)
		require.Equal(t, Today(), rules)
		require.Nil(t, rules.TurnBudget, "each channel has its own")
	}
	rules, err := ParseRules([]byte("digested_kinds: []\n"))
	require.NoError(t, err)
	require.NotNil(t, rules.DigestedKinds)
	require.Empty(t, rules.DigestedKinds, "no kind at all")
	require.Equal(t, []string{"status", "progress", "log"}, Today().DigestedKinds)
}

func TestRulesMayLieOnTheirBounds(t *testing.T) {
	for _, n := range numbers {
		for _, value := range []int{n.least, n.most} {
			_, err := ParseRules([]byte(fmt.Sprintf("%s: %d", n.name, value)))
			require.NoError(t, err, "%s: %d", n.name, value)
		}
		for _, value := range []int{n.least - 1, n.most + 1} {
			_, err := ParseRules([]byte(fmt.Sprintf("%s: %d", n.name, value)))
			require.Error(t, err, "%s: %d", n.name, value)
		}
	}
	kinds := func(count, length int) error {
		_, err := ParseRules([]byte("digested_kinds: [" + strings.Repeat(strings.Repeat("é", length)+",", count) + "]"))
		return err
	}
	require.NoError(t, kinds(maxKinds, maxKindLength))
	require.Error(t, kinds(maxKinds+1, 1))
	require.Error(t, kinds(1, maxKindLength+1))
}

func TestMistakesInRulesAreNamed(t *testing.T) {
	for text, want := range map[string]string{
		"turn_budgt: 5":                  `line 1: "turn_budgt" is no rule; the rules are digested_kinds, turn_budget,`,
		"\nturn_budget: many":            "line 2: turn_budget must be a whole number from 0 to 100",
		"turn_budget: -1":                "turn_budget must be a whole number from 0 to 100",
		"turn_budget:":                   "turn_budget must be a whole number from 0 to 100",
		"turn_seconds: 0":                "turn_seconds must be a whole number from 1 to 86400",
		"max_chars: 499":                 "max_chars must be a whole number from 500 to 20000",
		"digested_kinds: status":         "digested_kinds must be a list of at most 100 kinds",
		`digested_kinds: [""]`:           "digested_kinds must be a list of at most 100 kinds",
		"turn_budget: 1\nturn_budget: 2": `line 2: "turn_budget" is given twice; leave one out`,
		"- turn_budget":                  "rules are a mapping",
		"a: [":                           "the file is no YAML",
		strings.Repeat("#", 1<<16+1):     "the file is larger than 65536 bytes",
	} {
		_, err := ParseRules([]byte(text))
		require.ErrorContains(t, err, want)
		require.NotContains(t, err.Error(), "\n")
	}
	_, err := LoadRules(filepath.Join(t.TempDir(), "missing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

func FuzzRules(f *testing.F) {
	f.Add("turn_budget: 5\ndigested_kinds: [a, b]\n")
	f.Add("a: &a [*a]\n")
	f.Fuzz(func(t *testing.T, text string) {
		rules, err := ParseRules([]byte(text))
		if err == nil {
			require.LessOrEqual(t, rules.ComposeSeconds, 600)
			require.LessOrEqual(t, len(rules.DigestedKinds), maxKinds)
		}
	})
}
