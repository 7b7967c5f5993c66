package sdks_test

import (
	"flag"
	"testing"

	"openintent/e2e/harness"
	"openintent/e2e/sdks/scenarios"
	"openintent/internal/database/databasetest"
)

// together is how many suites run at the same time: they spend most of their time waiting.
const together = "8"

func TestMain(m *testing.M) {
	scenarios.ServeMailbox()
	if err := flag.Set("test.parallel", together); err != nil {
		panic(err)
	}
	databasetest.OneEngine()
	harness.Main(m)
}
