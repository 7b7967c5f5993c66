package documents

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var (
	// namedTest matches a test that a page names, and writtenTest one in the code.
	namedTest   = regexp.MustCompile("`((?:Test|Fuzz)[A-Za-z0-9]+)`")
	writtenTest = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)[A-Za-z0-9]+)\(`)
)

// The tests that the tables of conformance name are there, and so are those that the page of growth names.
func TestTheTablesOfConformanceNameTestsThatAreThere(t *testing.T) {
	written := make(map[string]bool)
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (strings.HasPrefix(entry.Name(), ".") && path != root || entry.Name() == "node_modules"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		for _, found := range writtenTest.FindAllSubmatch(text, -1) {
			written[string(found[1])] = true
		}
		return err
	}))
	tables, err := filepath.Glob(filepath.Join(root, "docs/doors/conformance*.md"))
	require.NoError(t, err)
	require.NotEmpty(t, tables)
	tables = append(tables, filepath.Join(root, "docs/growth.md"))
	for _, table := range tables {
		text, err := os.ReadFile(table)
		require.NoError(t, err)
		for _, found := range namedTest.FindAllSubmatch(text, -1) {
			require.True(t, written[string(found[1])], "%s names the test %s, which is not there", filepath.Base(table), found[1])
		}
	}
}
