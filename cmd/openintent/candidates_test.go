package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

func TestCandidates(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OPENINTENT_CONFIG", file(t, "contexts: {local: {server: 'a:1'}, prod: {server: 'b:1'}}"))
	t.Setenv("OPENINTENT_SERVER", "127.0.0.1:1")
	for _, test := range []struct {
		line string // its words; the last one is completed
		want []string
	}{
		{"no", []string{"notify"}},
		{"complet", []string{"completion"}},
		{"channels c", []string{"create", "close"}},
		{"channels show x s", nil},
		{"context use ", []string{"local", "prod"}},
		{"context set p", []string{"prod"}},
		{"intents --context ", []string{"local", "prod"}},
		{"intents --context=pr", []string{"--context=prod"}},
		{"intents --agent c", nil},
		{"channels list --status ", []string{"open", "closed"}},
		{"channels --status=o", []string{"--status=open"}},
		{"intents status ID comp", []string{"completed"}},
		{"messages --intent I data --ty", []string{"--type"}},
		{"messages -f --type no", []string{"notify"}},
		{"ask x y -p context --contex", []string{"--context"}},
		{"ask -- --contex", nil},
		{"completion ", []string{"bash", "zsh", "fish"}},
		{"serve --log-f", []string{"--log-format"}},
		{"dance ", nil},
		{"help channels c", []string{"create", "close"}},
		{"hel", []string{"help"}},
		{"react msg_1 d", []string{"done", "declined"}},
		{"inbox --policy must", []string{"must_respond", "must_not_respond"}},
		{"notify --priority h", []string{"high"}},
	} {
		did := at(t, "", append([]string{"complete", "fish", "--"}, strings.Split(test.line, " ")...)...)
		require.Equal(t, exitOK, did.exit, did.stderr)
		var got []string
		for line := range strings.Lines(did.stdout) {
			text, help, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
			require.NotContains(t, help, "\t")
			got = append(got, text)
		}
		require.Equal(t, test.want, got, test.line)
	}
	all := at(t, "", "complete", "bash", "--").stdout
	require.Contains(t, all, "serve\n")
	require.NotContains(t, all, "complete\n", "what only the scripts use is not offered")
	require.Contains(t, at(t, "", "complete", "zsh", "--", "cont").stdout, "context:Store")
}

func TestNamesAreCompleted(t *testing.T) {
	usual := completionPatience
	completionPatience = harness.Patience
	t.Cleanup(func() { completionPatience = usual })
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		intent := os.Getenv("OPENINTENT_INTENT_ID")
		operator := shell{server: alice.server}
		operator.does(t, "agents", "register", "data-agent", "--role", "data")
		operator.does(t, "agents", "register", "auditor")
		operator.does(t, "agents", "register", "$(reboot)")
		other := alice.does(t, "intents", "create", "Other", "--status", "active")
		alice.does(t, "channels", "create", "votes", "--intent", other)
		alice.does(t, "channels", "create", "two words")
		for _, test := range []struct {
			line string
			want []string
		}{
			{"ask ", []string{"data"}},
			{"notify d", []string{"data"}},
			{"ask --intent " + other + " ", []string{"votes"}},
			{"messages --intent=" + other + " ", []string{"votes"}},
			{"ask data ", []string{"auditor", "data-agent"}},
			{"ask data d", []string{"data-agent"}},
			{"channels add data auditor d", []string{"data-agent"}},
			{"inbox --agent a", []string{"auditor"}},
			{"inbox --agent=a", []string{"auditor"}},
			{"agents show ", []string{"auditor", "data-agent"}},
			{"intents show ", []string{intent, other}},
			{"channels list --intent ", []string{intent, other}},
		} {
			line := []string{"--server", alice.server.GRPCAddress(), "--api-key", harness.Key}
			line = append(strings.Split(test.line, " ")[:1], append(line, strings.Split(test.line, " ")[1:]...)...)
			did := at(t, "", append([]string{"complete", "bash", "--"}, line...)...)
			require.Equal(t, exitOK, did.exit, did.stderr)
			require.ElementsMatch(t, test.want, strings.Fields(did.stdout), test.line)
		}
		require.Contains(t, at(t, "", "complete", "zsh", "--", "agents", "--server", alice.server.GRPCAddress(),
			"--api-key", harness.Key, "show", "data").stdout, "data-agent:data\n", "with its role")
	})
}

// This test calls the shell's own function, as a terminal would.
func TestBashCompletes(t *testing.T) {
	clearEnvironment(t)
	folder := filepath.Dir(harness.Executable(t))
	bash := func(words ...string) []string {
		const script = `PATH="$1:$PATH"; shift; source <(openintent completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _openintent; printf '%s\n' "${COMPREPLY[@]}"`
		arguments := append([]string{"--noprofile", "--norc", "-c", script, "bash", folder}, words...)
		output, err := exec.Command("bash", arguments...).CombinedOutput()
		require.NoError(t, err, "%s", output)
		return strings.Split(strings.TrimSpace(string(output)), "\n")
	}
	require.Equal(t, []string{"c2a", "channels", "check", "claim", "completion", "concerns", "contacts", "context"}, slices.Sorted(slices.Values(bash("openintent", "c"))))
	require.Equal(t, []string{"closed"}, bash("openintent", "channels", "list", "--status", "c"))
	require.Equal(t, []string{"closed"}, bash("openintent", "channels", "list", "--status", "=", "c"),
		"bash splits words at the equals sign")
	require.Equal(t, []string{"open", "closed"}, bash("openintent", "channels", "list", "--status", "="))
}

func TestScriptsAreScripts(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish"} {
		did := at(t, "", "completion", shell)
		require.Equal(t, exitOK, did.exit)
		require.Contains(t, did.stdout, "openintent complete "+shell+" -- ")
		path, err := exec.LookPath(shell)
		if err != nil {
			require.NotEqual(t, "bash", shell, "bash is needed for the tests")
			continue // the other shells are tested where they are installed
		}
		checked, err := exec.Command(path, "-n", file(t, did.stdout)).CombinedOutput()
		require.NoError(t, err, "%s", checked)
	}
	require.Equal(t, exitUsage, at(t, "", "completion", "tcsh").exit)
}
