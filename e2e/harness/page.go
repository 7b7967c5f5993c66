package harness

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// PageCommands returns the commands that a page of docs/ shows under a name, for a test that runs them itself. Before them the page has
// the remark "not run: FOLDER runs this as NAME", where FOLDER is the test's folder.
func PageCommands(tb testing.TB, page, folder, name string) string {
	tb.Helper()
	text, err := os.ReadFile(filepath.Join("../../docs", page))
	if err != nil {
		tb.Fatal(err)
	}
	_, after, found := strings.Cut(string(text), "<!-- not run: "+folder+" runs this as \""+name+"\" -->\n```sh\n")
	commands, _, ended := strings.Cut(after, "```\n")
	if !found || !ended {
		tb.Fatalf("docs/%s has no commands for: %s", page, name)
	}
	return commands
}

// WithProgram prepares commands of a shell that find the program in the path.
func WithProgram(tb testing.TB, commands string, environment ...string) *exec.Cmd {
	tb.Helper()
	folder := tb.TempDir()
	if err := os.Symlink(Executable(tb), filepath.Join(folder, "openintent")); err != nil {
		tb.Fatal(err)
	}
	command := exec.CommandContext(tb.Context(), "bash", "-euc", commands)
	command.Env = append(append(os.Environ(), environment...), "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	return command
}
