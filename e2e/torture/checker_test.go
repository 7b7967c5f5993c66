package torture

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// fromSeed draws from a generator with this seed.
func fromSeed(seed uint64) func(what string, n int) int {
	random := rand.New(rand.NewPCG(seed, 0))
	return func(_ string, n int) int { return random.IntN(n) }
}

// fromRapid draws values that rapid can shrink.
func fromRapid(t *rapid.T) func(what string, n int) int {
	return func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
}

func kinds(findings []Finding) (found []Kind) {
	for _, finding := range findings {
		found = append(found, finding.Kind)
	}
	return found
}

// TestRightHistoriesPass checks histories that are long enough to contain every outcome.
func TestRightHistoriesPass(t *testing.T) {
	for seed := range uint64(20) {
		h := simulate(600, fromSeed(seed))
		require.Empty(t, Check(h), "seed %d", seed)
		require.Empty(t, Missing(h), "seed %d", seed)
	}
}

// TestEachFaultIsFound puts each fault into five histories that have a place for it.
func TestEachFaultIsFound(t *testing.T) {
	for _, fault := range plants {
		t.Run(fault.name, func(t *testing.T) {
			put := 0
			for seed := uint64(0); put < 5; seed++ {
				require.Less(t, seed, uint64(50), "too few histories have a place for the fault")
				draw := fromSeed(seed)
				h := simulate(600, draw)
				if !fault.put(h, draw) {
					continue
				}
				put++
				require.Contains(t, kinds(Check(h)), fault.kind, "seed %d", seed)
				if fault.kind == Lost {
					require.NotEmpty(t, Missing(h), "seed %d", seed)
				}
			}
		})
	}
}

// TestFaultsAreFoundInAnyHistory draws histories and one fault for each.
func TestFaultsAreFoundInAnyHistory(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := fromRapid(t)
		h := simulate(draw("steps", 150), draw)
		require.Empty(t, Check(h))
		fault := plants[draw("fault", len(plants))]
		if fault.put(h, draw) {
			require.Contains(t, kinds(Check(h)), fault.kind, fault.name)
		}
	})
}
