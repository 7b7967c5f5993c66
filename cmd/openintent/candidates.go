package main

import (
	"context"
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// candidate is one possible completion of a word.
type candidate struct{ text, help string }

// candidates returns the completions of the last word, based on the program's own description of its commands. parted
// is true for shells that split "--name=value" into three words; they expect a completion of the value alone.
func candidates(ctx context.Context, program *kong.Node, words []string, parted bool) []candidate {
	if len(words) == 0 {
		words = []string{""}
	}
	if parted {
		words = joined(words)
	}
	at := place{ctx: ctx, node: program, given: make(map[string]string)}
	last := len(words) - 1
	for _, word := range words[:last] {
		at.pass(word)
	}
	var found []candidate
	word, before := words[last], ""
	name, value, assigned := strings.Cut(word, "=")
	switch {
	case at.awaits != nil:
		found = at.values(at.awaits.Value)
	case !at.positionalOnly && strings.HasPrefix(word, "--") && assigned:
		if flag := at.flag(name); flag != nil {
			found, word = at.values(flag.Value), value
			if !parted {
				before = name + "="
			}
		}
	case !at.positionalOnly && strings.HasPrefix(word, "-"):
		found = at.flags()
	default:
		found = at.arguments()
	}
	found = slices.DeleteFunc(found, func(c candidate) bool { return !strings.HasPrefix(c.text, word) })
	for i := range found {
		found[i].text = before + found[i].text
		found[i].help = strings.NewReplacer("\n", " ", "\t", " ").Replace(found[i].help)
	}
	return found
}

// joined merges "--name", "=" and "value" into one word again.
func joined(words []string) (whole []string) {
	for i, word := range words {
		n := len(whole)
		switch {
		case word == "=" && n > 0 && strings.HasPrefix(whole[n-1], "--"),
			i > 0 && words[i-1] == "=" && n > 0 && strings.HasSuffix(whole[n-1], "="):
			whole[n-1] += word
		default:
			whole = append(whole, word)
		}
	}
	return whole
}

// place is the state after some words of a command line have been read.
type place struct {
	ctx  context.Context
	node *kong.Node
	// given has the values of the flags that were given.
	given map[string]string
	// passed is how many positional arguments of the node were given.
	passed int
	// awaits is the flag whose value comes next.
	awaits *kong.Flag
	// positionalOnly is set after --.
	positionalOnly bool
}

func (p *place) pass(word string) {
	switch {
	case p.awaits != nil:
		p.given[p.awaits.Name] = word
		p.awaits = nil
	case p.positionalOnly:
		p.passed++
	case word == "--":
		p.positionalOnly = true
	case strings.HasPrefix(word, "-") && word != "-":
		name, value, assigned := strings.Cut(word, "=")
		if flag := p.flag(name); flag != nil && assigned {
			p.given[flag.Name] = value
		} else if flag != nil && !flag.IsBool() {
			p.awaits = flag
		}
	default:
		child := childOf(p.node, word)
		switch {
		case child == nil || p.passed > 0:
			p.passed++
		case child.Name != "help" || p.node.Type != kong.ApplicationNode: // the words after help are those without it
			p.node = child
		}
	}
}

// flag finds a flag that is written as --name or -n; nil if there is none.
func (p *place) flag(word string) *kong.Flag {
	for _, flag := range p.allFlags() {
		if word == "--"+flag.Name || flag.Short != 0 && word == "-"+string(flag.Short) {
			return flag
		}
	}
	return nil
}

func (p *place) flags() (found []candidate) {
	for _, flag := range p.allFlags() {
		if !flag.Hidden {
			found = append(found, candidate{"--" + flag.Name, flag.Help})
		}
	}
	return found
}

// allFlags returns the flags that may stand here. When no verb is named, it includes the flags of the default verb.
func (p *place) allFlags() []*kong.Flag {
	flags := slices.Concat(p.node.AllFlags(false)...)
	if p.node.DefaultCmd != nil {
		flags = append(flags, p.node.DefaultCmd.Flags...)
	}
	return flags
}

// arguments returns the verbs that may come next or, if there are none, the values of the next argument.
func (p *place) arguments() (found []candidate) {
	for _, child := range p.node.Children {
		if !child.Hidden && p.passed == 0 {
			found = append(found, candidate{child.Name, child.Help})
		}
	}
	if p.passed < len(p.node.Positional) {
		found = append(found, p.values(p.node.Positional[p.passed])...)
	} else if last := len(p.node.Positional) - 1; last >= 0 && p.node.Positional[last].IsCumulative() {
		found = append(found, p.values(p.node.Positional[last])...)
	}
	return found
}

// values returns the values that a flag or argument may have, as far as they are known.
func (p *place) values(of *kong.Value) (found []candidate) {
	switch kind := of.Tag.Get("complete"); kind {
	case "agents", "channels", "intents":
		return p.names(kind)
	case "contexts":
		// Completion must not print complaints about the file.
		read, _ := readConfiguration(terminal{stderr: io.Discard})
		for _, name := range read.names() {
			found = append(found, candidate{text: name})
		}
		return found
	}
	if of.Tag.Get("complete") == "signals" {
		for _, signal := range []string{"seen", "agree", "working", "queued", "claimed", "done", "declined", "blocked", "unclear"} {
			found = append(found, candidate{text: signal})
		}
	}
	for _, value := range of.EnumSlice() {
		if value != "" {
			found = append(found, candidate{text: value})
		}
	}
	return found
}
