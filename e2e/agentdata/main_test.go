package agentdata

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// follow runs the commands that docs/personal-data.md shows under a name, with the program in the path.
func follow(t *testing.T, name, url string, environment ...string) (stdout, stderr string, err error) {
	t.Helper()
	page, err := os.ReadFile("../../docs/personal-data.md")
	require.NoError(t, err)
	_, after, found := strings.Cut(string(page), "<!-- not run: e2e/agentdata runs this as \""+name+"\" -->\n```sh\n")
	require.True(t, found, "the page has commands for: %s", name)
	block, _, found := strings.Cut(after, "```\n")
	require.True(t, found)
	folder := t.TempDir()
	require.NoError(t, os.Symlink(harness.Executable(t), filepath.Join(folder, "openintent")))
	command := exec.CommandContext(t.Context(), "bash", "-euc", block)
	command.Env = append(os.Environ(), "OPENINTENT_DATABASE_URL="+url, "PATH="+folder+string(os.PathListSeparator)+os.Getenv("PATH"))
	command.Env = append(command.Env, environment...)
	var out, complaints strings.Builder
	command.Stdout, command.Stderr = &out, &complaints
	err = command.Run()
	return out.String(), complaints.String(), err
}
