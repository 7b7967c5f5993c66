package operator

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

func TestMain(m *testing.M) { harness.Main(m) }

func TestAnOperatorsDay(t *testing.T) {
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel()
			restored := ""
			if engine == database.PostgreSQL {
				restored = databasetest.BlankURL(t, engine)
			}
			play(t, databasetest.BlankURL(t, engine), restored, "OPENINTENT_TEST_CLUSTER=")
		})
	}
}

// play plays the day. The variables are further ones for the script.
func play(t *testing.T, url, restored string, variables ...string) {
	day := exec.CommandContext(t.Context(), "./day.sh", harness.Executable(t), t.TempDir())
	day.Env = append(append(os.Environ(), "DATABASE="+url, "RESTORED="+restored), variables...)
	said, err := day.CombinedOutput()
	t.Logf("%s", said)
	require.NoError(t, err)
}
