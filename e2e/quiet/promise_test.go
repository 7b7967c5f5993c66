package quiet

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"openintent/e2e/replica"
	"openintent/internal/database/databasetest"
)

// rounds is how many rounds of conversations each engine has. `make quiet` sets it.
var rounds = flag.Int("quiet.rounds", leastRounds, "how many rounds of conversations each engine has")

// mustReach is what many conversations must have shown, because without it they prove little. A few may miss some of it by chance.
var mustReach = []string{
	"obligation", "obligation_return", "mention", "direct_request", "role_request", "loop_brake", "claimed_by_other", "sender_wish",
	"ambient", "status", "composed", "digest", "came later",
}

const (
	conversations = 3 // each round
	actsEach      = 25
	leastRounds   = 2
	manyRounds    = 20 // which must reach everything
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
			for round := 0; !t.Failed() && round < *rounds; round++ {
				rapid.Check(t, func(t *rapid.T) {
					w := newWorld(t, replicas, reached)
					for range rapid.IntRange(1, actsEach).Draw(t, "acts") {
						evenly(t, w.acts())(t)
						w.judge(t)
						w.receive(t)
					}
					w.finish(t)
				})
			}
			t.Logf("what was reached, and how often: %v", reached)
			if !t.Failed() && *rounds >= manyRounds {
				require.Empty(t, missing(reached), "the conversations do not reach these any more")
			}
		})
	}
}
