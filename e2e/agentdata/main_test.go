package agentdata

import (
	"strings"
	"testing"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// follow runs the commands that docs/personal-data.md shows under a name, with the program in the path.
func follow(t *testing.T, name, url string, environment ...string) (stdout, stderr string, err error) {
	t.Helper()
	commands := harness.PageCommands(t, "personal-data.md", "e2e/agentdata", name)
	command := harness.WithProgram(t, commands, append(environment, "OPENINTENT_DATABASE_URL="+url)...)
	var out, complaints strings.Builder
	command.Stdout, command.Stderr = &out, &complaints
	err = command.Run()
	return out.String(), complaints.String(), err
}
