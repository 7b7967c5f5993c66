package python

import (
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// notServed returns the paths in the last column of the page's table, without the prefix of the interface.
func notServed(t *testing.T) (paths []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/published-python-package.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(page), "## What it knows, and what this server answers")
	require.True(t, found)
	for line := range strings.Lines(table) {
		columns := strings.Split(strings.TrimSpace(line), "|")
		if len(columns) != 6 {
			continue
		}
		for _, path := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(columns[4], -1) {
			paths = append(paths, path[1])
		}
	}
	require.NotEmpty(t, paths)
	return paths
}

// pathsOfTheClient returns every path that the published client calls, with {id} for each argument.
func pathsOfTheClient(t *testing.T) (paths []string) {
	t.Helper()
	source := run(t, "-c", "import inspect, openintent.client as c; print(inspect.getsource(c))")
	for _, path := range regexp.MustCompile(`/api/v1/([a-zA-Z{][^"'\s)?]*)`).FindAllStringSubmatch(source, -1) {
		plain := regexp.MustCompile(`\{[^}]*\}?`).ReplaceAllString(path[1], "{id}")
		plain = regexp.MustCompile(`([a-z])\{id\}$`).ReplaceAllString(plain, "$1") // a query follows
		paths = append(paths, strings.TrimSuffix(plain, "/"))
	}
	slices.Sort(paths)
	paths = slices.Compact(paths)
	require.Greater(t, len(paths), 50)
	return paths
}

// The table says of every path of the published client whether it is served.
func TestTheTableSaysWhatIsNotServed(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	operator := h.As("")
	unknown := func(path string) bool {
		path = "/api/v1/" + strings.ReplaceAll(path, "{id}", "00000000-0000-7000-8000-000000000000")
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete} {
			if answer := operator.REST(t, method, path, ""); !strings.Contains(string(answer.Body), `"ROUTE_NOT_FOUND"`) {
				return false
			}
		}
		return true
	}
	documented := notServed(t)
	for _, path := range documented {
		require.True(t, unknown(path), "%s is served", path)
	}
	var missing []string
	for _, path := range pathsOfTheClient(t) {
		named := slices.ContainsFunc(documented, func(prefix string) bool { return path == prefix || strings.HasPrefix(path, prefix+"/") })
		// A stream that is served does not end; drive.py follows the streams.
		if !named && !strings.HasSuffix(path, "/subscribe") && unknown(path) {
			missing = append(missing, path)
		}
	}
	require.Empty(t, missing, "the table does not name these")
}
