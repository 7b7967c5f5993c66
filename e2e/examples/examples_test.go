package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// page returns the text of a document of the repository.
func page(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(text)
}

// blockBehind returns the first block in a language after a heading of a document.
func blockBehind(t *testing.T, document, heading, language string) string {
	t.Helper()
	form := "(?s)\n" + regexp.QuoteMeta(heading) + "\n.*?\n```" + language + "\n(.*?)```"
	found := regexp.MustCompile(form).FindStringSubmatch(document)
	require.NotNil(t, found, "there is no %s after %q", language, heading)
	return found[1]
}

// requiring returns the commands with which, according to sdk/go/README.md, a module requires the SDK from a folder
// with its unpacked archive.
func requiring(t *testing.T, folder string) string {
	t.Helper()
	unpacking, commands, found := strings.Cut(blockBehind(t, page(t, "sdk/go/README.md"), "## Install", "sh"), "\n")
	require.True(t, found)
	require.Contains(t, unpacking, "unzip ")
	require.Contains(t, commands, "./"+folder)
	return commands
}

// run runs a command from examples/README.md against a server.
func run(t *testing.T, p place, h *harness.Server, command string) string {
	t.Helper()
	require.Contains(t, page(t, "examples/README.md"), "`"+command+"`")
	program := filepath.Dir(harness.Executable(t))
	return p.output(t, "PATH=$PATH:"+program+" "+command,
		"OPENINTENT_SERVER="+h.GRPCAddress(), "OPENINTENT_API_KEY="+harness.Key, "OPENINTENT_AGENT_ID=", "OPENINTENT_TLS=")
}

// All programs use one server, so each one finds what the earlier ones left. The examples also have tests, which use the test kits of the SDKs as
// they are packed. Python's run where its kit is tested (e2e/testkit).
func TestTheClarificationInEachLanguage(t *testing.T) {
	h := harness.StartProcess(t, harness.Options{})
	shown := blockBehind(t, page(t, "examples/README.md"), "## Clarification", "text")
	for _, language := range []struct {
		name, command string
		installed     func(t *testing.T) place
		tests, passed string
	}{
		{
			"Go", "go run ./examples/clarification/go", withGo,
			"go test -tags examples -count=1 -v ./examples/clarification/go", "PASS: TestTheResearcherDoesNotBeginWithoutAnAnswer",
		},
		{"Python", "python examples/clarification/python/clarification.py", withPython, "", ""},
		{
			"TypeScript", "npm --prefix examples/clarification/typescript --silent start", withTypeScript,
			"npm --prefix examples/clarification/typescript --silent test", "pass 1",
		},
	} {
		t.Run(language.name, func(t *testing.T) {
			installed := language.installed(t)
			require.Equal(t, shown, run(t, installed, h, language.command))
			if language.tests != "" {
				// To vet the example, Go would vet all that it imports, which takes half a minute the first time.
				said := installed.output(t, language.tests, "OPENINTENT_PROGRAM="+harness.Executable(t), "GOFLAGS="+os.Getenv("GOFLAGS")+" -vet=off")
				require.Contains(t, said, language.passed)
			}
		})
	}
}

// seconds matches the beginning of each line of the pipeline's timeline.
var seconds = regexp.MustCompile(`(?m)^ *\d+\.\d{3} s  `)

func TestThePipeline(t *testing.T) {
	installed := withPython(t)
	shown := lines(blockBehind(t, page(t, "examples/README.md"), "## Pipeline", "text"))
	harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
		for range 2 { // the second run uses its own intent
			printed := lines(run(t, installed, h, "python examples/pipeline/pipeline.py"))
			// Two cleaners work simultaneously, so only steps that depend on each other have a fixed order.
			require.ElementsMatch(t, shown, printed)
			require.Contains(t, printed[0], "ingest asks role:cleaner")
			for _, batch := range []string{"1", "2", "3", "4"} {
				dealt := slices.IndexFunc(printed, func(line string) bool { return strings.Contains(line, "batch "+batch+" has") })
				require.Contains(t, printed[dealt], "ingest tells cleaner-", "a batch is dealt before it is cleaned")
			}
			require.Equal(t, shown[len(shown)-2:], printed[len(printed)-2:], "the report comes last")
		}
	})
}

// lines returns the lines of a timeline without their times, which must be present.
func lines(timeline string) (found []string) {
	for line := range strings.Lines(timeline) {
		found = append(found, strings.TrimSpace(seconds.ReplaceAllString(line, "time ")))
	}
	return found
}

