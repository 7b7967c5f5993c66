package main

import (
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

func program(t *testing.T) *kong.Node {
	t.Helper()
	parser, err := kong.New(&commands{}, kong.Vars{"version": ""}, durations)
	require.NoError(t, err)
	return parser.Model.Node
}

func TestFlagsMayStandBeforeTheCommand(t *testing.T) {
	for given, want := range map[string]string{
		"inbox --agent bob":                      "inbox --agent bob",
		"--agent bob inbox":                      "inbox --agent bob",
		"--agent=bob inbox --json":               "inbox --agent=bob --json",
		"--json --agent bob inbox":               "inbox --json --agent bob",
		"--agent ask ask hall bob {}":            "ask --agent ask hall bob {}",
		"-f messages hall":                       "messages -f hall",
		"-p a=1 notify hall bob":                 "notify -p a=1 hall bob",
		"--wait 5 ask hall bob {}":               "ask --wait 5 hall bob {}",
		"--no-migrate serve":                     "serve --no-migrate",
		"keys --server h:1 create x":             "keys create --server h:1 x",
		"--server h:1 keys --bind a create x":    "keys create --server h:1 --bind a x",
		"--intent i channels":                    "channels --intent i",
		"--ttl 5 claim c/m -- openintent --json": "claim --ttl 5 c/m -- openintent --json",
		"-q check":                               "check -q",
		"--help ask":                             "ask --help",
		"--version":                              "--version",
		"--agent bob":                            "--agent bob",
		"--colour red inbox":                     "--colour red inbox",
		"--agent bob dance":                      "--agent bob dance",
		"dance --agent bob":                      "dance --agent bob",
		"--agent":                                "--agent",
		"- inbox":                                "- inbox",
	} {
		require.Equal(t, strings.Fields(want), flagsBehind(program(t), strings.Fields(given)), given)
	}
}

// Before the command is known, a flag must be known to take a value or not.
func TestAFlagTakesAValueInAllCommandsOrInNone(t *testing.T) {
	node := program(t)
	all := flagsBelow(node)
	for _, leaf := range node.Leaves(false) {
		for name, takesValue := range flagsBelow(leaf) {
			require.Equal(t, all[name], takesValue, "%s of %s", name, leaf.Path())
		}
	}
}

func TestFlagsBeforeTheCommandServeIt(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		sent := strings.TrimSuffix(at(t, "", append(append(alice.connection(), "--text", "hi"), "notify", "data", "bob")...).stdout, "\n")
		require.NotEmpty(t, sent)
		require.Equal(t, sent, bob.does(t, "messages", "data", "--ids"))
	})
	require.Contains(t, at(t, "", "--agent", "bob").stderr, "a command must follow the flags")
	require.Contains(t, at(t, "", "--colour", "red", "inbox").stderr, "unknown flag --colour")
}
