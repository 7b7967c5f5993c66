package main

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// The parser takes the flags of a command only behind it. People also write them before it, as in openintent --agent bob inbox.

// flagsBehind returns a command line with the flags that stand before a command, or between its words, behind it. What it does not
// know it leaves as it is, for the parser to refuse.
func flagsBehind(program *kong.Node, arguments []string) []string {
	takeValues := flagsBelow(program)
	var verbs, flags []string
	node, left := program, arguments
	for len(left) > 0 && len(node.Children) > 0 {
		if !isFlag(left[0]) {
			child := childOf(node, left[0])
			if child == nil {
				break
			}
			node, verbs, left = child, append(verbs, left[0]), left[1:]
			continue
		}
		name, _, assigned := strings.Cut(left[0], "=")
		takesValue, known := takeValues[name]
		if !known {
			return arguments
		}
		words := 1
		if takesValue && !assigned {
			words = min(2, len(left))
		}
		flags, left = append(flags, left[:words]...), left[words:]
	}
	return slices.Concat(verbs, flags, left)
}

func isFlag(word string) bool { return strings.HasPrefix(word, "-") && word != "-" && word != "--" }

// flagsBelow returns the flags of some commands as people write them. A flag that takes a value is true.
func flagsBelow(node *kong.Node) map[string]bool {
	takeValues := make(map[string]bool)
	for _, leaf := range node.Leaves(false) {
		for _, flag := range slices.Concat(leaf.AllFlags(false)...) {
			for _, name := range append(flag.Aliases, flag.Name) {
				takeValues["--"+name] = !flag.IsBool()
			}
			if flag.Tag.Negatable != "" {
				takeValues["--no-"+flag.Name] = false
			}
			if flag.Short != 0 {
				takeValues["-"+string(flag.Short)] = !flag.IsBool()
			}
		}
	}
	return takeValues
}
