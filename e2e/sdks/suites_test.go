package sdks_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/e2e/sdks"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// root is the path of the repository from this package.
const root = "../.."

func TestPythonTellsTheScenarios(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	t.Parallel()
	tell(t, databasetest.Engines(), root, "scripts/python-sdk.sh", "scenarios", "--quiet")
}

// The same calls on streams from the first one on, as a busy client makes them. One engine suffices: the server makes the same calls of them.
func TestPythonTellsTheScenariosOverExchanges(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	t.Parallel()
	tell(t, databasetest.Engines()[:1], root, "env", "OPENINTENT_TEST_EXCHANGES=1", "scripts/python-sdk.sh", "scenarios", "--quiet")
}

func TestTypeScriptTellsTheScenarios(t *testing.T) {
	folder := builtTypeScript(t)
	t.Parallel()
	tests, err := filepath.Glob(filepath.Join(folder, "build/test/scenarios/*.test.js"))
	require.NoError(t, err)
	require.NotEmpty(t, tests)
	for i := range tests {
		tests[i], err = filepath.Rel(folder, tests[i])
		require.NoError(t, err)
	}
	tell(t, databasetest.Engines(), folder, "node", append([]string{"--test"}, tests...)...)
}

// builtTypeScript returns the folder of the TypeScript SDK, with the code and its tests compiled.
func builtTypeScript(t *testing.T) string {
	t.Helper()
	harness.Prepare(t, root, "scripts/node.sh", "scripts/typescript-tests.sh")
	return filepath.Join(root, "sdk/typescript")
}

// tell runs a suite on a stage of each of the engines.
func tell(t *testing.T, engines []database.Engine, folder, program string, arguments ...string) {
	t.Helper()
	for _, engine := range engines {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel() // a suite spends most of its time waiting
			suite := harness.Command(folder, program, arguments...)
			stage := sdks.StartStage(t, engine)
			suite.Env = append(os.Environ(), stage.Environment()...)
			if output, err := suite.CombinedOutput(); err != nil {
				stage.ShowLogs(t)
				t.Errorf("the suite failed: %v\n%s", err, output)
			}
		})
	}
}

// patience bounds every wait.
const patience = harness.Patience
