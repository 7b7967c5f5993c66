package subscriptions

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// The rules of numbering ahead, as a model. A subscription's active stream gives a delivery a number from a block that it has
// reserved, sends it, and stores it a little later, together with the position in the intent's log. What the client acknowledged
// by then is never stored. Here the steps of three replicas interleave at every point, and whatever can fail does: commits and
// their answers are lost, servers crash, stand still and go on, clocks differ, streams take over from each other, and the
// database goes back to what it was.

// stepsAhead is how many steps a history of the model has.
const stepsAhead = 150

// Numbering ahead keeps what doc.go promises, however the steps of the replicas interleave and whatever fails.
func TestNumberingAheadKeepsItsPromises(t *testing.T) {
	for name, lossy := range map[string]bool{"every commit lasts": false, "commits are lost": true} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				w := newAheadWorld(func(n int) int { return rapid.IntRange(0, n-1).Draw(t, "choice") }, "")
				w.run(stepsAhead, lossy)
				require.Empty(t, w.failure)
			})
		})
	}
}

// mustReachAhead is what the histories have to reach; otherwise they prove little.
var mustReachAhead = []string{
	"an answer was lost", "a delivery crashed a server", "a replaced stream sent what it had begun",
	"an acknowledgement of a tail was refused", "an acknowledgement waited at another replica", "commits were lost",
	"a stream of acknowledgements was answered",
}

// The same histories in each run, so that a rule that becomes wrong is noticed at once.
func TestNumberingAheadHoldsInManyHistories(t *testing.T) {
	reached := make(map[string]int)
	for seed := range uint64(1000) {
		w := newAheadWorld(rand.New(rand.NewPCG(seed, 0)).IntN, "")
		w.run(stepsAhead, seed%2 == 1)
		require.Empty(t, w.failure, "history %d", seed)
		for what, count := range w.reached {
			reached[what] += count
		}
	}
	for _, what := range mustReachAhead {
		require.Positive(t, reached[what], what)
	}
}

// rulesAhead are the rules of numbering ahead that the model can do without. lossy rules are needed only where commits are lost.
// from is the first history to try.
var rulesAhead = map[string]struct {
	lossy bool
	from  uint64
}{
	"a takeover reserves a new block":                       {},
	"abandoned numbers are remembered":                      {},
	"what lies in the log at a takeover is stored first":    {},
	"a stream trusts its lease no longer than it lasts":     {},
	"a block is reserved before its numbers are given":      {},
	"what is stored and due goes first":                     {},
	"the window bounds what is not settled":                 {from: 3200},
	"an attempt to repeat is counted first":                 {},
	"a position does not pass what was read and not sent":   {},
	"a position does not pass what is not stored yet":       {from: 9800},
	"a flush is refused when somebody else is the consumer": {from: 3700},
	"a flush whose outcome is unknown is not repeated":      {from: 46600},
	"a flush stores what was not acknowledged":              {},
	"what comes during a flush waits for the next":          {from: 7100},
	"a release stores everything first":                     {},
	"an acknowledgement waits for its flush":                {},
	"a stream of acknowledgements waits for their flush":    {},
	"acknowledging through stops at what is settled":        {},
	"a flush looks whether the logs went back":              {lossy: true, from: 2100},
}

// historiesAhead bounds how many histories are made to find that a rule is missing.
const historiesAhead = 20_000

// Each rule is needed: without it, the model breaks a promise.
func TestNumberingAheadNeedsEachOfItsRules(t *testing.T) {
	for rule, needs := range rulesAhead {
		t.Run(rule, func(t *testing.T) {
			for seed := needs.from; seed < needs.from+historiesAhead; seed++ {
				w := newAheadWorld(rand.New(rand.NewPCG(seed, 0)).IntN, rule)
				if w.run(stepsAhead, needs.lossy); w.failure == "" {
					continue
				}
				t.Logf("history %d: %s", seed, w.failure)
				complete := newAheadWorld(rand.New(rand.NewPCG(seed, 0)).IntN, "")
				complete.run(stepsAhead, needs.lossy)
				require.Empty(t, complete.failure, "with all rules")
				return
			}
			t.Fatal("no history breaks a promise without this rule")
		})
	}
}