// The programs that the pages show in Python work, and print what the pages show.
func TestTheProgramsOfThePages(t *testing.T) {
	installed := withPython(t)
	h := harness.StartProcess(t, harness.Options{})
	for document, heading := range map[string]string{
		"README.md": "## In Python", "docs/for-coding-agents.md": "## An agent that answers", "deploy/wheel/README.md": "## A first ask",
	} {
		program := blockBehind(t, page(t, document), heading, "python")
		require.NoError(t, os.WriteFile(filepath.Join(installed.folder, "first.py"), []byte(program), 0o600))
		shown := blockBehind(t, page(t, document), heading, "text")
		require.Equal(t, shown, installed.output(t, "python first.py", "OPENINTENT_SERVER="+h.GRPCAddress(), "OPENINTENT_API_KEY="+harness.Key))
	}
}

// So does the program that the page of the npm package shows.
func TestTheProgramOfThePageOfTheServerForNode(t *testing.T) {
	installed := withTypeScript(t)
	h := harness.StartProcess(t, harness.Options{})
	document := page(t, "deploy/npm/README.md")
	folder := "examples/clarification/typescript"
	program := blockBehind(t, document, "## A first ask", "js")
	require.NoError(t, os.WriteFile(filepath.Join(installed.folder, folder, "first.mjs"), []byte(program), 0o600))
	said := installed.output(t, "cd "+folder+" && node first.mjs", "OPENINTENT_SERVER="+h.GRPCAddress(), "OPENINTENT_API_KEY="+harness.Key)
	require.Contains(t, said, blockBehind(t, document, "## A first ask", "text"))
}

// The page for coding agents shows an agent that runs until it is stopped, and a program that asks it and branches on what
// goes wrong. They do what the page says.
func TestTheProgramsForCodingAgents(t *testing.T) {
	const document = "docs/for-coding-agents.md"
	installed := withPython(t)
	h := harness.StartProcess(t, harness.Options{})
	behind := func(heading, language string) string { return blockBehind(t, page(t, document), heading, language) }
	whole, ending := behind("## An agent that answers", "python"), behind("## An agent that runs for ever", "python")
	agent, _, found := strings.Cut(whole, "async def main()")
	require.True(t, found)
	for name, program := range map[string]string{"summer.py": agent + ending, "asking.py": behind("## A program that asks", "python")} {
		require.NoError(t, os.WriteFile(filepath.Join(installed.folder, name), []byte(program), 0o600))
	}

	server := []string{"OPENINTENT_SERVER=" + h.GRPCAddress(), "OPENINTENT_API_KEY=" + harness.Key}
	// The agent says in its log that it receives.
	said := installed.output(t, `coproc AGENT { exec python summer.py 2>&1; }
agent=$AGENT_PID
while read -r line <&${AGENT[0]} && [[ $line != *receives* ]]; do :; done
python asking.py
kill -TERM $agent
wait $agent
echo "ended with $?"`, server...)
	require.Equal(t, "{'sum': 6}\nended with 0\n", said)
	require.Equal(t, behind("## A program that asks", "text"), installed.output(t, "python asking.py", server...))
}

// The picture on the front page is made by the example as it is.
func TestTheCrashExampleLosesNothing(t *testing.T) {
	installed := withPython(t)
	picture := filepath.Join(t.TempDir(), "crash.svg")
	programs := t.TempDir()
	for name, source := range map[string]string{"asker": "./examples/crash/asker", "record": "./examples/crash/record"} {
		harness.Prepare(t, root, "go", "build", "-o", filepath.Join(programs, name), source)
	}
	said := installed.output(t, filepath.Join(programs, "record")+" -server "+harness.Executable(t)+" -asker "+
		filepath.Join(programs, "asker")+" -python python -output "+picture)
	require.Contains(t, said, blockBehind(t, page(t, "examples/README.md"), "## Crash", "text"))
	require.Contains(t, said, "kill -9 the server")
	drawn, err := os.ReadFile(picture)
	require.NoError(t, err)
	require.Contains(t, string(drawn), "none lost, none twice")
}

// The documents name the packages as they are built. Python writes the version of what is not released yet in a way of its own.
func TestTheDocumentsNameTheVersion(t *testing.T) {
	version := regexp.MustCompile(`(?m)^version = "(.*)"$`).FindStringSubmatch(page(t, "sdk/python/pyproject.toml"))[1]
	inPython := strings.Replace(version, "-dev", ".dev0", 1)
	for _, document := range []string{"examples/README.md", "sdk/go/README.md", "sdk/python/README.md", "sdk/typescript/README.md"} {
		for _, named := range regexp.MustCompile(`(openintent[-_a-z]*[-@]v?)(\d+\.\d+\.\d+(?:[-.]dev\d*)?)`).FindAllStringSubmatch(page(t, document), -1) {
			want := version
			if strings.HasPrefix(named[1], "openintent_channels") {
				want = inPython
			}
			require.Equal(t, want, named[2], "%s names %s", document, named[0])
		}
	}
}
