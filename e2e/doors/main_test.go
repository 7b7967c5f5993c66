package doors

import (
	"testing"

	"openintent/e2e/harness"
	"openintent/internal/database/databasetest"
)

func TestMain(m *testing.M) {
	databasetest.OneEngine()
	harness.Main(m)
}
