package testkit

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The kits of Python and TypeScript have tests in their languages.
func TestTheKitOfPython(t *testing.T) {
	harness.Prepare(t, root, "scripts/python-env.sh", "python-sdk", "sdk/python/requirements-test.txt")
	runSuite(t, root, "scripts/python-sdk.sh", "kit", "--quiet")
}

func TestTheKitOfTypeScript(t *testing.T) {
	harness.Prepare(t, root, "scripts/node.sh", "scripts/typescript-tests.sh")
	folder := filepath.Join(root, "sdk/typescript")
	tests, err := filepath.Glob(filepath.Join(folder, "build/test/kit/*.test.js"))
	require.NoError(t, err)
	require.NotEmpty(t, tests)
	for i := range tests {
		tests[i], err = filepath.Rel(folder, tests[i])
		require.NoError(t, err)
	}
	runSuite(t, folder, "node", append([]string{"--test"}, tests...)...)
}

// runSuite runs a suite with the program that is tested.
func runSuite(t *testing.T, folder, program string, arguments ...string) {
	t.Helper()
	suite := harness.Command(folder, program, arguments...)
	suite.Env = append(os.Environ(), "OPENINTENT_PROGRAM="+harness.Executable(t))
	output, err := suite.CombinedOutput()
	require.NoError(t, err, "%s", output)
}
