package replay

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"

	"openintent/messaging/attention"
	"openintent/messaging/loopbrake"
	"openintent/subscriptions/waiting"
)

// Rules are what a replay judges and counts by.
type Rules struct {
	// DigestedKinds are the kinds of messages that are lines of a summary for those who are no nearer to them.
	DigestedKinds []string `json:"digested_kinds"`
	// TurnBudget is how many messages two agents alone may exchange in a thread or channel before a brake holds back further ones; 0 for
	// no brake, and nil for the budget that each channel has. TurnSeconds is the time within which they count.
	TurnBudget  *int `json:"turn_budget"`
	TurnSeconds int  `json:"turn_seconds"`
	// ComposeSeconds is how long an author must be silent before what it wrote is delivered together, and ComposeMostSeconds how long
	// that can take; 0 seconds for no such window.
	ComposeSeconds     int `json:"compose_seconds"`
	ComposeMostSeconds int `json:"compose_most_seconds"`
	// DigestSeconds is for how long ambient messages gather until they are delivered as one digest, of MaxChars characters at most; 0 for
	// no digests.
	DigestSeconds int `json:"digest_seconds"`
	MaxChars      int `json:"max_chars"`
}

// Today returns the rules by which a server judges and delivers without any further options.
func Today() Rules {
	return Rules{
		DigestedKinds: attention.Today().DigestedKinds, TurnSeconds: int(loopbrake.BrakeTime / time.Second),
		ComposeMostSeconds: int(waiting.Longest / time.Second), MaxChars: waiting.MaxChars,
	}
}

// Bounds of a file of rules. Kinds have the bounds that messages have.
const (
	maxRulesBytes = 1 << 16
	maxKinds      = 100
	maxKindLength = 64
)

// number is a rule that is a whole number, and its bounds.
type number struct {
	name        string
	least, most int
	set         func(r *Rules, value int)
}

// numbers are the rules that are numbers, in the order in which an error names them.
var numbers = []number{
	{"turn_budget", 0, 100, func(r *Rules, value int) { r.TurnBudget = &value }},
	{"turn_seconds", 1, 86_400, func(r *Rules, value int) { r.TurnSeconds = value }},
	{"compose_seconds", 0, 600, func(r *Rules, value int) { r.ComposeSeconds = value }},
	{"compose_most_seconds", 1, 3600, func(r *Rules, value int) { r.ComposeMostSeconds = value }},
	{"digest_seconds", 0, 86_400, func(r *Rules, value int) { r.DigestSeconds = value }},
	{"max_chars", 500, 20_000, func(r *Rules, value int) { r.MaxChars = value }},
}

const digestedKinds = "digested_kinds"

// LoadRules reads a file of rules. What the file leaves out is as today.
func LoadRules(path string) (Rules, error) {
	source, err := os.Open(path)
	if err != nil {
		return Rules{}, fmt.Errorf("the rules cannot be read: %w", err)
	}
	defer func() { _ = source.Close() }()
	text, err := io.ReadAll(io.LimitReader(source, maxRulesBytes+1))
	if err != nil {
		return Rules{}, fmt.Errorf("the rules cannot be read: %w", err)
	}
	rules, err := ParseRules(text)
	if err != nil {
		return Rules{}, fmt.Errorf("%s: %w", path, err)
	}
	return rules, nil
}

// ParseRules reads the text of a file of rules.
func ParseRules(text []byte) (Rules, error) {
	rules := Today()
	if len(text) > maxRulesBytes {
		return rules, fmt.Errorf("the file is larger than %d bytes, which no rules need", maxRulesBytes)
	}
	var document yaml.Node
	if err := yaml.Unmarshal(text, &document); err != nil {
		return rules, errors.New("the file is no YAML: " + strings.Join(strings.Fields(err.Error()), " "))
	}
	if document.IsZero() {
		return rules, nil
	}
	root := document.Content[0]
	if root.Kind != yaml.MappingNode {
		return rules, fmt.Errorf("line %d: rules are a mapping, such as turn_budget: 20", root.Line)
	}
	known := make(map[string]bool)
	for i := 0; i+1 < len(root.Content); i += 2 {
		key, value := root.Content[i], root.Content[i+1]
		if known[key.Value] {
			return rules, fmt.Errorf("line %d: %q is given twice; leave one out", key.Line, key.Value)
		}
		known[key.Value] = true
		if err := rules.set(key.Value, value); err != nil {
			return rules, fmt.Errorf("line %d: %w", key.Line, err)
		}
	}
	return rules, nil
}

// set takes over one rule.
func (r *Rules) set(name string, value *yaml.Node) error {
	if name == digestedKinds {
		return r.setKinds(value)
	}
	i := slices.IndexFunc(numbers, func(n number) bool { return n.name == name })
	if i < 0 {
		names := []string{digestedKinds}
		for _, n := range numbers {
			names = append(names, n.name)
		}
		return fmt.Errorf("%q is no rule; the rules are %s", name, strings.Join(names, ", "))
	}
	n := numbers[i]
	var given int
	if value.ShortTag() != "!!int" || value.Decode(&given) != nil || given < n.least || given > n.most {
		return fmt.Errorf("%s must be a whole number from %d to %d", n.name, n.least, n.most)
	}
	n.set(r, given)
	return nil
}

func (r *Rules) setKinds(value *yaml.Node) error {
	kinds := []string{}
	wrong := value.Decode(&kinds) != nil || len(kinds) > maxKinds || slices.ContainsFunc(kinds, func(kind string) bool {
		return kind == "" || len([]rune(kind)) > maxKindLength
	})
	if wrong {
		return fmt.Errorf("%s must be a list of at most %d kinds of 1 to %d characters each", digestedKinds, maxKinds, maxKindLength)
	}
	r.DigestedKinds = kinds
	return nil
}

func seconds(count int) time.Duration { return time.Duration(count) * time.Second }
