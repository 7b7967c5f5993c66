package quiet

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/database/databasetest"
	"openintent/e2e/replica"
)

// mustReach is what the conversations must have shown, because without it they prove little.
var mustReach = []string{
	"obligation", "obligation_return", "mention", "direct_request", "role_request", "loop_brake", "claimed_by_other", "sender_wish",
	"ambient", "status", "composed", "digest", "came later",
}

const (
	// Each engine has at least some rounds of conversations, and more until all of mustReach has happened.
	conversations = 3
	actsEach      = 25
	leastRounds   = 1
	mostRounds    = 20
)

func missing(reached map[string]int) (names []string) {
	for _, name := range mustReach {
		if reached[name] == 0 {
			names = append(names, name)
		}
	}
	return names
}

// Nothing that must be answered is ever only digested, kept back by a brake, or delayed by more than the compose window.
func TestNothingThatMustBeAnsweredIsKeptBack(t *testing.T) {
	databasetest.SearchWith(t, map[string]int{"rapid.checks": conversations})
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			replicas := replica.Start(t, engine, replica.WithSubscriptions)
			register(t, replicas[0])
			reached := make(map[string]int)
			for round := 0; !t.Failed() && (round < leastRounds || round < mostRounds && len(missing(reached)) > 0); round++ {
				rapid.Check(t, func(t *rapid.T) {
					w := newWorld(t, replicas, reached)
					for range rapid.IntRange(1, actsEach).Draw(t, "acts") {
						evenly(t, w.acts())(t)
						w.judge(t)
						w.receive(t)
					}
					w.finish(t)
				})
				t.Logf("not reached yet: %v", missing(reached))
			}
			t.Logf("what was reached, and how often: %v", reached)
			if !t.Failed() {
				require.Empty(t, missing(reached), "the conversations do not reach these any more")
			}
		})
	}
}
