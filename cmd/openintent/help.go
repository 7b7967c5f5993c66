package main

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// helpCommand shows what --help shows.
type helpCommand struct {
	Verbs []string `arg:"" optional:"" name:"command" help:"The command, as in: help channels create."`
}

// Run shows the help of the program, or of the named command.
func (c helpCommand) Run(ctx context.Context, parsed *kong.Context, to terminal) error {
	node := parsed.Model.Node
	for _, verb := range c.Verbs {
		child := childOf(node, verb)
		if child == nil {
			return usagef("there is no command %q%s", strings.Join(c.Verbs, " "), suggestion(verb, verbsOf(node)))
		}
		node = child
	}
	if code := run(ctx, append(slices.Clone(c.Verbs), "--help"), to); code != exitOK {
		return exitError{code, errors.New("the help cannot be shown")}
	}
	return nil
}

func childOf(node *kong.Node, verb string) *kong.Node {
	for _, child := range node.Children {
		if child.Name == verb {
			return child
		}
	}
	return nil
}

// verbsOf returns the verbs that may follow a node.
func verbsOf(node *kong.Node) (verbs []string) {
	for _, child := range node.Children {
		if !child.Hidden {
			verbs = append(verbs, child.Name)
		}
	}
	return verbs
}

var (
	unexpected  = regexp.MustCompile(`^unexpected argument (\S+)$`)
	unknownFlag = regexp.MustCompile(`^unknown flag --\S+$`)
	// valueless is what the parser says of a flag at the end of the line that needs a value.
	valueless = regexp.MustCompile(`^(--\S+): .* but got "EOL"`)
)

// misunderstood returns the parser's error as people should read it: with a suggestion for a misspelt verb below another
// one, and with the names under which the settings were given.
func misunderstood(err error, arguments []string) error {
	var refused *kong.ParseError
	if !errors.As(err, &refused) {
		return err
	}
	if found := valueless.FindStringSubmatch(err.Error()); found != nil {
		return usagef("%s needs a value", found[1])
	}
	if at := refused.Context.Selected(); at != nil && unknownFlag.MatchString(err.Error()) {
		return usagef("%w; openintent %s --help lists the flags", err, at.Path())
	}
	if found := unexpected.FindStringSubmatch(err.Error()); found != nil {
		if len(arguments) > 0 && found[1] == arguments[0] {
			return usagef("there is no command %s%s; openintent --help lists the commands", found[1],
				suggestion(found[1], verbsOf(refused.Context.Model.Node)))
		}
		if node := parentOf(refused.Context.Model.Node, arguments, found[1]); node != nil {
			verbs := verbsOf(node)
			if meant := suggestion(found[1], verbs); meant != "" {
				return usagef("%w%s", err, meant)
			}
			return usagef("%w; %s takes %s", err, node.Path(), strings.Join(verbs, ", "))
		}
		if at := refused.Context.Selected(); at != nil && slices.ContainsFunc(at.Flags, func(f *kong.Flag) bool { return f.Name == "text" }) {
			return usagef(`%w; to send several words as text, write --text "..."`, err)
		}
	}
	if len(arguments) > 0 && isFlag(arguments[0]) && flagsBelow(refused.Context.Model.Node)[arguments[0]] {
		return usagef("a command must follow the flags, as in openintent %s COMMAND; openintent --help lists the commands", strings.Join(arguments, " "))
	}
	return usagef("%s", asGiven(err.Error(), refused.Context))
}

// parentOf returns the command whose verb a word should have been; nil when it stands elsewhere.
func parentOf(node *kong.Node, arguments []string, word string) *kong.Node {
	for _, argument := range arguments {
		switch child := childOf(node, argument); {
		case child != nil:
			node = child
		case argument == word && len(node.Children) > 0 && node.Type == kong.CommandNode:
			return node
		default:
			return nil
		}
	}
	return nil
}
