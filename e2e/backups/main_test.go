package backups

import (
	"testing"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }
