package documents

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// path matches a path of the repository between backticks; the slash distinguishes it from a plain word.
var path = regexp.MustCompile("`([a-z0-9_]+(?:/[a-z0-9_.]+)+)`")

// Every Go file that a page names exists, and so does every folder that docs/architecture.md names.
func TestPagesNameFilesThatAreThere(t *testing.T) {
	const architecture = "docs/architecture.md"
	files := make(map[string]int)
	for _, page := range append(pages(t), "CONTRIBUTING.md") {
		for _, found := range path.FindAllStringSubmatch(readDocument(t, page), -1) {
			named, file := found[1], strings.HasSuffix(found[1], ".go")
			if !file && page != architecture {
				continue
			}
			entry, err := os.Stat(filepath.Join(root, named))
			if assert.NoError(t, err, "%s names %s", page, named) {
				assert.Equal(t, file, !entry.IsDir(), "%s names %s", page, named)
			}
			if file {
				files[page]++
			}
		}
	}
	require.NotZero(t, files[architecture], "the page names no files")
}

// linkedFolder matches a link from a page of docs/ to a folder of the repository.
var linkedFolder = regexp.MustCompile(`\]\(\.\./([a-z/]+)\)`)

// Every room has its line in the table of rooms, and the table names nothing else.
func TestTheTableOfRoomsIsTheHouses(t *testing.T) {
	var documented []string
	for _, row := range table(t, readDocument(t, "docs/architecture.md"), "## Rooms and doors") {
		for _, room := range linkedFolder.FindAllStringSubmatch(row[0], -1) {
			documented = append(documented, room[1])
		}
	}
	require.ElementsMatch(t, rooms(t), documented)
}

// rooms returns the folders of the program, which are those with a doc.go, and the generated ones.
func rooms(t *testing.T) []string {
	t.Helper()
	names := []string{"cmd/openintent", "gen"}
	for _, pattern := range []string{"*", "internal/*", "clients/*"} {
		found, err := filepath.Glob(filepath.Join(root, pattern, "doc.go"))
		require.NoError(t, err)
		for _, file := range found {
			name, err := filepath.Rel(root, filepath.Dir(file))
			require.NoError(t, err)
			if name != "e2e" && name != "bench" {
				names = append(names, filepath.ToSlash(name))
			}
		}
	}
	return names
}
