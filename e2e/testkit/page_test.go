package testkit

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The test in Go that docs/testing.md shows passes. Those in the other languages run with the tests of their kits.
func TestTheTestOfThePagePasses(t *testing.T) {
	text, err := os.ReadFile(filepath.Join(root, "docs/testing.md"))
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```go\n(.*?)```").FindSubmatch(text)
	require.NotNil(t, shown)
	// It stands within the module, where the import is found, in a folder that ./... leaves out.
	folder, err := os.MkdirTemp(".", "_page-")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(folder)) })
	require.NoError(t, os.WriteFile(filepath.Join(folder, "analyst_test.go"), shown[1], 0o600))
	require.Contains(t, passing(t, "./"+folder), "PASS: TestAQuestionEndsAfterThirtySeconds")
}

// The examples in Python have tests that use the kit. Those of the others run in e2e/examples, with the packages of their SDKs.
func TestTheTestsOfTheExamplesPass(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	runSuite(t, root, "scripts/python-sdk.sh", "examples", "--quiet")
}

// passing runs the Go tests of a folder with the program that is tested, and returns what they print.
func passing(t *testing.T, folder string) string {
	t.Helper()
	run := harness.Command(".", "go", "test", "-vet=off", "-count=1", "-v", folder)
	run.Env = append(os.Environ(), "OPENINTENT_PROGRAM="+harness.Executable(t))
	output, err := run.CombinedOutput()
	require.NoError(t, err, "%s", output)
	return string(output)
}
