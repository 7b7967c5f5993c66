package documents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const frameworksPage = "docs/frameworks.md"

// entryOfTypeScript begins the name of each adapter for TypeScript.
const entryOfTypeScript = "@openintent/channels/"

// Every program that the page on frameworks shows is part of an example, and every example is shown. `make test-frameworks` runs the examples
// as they stand.
func TestThePageOnFrameworksShowsTheExamples(t *testing.T) {
	for language, pattern := range map[string]string{"python": "examples/frameworks/*.py", "ts": "examples/frameworks/*/*.ts"} {
		examples, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		var shown []string
		for _, b := range blocks(readDocument(t, frameworksPage)) {
			if b.language != language {
				continue
			}
			before := len(shown)
			for _, example := range examples {
				name, err := filepath.Rel(root, example)
				require.NoError(t, err)
				if strings.Contains(readDocument(t, name), b.text) {
					shown = append(shown, example)
				}
			}
			require.Len(t, shown, before+1, "%s:%d shows what one example must have:\n%s", frameworksPage, b.line, b.text)
		}
		require.ElementsMatch(t, examples, shown)
	}
}

// The versions that the page says were tried are those that the tests of the adapters install.
func TestThePageOnFrameworksNamesTheVersionsThatAreInstalled(t *testing.T) {
	page := "\n" + readDocument(t, frameworksPage)
	rows := table(t, page, "# Agents on frameworks")
	require.Len(t, rows, 6)
	for _, row := range rows {
		module, _, _ := strings.Cut(row[1], "`")
		installed := "\n" + readDocument(t, "sdk/python/frameworks/"+module+"/requirements.txt")
		for _, tried := range strings.Split(row[2], ", ") {
			name, version, _ := strings.Cut(tried, " ")
			require.Contains(t, installed, "\n"+name+"=="+version+"\n", module)
		}
	}
	rows = table(t, page, "### Which there are")
	require.Len(t, rows, 3)
	for _, row := range rows {
		adapter := strings.TrimPrefix(row[0], entryOfTypeScript)
		installed := struct {
			Packages map[string]struct{ Version string }
		}{}
		lock := readDocument(t, "sdk/typescript/frameworks/"+adapter+"/package-lock.json")
		require.NoError(t, json.Unmarshal([]byte(lock), &installed))
		tried := regexp.MustCompile("([@/\\w-]+)`? (\\d[.\\d]+)").FindAllStringSubmatch(row[2], -1)
		require.NotEmpty(t, tried, adapter)
		for _, found := range tried {
			require.Equal(t, found[2], installed.Packages["node_modules/"+found[1]].Version, "%s of %s", found[1], adapter)
		}
	}
}

// The page says how many lines each adapter and its example have.
func TestThePageOnFrameworksCountsTheLines(t *testing.T) {
	counted := make(map[string][2]string)
	for _, row := range table(t, readDocument(t, frameworksPage), "## How they were tried") {
		counted[row[0]] = [2]string{row[1], row[2]}
	}
	expected := make(map[string][2]string)
	for pattern, files := range map[string][3]string{
		"sdk/python/frameworks/*/program.py":   {"", "sdk/python/src/openintent_channels/NAME.py", "examples/frameworks/with_NAME.py"},
		"sdk/typescript/frameworks/*/agent.ts": {entryOfTypeScript, "sdk/typescript/src/NAME.ts", "examples/frameworks/NAME/answerer.ts"},
	} {
		programs, err := filepath.Glob(filepath.Join(root, pattern))
		require.NoError(t, err)
		for _, program := range programs {
			name := filepath.Base(filepath.Dir(program))
			lines := func(file string) string {
				return strconv.Itoa(linesOfCode(readDocument(t, strings.ReplaceAll(file, "NAME", name))))
			}
			expected[files[0]+name] = [2]string{lines(files[1]), lines(files[2])}
		}
	}
	require.Equal(t, expected, counted)

	python := linesOfCode(readDocument(t, "sdk/python/src/openintent_channels/_agent_runs.py"))
	typeScript := 0
	for _, name := range []string{"asked", "serving", "showing"} {
		typeScript += linesOfCode(readDocument(t, "sdk/typescript/src/frameworks/"+name+".ts"))
	}
	shared := fmt.Sprintf("Those for Python share %d more lines, those for TypeScript %d.", python, typeScript)
	require.Contains(t, readDocument(t, frameworksPage), shared)
}

// linesOfCode counts the lines of a program in Python or TypeScript that are neither blank nor comments nor documentation.
func linesOfCode(program string) (count int) {
	ends := ""
	for _, line := range strings.Split(program, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case ends != "":
			if strings.HasSuffix(line, ends) {
				ends = ""
			}
		case strings.HasPrefix(line, `"""`):
			if line == `"""` || !strings.HasSuffix(line, `"""`) {
				ends = `"""`
			}
		case strings.HasPrefix(line, "/*"):
			if !strings.HasSuffix(line, "*/") {
				ends = "*/"
			}
		case line != "" && !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "//"):
			count++
		}
	}
	return count
}
