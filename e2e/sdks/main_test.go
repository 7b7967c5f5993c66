package sdks_test

import (
	"testing"

	"openintent/e2e/harness"
	"openintent/e2e/sdks/scenarios"
)

func TestMain(m *testing.M) {
	scenarios.ServeMailbox()
	harness.Main(m)
}
