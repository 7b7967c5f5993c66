package workflows

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reader walks the nodes of one file and collects what is wrong with them.
type reader struct {
	name     string
	problems Problems
}

func (r *reader) problem(at Position, text string, args ...any) {
	if len(args) > 0 {
		text = fmt.Sprintf(text, args...)
	}
	r.problems = append(r.problems, Problem{File: r.name, Position: at, Text: text})
}

// position returns where a node begins; for a node without a place it returns the beginning of the file.
func position(node *yaml.Node) Position {
	return Position{Line: max(node.Line, 1), Column: max(node.Column, 1)}
}

// resolved returns the node that an alias stands for, and any other node itself.
func resolved(node *yaml.Node) *yaml.Node {
	if node.Kind == yaml.AliasNode {
		return node.Alias
	}
	return node
}

// entry is one "key: value" of a mapping, with aliases resolved.
type entry struct {
	name  string
	at    Position
	value *yaml.Node
}

// keys says which keys a mapping may have.
type keys bool

const (
	// textKeys means that a key that is not text is a mistake.
	textKeys keys = true
	// anyKeys means that a key that is not text belongs to other tools.
	anyKeys keys = false
)

// entries returns the entries of a mapping in their order, followed by those of merged mappings ("<<"). A missing value counts
// as an empty mapping.
func (r *reader) entries(node *yaml.Node, what string, allowed keys) []entry {
	node = resolved(node)
	switch {
	case isNull(node):
		return nil
	case node.Kind != yaml.MappingNode:
		r.problem(position(node), "%s must be a mapping, not %s.", what, kind(node))
		return nil
	}
	return r.merged(node, allowed, make(map[string]bool), make(map[*yaml.Node]bool))
}

// merged returns the entries of a mapping that are not known yet, followed by those of the mappings that it merges. The set open
// has the mappings that are being read; merging one of these would make it contain itself.
func (r *reader) merged(node *yaml.Node, allowed keys, known map[string]bool, open map[*yaml.Node]bool) (found []entry) {
	open[node] = true
	defer delete(open, node)
	var merges []*yaml.Node
	own := make(map[string]Position)
	for i := 0; i+1 < len(node.Content); i += 2 {
		at := position(node.Content[i])
		key, value := resolved(node.Content[i]), resolved(node.Content[i+1])
		if key.Kind == yaml.ScalarNode && key.ShortTag() == "!!merge" {
			merges = append(merges, value)
			continue
		}
		if key.Kind != yaml.ScalarNode || key.ShortTag() != "!!str" {
			if allowed == textKeys {
				r.problem(at, "a key here must be text, not %s; put it in quotes.", kind(key))
			}
			continue
		}
		if first, repeated := own[key.Value]; repeated {
			r.problem(at, "%s appears here a second time, after line %d; keep one.", quoted(key.Value), first.Line)
			continue
		}
		own[key.Value] = at
		if !known[key.Value] {
			known[key.Value] = true
			found = append(found, entry{key.Value, at, value})
		}
	}
	for _, value := range merges {
		found = append(found, r.mergedFrom(value, allowed, known, open)...)
	}
	return found
}

// mergedFrom returns the entries of the value of "<<": a mapping, or a list of mappings of which the earlier ones come first.
func (r *reader) mergedFrom(value *yaml.Node, allowed keys, known map[string]bool, open map[*yaml.Node]bool) (found []entry) {
	sources := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		sources = value.Content
	}
	for _, source := range sources {
		source = resolved(source)
		switch {
		case source.Kind != yaml.MappingNode:
			r.problem(position(source), "<< merges mappings, not %s.", kind(source))
		case open[source]:
			r.problem(position(source), "this mapping contains itself; merge another one.")
		default:
			found = append(found, r.merged(source, allowed, known, open)...)
		}
	}
	return found
}

// items returns the items of a list, with aliases resolved. A missing value counts as an empty list.
func (r *reader) items(node *yaml.Node, what string) (items []*yaml.Node) {
	switch {
	case isNull(node):
		return nil
	case node.Kind != yaml.SequenceNode:
		r.problem(position(node), "%s must be a list, not %s.", what, kind(node))
		return nil
	}
	for _, item := range node.Content {
		items = append(items, resolved(item))
	}
	return items
}

// text reads a text that is not empty.
func (r *reader) text(node *yaml.Node, what string) (text string, ok bool) {
	switch {
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str" && node.Value != "":
		return node.Value, true
	case node.Kind == yaml.ScalarNode && node.ShortTag() == "!!str":
		r.problem(position(node), "%s is empty; give it a text or leave it out.", what)
	case node.Kind == yaml.ScalarNode && !isNull(node):
		r.problem(position(node), "%s must be text, not %s; put it in quotes.", what, kind(node))
	default:
		r.problem(position(node), "%s must be text, not %s.", what, kind(node))
	}
	return "", false
}

// truth reads true or false.
func (r *reader) truth(node *yaml.Node, what string) (value, ok bool) {
	if node.Kind != yaml.ScalarNode || node.ShortTag() != "!!bool" || node.Decode(&value) != nil {
		r.problem(position(node), "%s must be true or false, not %s.", what, kind(node))
		return false, false
	}
	return value, true
}

// number reads a whole number between 1 and a bound.
func (r *reader) number(node *yaml.Node, what string, most int64) *int64 {
	var value int64
	switch {
	case node.Kind != yaml.ScalarNode || node.ShortTag() != "!!int":
		r.problem(position(node), "%s must be a whole number, not %s.", what, kind(node))
	case node.Decode(&value) != nil || value < 1 || value > most:
		r.problem(position(node), "%s is %s; it lies between 1 and %d.", what, shortened(node.Value), most)
	default:
		return &value
	}
	return nil
}

// isNull reports whether a value is missing, as in "key:" or "key: null".
func isNull(node *yaml.Node) bool {
	return node.Kind == yaml.ScalarNode && node.ShortTag() == "!!null"
}

// kind describes in words what a node is.
func kind(node *yaml.Node) string {
	switch node.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	switch tag := node.ShortTag(); tag {
	case "!!null":
		return "nothing"
	case "!!str":
		return "the text " + quoted(node.Value)
	case "!!bool":
		return "the truth value " + shortened(node.Value)
	case "!!int", "!!float":
		return "the number " + shortened(node.Value)
	case "!!timestamp":
		return "the date " + shortened(node.Value)
	default:
		return "a value tagged " + shortened(tag)
	}
}

// maxShown bounds how much of a value a problem repeats, in characters.
const maxShown = 60

// shortened cuts off a long text and escapes its control characters.
func shortened(text string) string {
	if letters := []rune(text); len(letters) > maxShown {
		text = string(letters[:maxShown]) + "..."
	}
	plain := fmt.Sprintf("%q", text)
	return strings.ReplaceAll(plain[1:len(plain)-1], `\"`, `"`)
}

// quoted returns a shortened text in quotes.
func quoted(text string) string {
	return `"` + shortened(text) + `"`
}
