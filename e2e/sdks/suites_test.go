package sdks_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/e2e/sdks"
	"openintent/internal/database"
	"openintent/internal/database/databasetest"
)

// root is the path of the repository from this package.
const root = "../.."

// These suites take one engine unless make engines runs them. With PostgreSQL a client may change to another replica.
func TestPythonTellsTheScenarios(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	t.Parallel()
	tell(t, suiteEngines(database.PostgreSQL), root, "scripts/python-sdk.sh", "scenarios", "--quiet")
}

// The same calls on streams from the first one on, as a busy client makes them.
func TestPythonTellsTheScenariosOverExchanges(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	t.Parallel()
	tell(t, suiteEngines(database.SQLite), root, "env", "OPENINTENT_TEST_EXCHANGES=1", "scripts/python-sdk.sh", "scenarios", "--quiet")
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
	tell(t, suiteEngines(database.PostgreSQL), folder, "node", append([]string{"--test"}, tests...)...)
}

// builtTypeScript returns the folder of the TypeScript SDK, with the code and its tests compiled.
func builtTypeScript(t *testing.T) string {
	t.Helper()
	harness.Prepare(t, root, "scripts/node.sh", "scripts/typescript-tests.sh")
	return filepath.Join(root, "sdk/typescript")
}

// suiteEngines returns the engines that a suite runs on, given the one that it takes if it takes one.
func suiteEngines(one database.Engine) []database.Engine {
	all := databasetest.Engines()
	if databasetest.EveryEngine() || !slices.Contains(all, one) {
		return all
	}
	return []database.Engine{one}
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
