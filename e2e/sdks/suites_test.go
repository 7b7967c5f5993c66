package sdks_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/database/databasetest"
	"openintent/e2e/harness"
	"openintent/e2e/sdks"
)

// root is the repository's.
const root = "../.."

func TestPythonTellsTheScenarios(t *testing.T) {
	prepared(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	tell(t, root, "scripts/python-sdk.sh", "scenarios", "--quiet")
}

func TestTypeScriptTellsTheScenarios(t *testing.T) {
	folder := builtTypeScript(t)
	tests, err := filepath.Glob(filepath.Join(folder, "build/test/scenarios/*.test.js"))
	require.NoError(t, err)
	require.NotEmpty(t, tests)
	for i := range tests {
		tests[i], err = filepath.Rel(folder, tests[i])
		require.NoError(t, err)
	}
	tell(t, folder, "node", append([]string{"--test"}, tests...)...)
}

// builtTypeScript gives the folder of the TypeScript SDK, with the code and its tests compiled.
func builtTypeScript(t *testing.T) string {
	t.Helper()
	prepared(t, root, "scripts/node-env.sh")
	folder := filepath.Join(root, "sdk/typescript")
	if output, err := command(folder, "npm", "run", "--silent", "build:test").CombinedOutput(); err != nil {
		t.Fatalf("compiling: %v\n%s", err, output)
	}
	return folder
}

// tell runs a suite on a stage of each engine.
func tell(t *testing.T, folder, program string, arguments ...string) {
	t.Helper()
	for _, engine := range databasetest.Engines() {
		t.Run(engine.String(), func(t *testing.T) {
			t.Parallel() // most of a suite's time is waiting
			suite := command(folder, program, arguments...)
			suite.Env = append(os.Environ(), sdks.StartStage(t, engine).Environment()...)
			if output, err := suite.CombinedOutput(); err != nil {
				t.Errorf("the suite failed: %v\n%s", err, output)
			}
		})
	}
}

// prepared runs a script that installs what a language needs, and gives what it prints. Where the language cannot be had,
// the test fails in continuous integration; whoever works on the server alone need not have it.
func prepared(t *testing.T, folder, script string, arguments ...string) string {
	t.Helper()
	preparing := command(folder, script, arguments...)
	var refusal bytes.Buffer
	preparing.Stderr = &refusal
	output, err := preparing.Output()
	switch {
	case err == nil:
	case os.Getenv("CI") == "true":
		t.Fatalf("%s: %v\n%s", script, err, refusal.String())
	default:
		t.Skipf("%s: %v\n%s", script, err, refusal.String()) //nolint:forbidigo // see above
	}
	return strings.TrimSpace(string(output))
}

// command makes a command that starts in a folder and is ended when it takes too long.
func command(folder, program string, arguments ...string) *exec.Cmd {
	if strings.Contains(program, "/") {
		program = "./" + program
	}
	made := exec.Command(program, arguments...)
	made.Dir = folder
	made.WaitDelay = time.Second
	return made
}

// patience bounds what is waited for.
const patience = harness.Patience
