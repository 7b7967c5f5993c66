package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// rfcWorkflow is the example from RFC-0021.
const rfcWorkflow = "../../clients/workflows/testdata/rfc-0021.yaml"

func TestApplySaysWhatItDid(t *testing.T) {
	onChannel(t, func(t *testing.T, alice, _ shell) {
		created := []string{"+ channel data-clarification (explicit, 2 members, audit)", "+ channel progress (intent)"}
		require.Equal(t, strings.Join(append([]string{"+ intent (Research Q1 Financials)"}, created...), "\n"),
			alice.does(t, "apply", "--dry-run", rfcWorkflow))
		require.Equal(t, strings.Join(append([]string{"+ intent intent-1 (Research Q1 Financials)"}, created...), "\n"),
			masked(alice.does(t, "apply", rfcWorkflow)), "OPENINTENT_INTENT_ID is for other commands")
		require.Equal(t, "= intent intent-1 (Research Q1 Financials)\n= channel data-clarification\n= channel progress",
			masked(alice.does(t, "apply", rfcWorkflow)))
		changed := file(t, "version: '1.0'\nintent: {title: Research Q1 Financials}\nchannels: {progress: {audit: true}}\n")
		require.Equal(t, "= intent intent-1 (Research Q1 Financials)\n~ channel progress: audit false -> true",
			masked(alice.does(t, "apply", changed)))
	})
}

func TestApplyPrintsJSON(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		intent := alice.does(t, "intents", "create", "By hand")
		workflow := file(t, "version: '1.0'\nchannels: {data: {members: [\"b\u202eob\"], ttl_seconds: 60}}\n")
		text := alice.does(t, "apply", workflow, "--intent", intent, "--json")
		require.Equal(t, 0, strings.Count(text, "\n"))
		require.NotContains(t, text, "\u202e", "nothing that moves a terminal's cursor")
		var printed struct {
			Channels []struct{ ID string }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &printed))
		require.JSONEq(t, `{
			"dry_run": false,
			"intent": {"action": "none", "id": "`+intent+`", "title": "By hand"},
			"channels": [{
				"action": "create", "name": "data", "id": "`+printed.Channels[0].ID+`", "members_added": ["b\u202eob"], "members_removed": [],
				"settings": [
					{"name": "member_policy", "from": null, "to": "intent"}, {"name": "audit", "from": null, "to": false},
					{"name": "ttl_seconds", "from": null, "to": 60}, {"name": "max_messages", "from": null, "to": 1000},
					{"name": "history", "from": null, "to": "all"}, {"name": "turn_budget", "from": null, "to": 20}
				]
			}]
		}`, text)
		require.Contains(t, alice.does(t, "channels", "list", "--intent", intent), printed.Channels[0].ID)
	})
}

func TestApplyNamesEveryMistakeOfAFile(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		bad := file(t, "version: '1.0'\nchannels:\n  a/b: {}\n  c: {audit: \"\\e[31m\"}\n")
		did := alice.run(t.Context(), "apply", bad)
		require.Equal(t, outcome{exitUsage, "", bad + `:3:3: the channel's name "a/b" holds a "/", which no channel's name may.` + "\n" +
			bad + `:4:14: audit must be true or false, not the text "\x1b[31m".` + "\n" +
			"openintent: nothing of " + bad + " was applied\n"}, did)
	})
}

func TestApplyFailsWithTheCodeOfTheCause(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, bob shell) {
		intent := alice.does(t, "intents", "create", "By hand", "--status", "active")
		workflow := file(t, "version: '1.0'\nchannels:\n  first: {}\n  data: {}\n")
		alice.does(t, "channels", "create", "data", "--intent", intent, "--audit")

		did := bob.run(t.Context(), "apply", workflow, "--intent", intent)
		require.Equal(t, exitRefused, did.exit)
		require.Equal(t, "= intent intent-1 (By hand)\n+ channel first (intent)\n", masked(did.stdout), "what was done before")
		require.True(t, strings.HasPrefix(did.stderr, "openintent: "+workflow+`:4:3: channel "data": Only the channel's creator`), did.stderr)

		require.Contains(t, bob.refused(t, exitNotFound, "apply", workflow, "--intent", "nowhere"), `intent "nowhere": `)
		alice.does(t, "intents", "status", intent, "abandoned")
		require.Contains(t, alice.refused(t, exitConflict, "apply", workflow, "--intent", intent), "it has ended and takes no channels")
		require.Contains(t, alice.refused(t, exitUsage, "apply", filepath.Join(t.TempDir(), "missing.yaml")), "cannot be read")
		t.Setenv("OPENINTENT_PATIENCE", "100ms")
		require.NoError(t, alice.server.Stop())
		alice.refused(t, exitUnavailable, "apply", workflow, "--intent", intent)
	})
}

func TestApplyWarnsOfWhatIsProbablyNotMeant(t *testing.T) {
	onSQLite(t, func(t *testing.T, alice, _ shell) {
		misspelt := file(t, "version: '1.0'\nintent: {title: T}\nshared: &all {audit: true}\nchanels:\n  data: *all\ncolour: red\nllm: {}\n")
		did := alice.run(t.Context(), "apply", misspelt)
		require.Equal(t, exitOK, did.exit)
		require.Equal(t, "openintent: warning: "+misspelt+`:4:1: "chanels" is no key of a workflow file, did you mean "channels"?`+"\n"+
			"openintent: warning: "+misspelt+`:6:1: "colour" is no key of a workflow file`+"\n"+
			"openintent: warning: "+misspelt+" has no channels, so there is nothing to make but its intent\n", did.stderr)
		require.Equal(t, "+ intent intent-1 (T)\n", masked(did.stdout))
		require.Empty(t, alice.run(t.Context(), "apply", rfcWorkflow).stderr)
	})
}
