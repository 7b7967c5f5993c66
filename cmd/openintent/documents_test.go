package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// page returns the text that users read about the command line.
func page(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/cli.md")
	require.NoError(t, err)
	return string(text)
}

// The page and the program must agree: every command and flag on the page exists, and every existing one is on the
// page.
func TestThePageHasTheCommands(t *testing.T) {
	parser, err := kong.New(&commands{})
	require.NoError(t, err)
	text := page(t)
	flags := map[string]bool{"--help": true}
	for _, leaf := range parser.Model.Leaves(true) {
		path := strings.Fields(leaf.Path())
		for _, flag := range (&place{node: leaf}).allFlags() {
			flags["--"+flag.Name] = true
			if path[0] != "serve" { // docs/settings.md has its flags
				require.Regexp(t, "--"+flag.Name+`\b`, text, path)
			}
		}
		switch path[0] {
		case "context", "version": // one row for all of its verbs
			require.Contains(t, text, "`"+path[len(path)-1]+"`", path)
		default:
			require.Regexp(t, "(?m)^\\| .*`"+strings.Join(path, " ")+"[ `]", text)
		}
	}
	for _, shown := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(text, -1) {
		require.True(t, flags[shown], "%s is no flag", shown)
	}
}

// The page, the help and the code agree about exit codes.
func TestExitCodesAreDocumented(t *testing.T) {
	help, text := at(t, "", "--help").stdout, page(t)
	_, section, found := strings.Cut(text, "\n## Exit codes\n")
	require.True(t, found)
	rows := regexp.MustCompile(`(?m)^\| (\d+) \| ([^|(;]+)`).FindAllStringSubmatch(section, -1)
	var documented []int
	for _, row := range rows {
		code, err := strconv.Atoi(row[1])
		require.NoError(t, err)
		documented = append(documented, code)
		require.Contains(t, help, fmt.Sprintf("%3d  %.20s", code, strings.TrimSpace(row[2])))
	}
	require.Equal(t, []int{
		exitOK, exitFailed, exitUsage, exitTimeout, exitNotFound, exitRefused, exitUnavailable, exitRemote, exitBroken,
		exitConflict, exitBehind, exitDeclined, exitInterrupted,
	}, documented)
	for code, exit := range codesOf {
		require.Contains(t, documented, exit, code)
	}
}

// The help says what happens without a flag.
func TestTheHelpNamesDefaults(t *testing.T) {
	parser, err := kong.New(&commands{}, kong.Vars{"version": ""})
	require.NoError(t, err)
	for _, leaf := range parser.Model.Leaves(true) {
		for _, flag := range (&place{node: leaf}).allFlags() {
			if flag.Default != "" && flag.PlaceHolder != "" { // the parser shows the default of a flag without a placeholder
				require.Contains(t, flag.Help, flag.Default, "%s --%s", leaf.Path(), flag.Name)
			}
		}
	}
}
