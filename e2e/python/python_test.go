package python

import (
	"context"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// patience bounds one run of a program.
const patience = 5 * time.Minute

// run runs a Python program and returns what it printed.
func run(t *testing.T, arguments ...string) string {
	t.Helper()
	python, err := harness.Python()
	require.NoError(t, err, "there is no Python with the published package")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	command := exec.CommandContext(ctx, python, arguments...)
	var trouble strings.Builder
	command.Stderr = &trouble
	output, err := command.Output()
	require.NoError(t, err, "%s\n%s", output, trouble.String())
	return string(output)
}

// checksOf returns what a program prints when all its checks succeed.
func checksOf(t *testing.T, name string) (checks string) {
	t.Helper()
	program, err := os.ReadFile(name)
	require.NoError(t, err)
	for _, check := range regexp.MustCompile(`(?m)^def (check_\w+)\(`).FindAllStringSubmatch(string(program), -1) {
		checks += check[1] + "\n"
	}
	return checks
}

func TestThePublishedPackageWorksUnmodified(t *testing.T) {
	checks := checksOf(t, "drive.py")
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		require.Equal(t, checks, run(t, "drive.py", h.BaseURL(), harness.CompatibilityKey))
	})
}

// The two programs of the package's page work unchanged: one answers the other.
func TestTheDocumentedProgramsWork(t *testing.T) {
	page, err := os.ReadFile("../../docs/published-python-package.md")
	require.NoError(t, err)
	shown := regexp.MustCompile("(?s)```python\n(.*?)```\n(?:```text\n(.*?)```)?").FindAllStringSubmatch(string(page), -1)
	require.Len(t, shown, 2, "one answers, and one asks")
	h := harness.StartProcess(t, harness.Options{APIKeys: "my-key;sdk"})
	program := func(n int) string { return strings.ReplaceAll(shown[n][1], "http://127.0.0.1:8000", h.BaseURL()) }

	python, err := harness.Python()
	require.NoError(t, err)
	answering := exec.CommandContext(t.Context(), python, "-c", program(0))
	var trouble strings.Builder
	answering.Stderr = &trouble
	require.NoError(t, answering.Start())
	t.Cleanup(func() { _ = answering.Wait() }) // it runs until the test's context ends
	require.Eventually(t, func() bool {
		return strings.Contains(string(h.Operator().REST(t, "GET", "/metrics", "").Body), "\nopenintent_streams_open 1\n")
	}, patience, 10*time.Millisecond, "the answering side follows")
	require.Equal(t, shown[1][2], run(t, "-c", program(1)))
}
