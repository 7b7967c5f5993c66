package main

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// Every command, argument and flag is on the page, each with its help.
func TestTheManualPageHasWhatTheHelpHas(t *testing.T) {
	clearEnvironment(t)
	did := at(t, "", "man")
	require.Equal(t, exitOK, did.exit, did.stderr)
	parser, err := kong.New(&commands{}, kong.Vars{"version": ""}, durations)
	require.NoError(t, err)
	item := func(name, help string) {
		require.Contains(t, did.stdout, ".TP\n\\fB"+roff(name)+"\\fR\n"+roff(help)+"\n")
	}
	for _, leaf := range parser.Model.Leaves(true) {
		item(leaf.Summary(), leaf.Help)
		for line := range strings.Lines(leaf.Detail) {
			require.Contains(t, did.stdout, roff(strings.TrimRight(line, "\n"))+"\n")
		}
		for _, positional := range leaf.Positional {
			if positional.Help != "" {
				item(positional.Summary(), positional.Help)
			}
		}
		for _, flag := range leaf.Flags {
			if !flag.Hidden {
				require.Contains(t, did.stdout, roff(flag.Summary())+"\\fR\n")
			}
		}
	}
	require.NotContains(t, did.stdout, ".SH \"EXIT STATUS\"\n.PP\n.PP", "the codes follow the title")
	require.Contains(t, did.stdout, ".nf\n   0  done\n")
	require.NotContains(t, did.stdout, "complete \\-\\-", "what only the completion uses is not there")
	require.Contains(t, did.stdout, `.TH OPENINTENT 1 "" "openintent `+version+`" "User Commands"`+"\n", "a build without a date has none")
}

func TestThePageHasTheDateOfTheBuild(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Vars{"version": ""}, durations)
	require.NoError(t, err)
	require.Contains(t, manual(parser.Model.Node, build{date: "2026-11-30T07:00:00Z"}), `.TH OPENINTENT 1 "2026-11-30" `)
}

// Nothing in a text is a request or an escape of the page's language.
func TestTextsOfThePageAreShownAsTheyAre(t *testing.T) {
	for text, want := range map[string]string{
		`.db is a file`: `\&.db is a file`,
		`'quoted'`:      `\(aqquoted\(aq`,
		`a\b --flag`:    `a\eb \-\-flag`,
		"~/`x^2`":       "\\(ti/\\`x\\(ha2\\`",
		`say "yes"`:     `say \(dqyes\(dq`,
	} {
		require.Equal(t, want, roff(text))
	}
}

// groff, which man runs, warns of whatever it does not understand.
func TestGroffUnderstandsThePage(t *testing.T) {
	groff, err := exec.LookPath("groff")
	if err != nil {
		return // the test above does without it
	}
	checking := exec.Command(groff, "-man", "-ww", "-z", "-Kutf8")
	checking.Stdin = strings.NewReader(at(t, "", "man").stdout)
	said, err := checking.CombinedOutput()
	require.NoError(t, err, "%s", said)
	require.Empty(t, string(said))
}
