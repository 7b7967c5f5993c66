package documents

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// root is the path of the repository from this package.
const root = "../.."

// snippet is a block of shell commands in a document, with the output that the document shows after it.
type snippet struct {
	line     int
	commands string
	// shown is the block after the commands, in the language named by form: json or text; empty when nothing is
	// shown.
	shown, form string
	// repeated marks commands that are run until they show what the document shows, because something else happens at
	// its own pace.
	repeated bool
}

// These remarks may stand before a block; readers of the rendered page do not see them.
const (
	remarkNotRun   = "<!-- not run:"
	remarkRepeated = "<!-- repeated until it shows this -->"
	// remarkSaved stands before a file that the reader should save; the file's name follows it.
	remarkSaved = "<!-- saved as "
)

// block is a fenced block of a document.
type block struct {
	line           int
	language, text string
	// remark is the line before the block.
	remark string
	// follows is true when only empty lines separate the block from the one before.
	follows bool
}

func readDocument(tb testing.TB, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(tb, err)
	return string(text)
}

// pages returns the paths of README.md and of every page in docs/ and its folders.
func pages(tb testing.TB) []string {
	tb.Helper()
	names := []string{"README.md"}
	for _, folder := range []string{"docs", "docs/doors"} {
		found, err := filepath.Glob(filepath.Join(root, folder, "*.md"))
		require.NoError(tb, err)
		require.NotEmpty(tb, found)
		for _, page := range found {
			names = append(names, folder+"/"+filepath.Base(page))
		}
	}
	return names
}

// blocks finds the fenced blocks of a document.
func blocks(document string) (found []block) {
	var open *block
	previous, prose := "", true
	for i, line := range strings.Split(document, "\n") {
		fence := strings.HasPrefix(line, "```")
		switch {
		case open == nil && fence:
			open = &block{line: i + 1, language: strings.TrimPrefix(line, "```"), remark: previous, follows: !prose}
		case open != nil && fence:
			found = append(found, *open)
			open, prose = nil, false
		case open != nil:
			open.text += line + "\n"
		case strings.TrimSpace(line) != "":
			prose = true
		}
		previous = line
	}
	return found
}

// snippets finds the blocks of a document that the test runs.
func snippets(document string) (found []snippet) {
	all := blocks(document)
	for i, b := range all {
		if name, saved := strings.CutPrefix(b.remark, remarkSaved); saved {
			name = strings.TrimSuffix(name, " -->")
			found = append(found, snippet{line: b.line, commands: "cat > " + name + " <<'END OF FILE'\n" + b.text + "END OF FILE\n"})
			continue
		}
		if b.language != "sh" || strings.HasPrefix(b.remark, remarkNotRun) {
			continue
		}
		s := snippet{line: b.line, commands: b.text, repeated: b.remark == remarkRepeated}
		if i+1 < len(all) && all[i+1].follows && (all[i+1].language == "json" || all[i+1].language == "text") {
			s.shown, s.form = all[i+1].text, all[i+1].language
		}
		found = append(found, s)
	}
	return found
}

// table returns the cells of the first table after a heading, row by row, without the table's own head. It removes
// backticks and unescapes escaped bars.
func table(tb testing.TB, document, heading string) (rows [][]string) {
	tb.Helper()
	_, section, found := strings.Cut(document, "\n"+heading+"\n")
	require.True(tb, found, "there is no heading %q", heading)
	for _, line := range strings.Split(section, "\n") {
		if !strings.HasPrefix(line, "|") {
			if len(rows) > 0 {
				break
			}
			continue
		}
		line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00")
		var cells []string
		for _, cell := range strings.Split(line, "|") {
			cells = append(cells, strings.ReplaceAll(strings.Trim(cell, " `"), "\x00", "|"))
		}
		rows = append(rows, cells)
	}
	require.Greater(tb, len(rows), 2, "there is no table after %q", heading)
	return rows[2:]
}
