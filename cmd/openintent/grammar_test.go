package main

import (
	"slices"
	"testing"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"
)

// A command that the parser reads alone is the same as among all others.
func TestACommandAloneIsAsAmongAllOthers(t *testing.T) {
	version := kong.Vars{"version": ""}
	whole, err := kong.New(&commands{}, version)
	require.NoError(t, err)
	for _, verb := range whole.Model.Children {
		parser, err := kong.New(grammar([]string{verb.Name}), version)
		require.NoError(t, err)
		require.Equal(t, described(whole.Model.Node, verb.Name), described(parser.Model.Node, verb.Name))
		if !slices.Contains([]string{"help", "complete", "man"}, verb.Name) {
			require.Len(t, parser.Model.Children, 1, "%s is read without the others", verb.Name)
		}
	}
}

// Help, and the suggestions for a misspelt verb, need all commands.
func TestHelpAndMisspeltVerbsNeedAllCommands(t *testing.T) {
	for _, arguments := range [][]string{{"--help"}, {"ask", "--help"}, {"ask", "-h"}, {"help", "ask"}, {"complete", "bash"}, {"man"}, {"aks"}, {"--version"}} {
		require.IsType(t, &commands{}, grammar(arguments), "%s", arguments)
	}
}

// described says what the parser knows about a command, those below it, and the flags that they have from the program.
func described(program *kong.Node, verb string) (said []string) {
	for _, leaf := range childOf(program, verb).Leaves(false) {
		said = append(said, leaf.Summary(), leaf.Help, leaf.Detail)
		for _, positional := range leaf.Positional {
			said = append(said, positional.Summary(), positional.Help, positional.Default)
		}
		for _, flags := range leaf.AllFlags(false) {
			for _, flag := range flags {
				said = append(said, flag.String(), flag.Help, flag.Default)
			}
		}
	}
	return said
}
