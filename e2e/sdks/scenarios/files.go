package scenarios

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sort"

	"go.yaml.in/yaml/v3"
)

// File is one scenario.
type File struct {
	Name     string         `yaml:"name"`
	Engines  []string       `yaml:"engines"`
	Disturbs bool           `yaml:"disturbs"`
	Needs    []string       `yaml:"needs"`
	Intent   map[string]any `yaml:"intent"`
	Agents   []AgentFacts   `yaml:"agents"`
	Steps    []Step         `yaml:"steps"`
}

// AgentFacts describe an agent of the SDK's runtime.
type AgentFacts struct {
	ID          string         `yaml:"id"`
	Role        string         `yaml:"role"`
	Concurrency int            `yaml:"concurrency"`
	Handlers    []HandlerFacts `yaml:"handlers"`
	Attention   bool           `yaml:"attention"`

	SkipUnaddressed bool `yaml:"skip_unaddressed"`

	Compose       bool    `yaml:"compose"`
	DigestSeconds float64 `yaml:"digest_seconds"`
	MaxChars      int     `yaml:"max_chars"`

	Process string  `yaml:"process"`
	Drain   float64 `yaml:"drain"`
}

// name returns what the steps call the agent's process.
func (f AgentFacts) name() string {
	if f.Process != "" {
		return f.Process
	}
	return f.ID
}

// HandlerFacts describe what a handler does.
type HandlerFacts struct {
	Channel    string         `yaml:"channel"`
	Mention    bool           `yaml:"mention"`
	Obligation bool           `yaml:"obligation"`
	Digest     bool           `yaml:"digest"`
	Gate       string         `yaml:"gate"`
	Note       string         `yaml:"note"`
	Reply      map[string]any `yaml:"reply"`
	Echo       bool           `yaml:"echo"`
	Attempt    bool           `yaml:"attempt"`
	Fail       string         `yaml:"fail"`
	Nothing    bool           `yaml:"nothing"`
	Ask        *AskFacts      `yaml:"ask"`

	MessageReply map[string]any `yaml:"message_reply"`
}

// AskFacts describe what a handler asks another agent.
type AskFacts struct {
	Channel string         `yaml:"channel"`
	To      string         `yaml:"to"`
	Payload map[string]any `yaml:"payload"`
}

// Step is one action of an agent.
type Step struct {
	As          string         `yaml:"as"`
	Do          string         `yaml:"do"`
	With        map[string]any `yaml:"with"`
	Expect      any            `yaml:"expect"`
	ExpectError *ErrorFacts    `yaml:"expect_error"`
	Save        string         `yaml:"save"`
	Background  string         `yaml:"background"`
	Repeat      int            `yaml:"repeat"`
	Parallel    int            `yaml:"parallel"`
}

// ErrorFacts describe the expected failure.
type ErrorFacts struct {
	Class           string `yaml:"class"`
	Reason          string `yaml:"reason"`
	MessageContains string `yaml:"message_contains"`
	MessageID       string `yaml:"message_id"`
}

// has is what this SDK has of what a scenario may need.
var has = []string{"mailbox"}

// Lacks returns the first thing that the scenario needs and this SDK does not have, or "".
func (f *File) Lacks() string {
	for _, need := range f.Needs {
		if !slices.Contains(has, need) {
			return need
		}
	}
	return ""
}

// Files reads all scenarios of a folder, sorted by file name.
func Files(folder string) ([]*File, error) {
	paths, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil || len(paths) == 0 {
		return nil, fmt.Errorf("there are no scenarios in %s: %w", folder, err)
	}
	sort.Strings(paths)
	files := make([]*File, len(paths))
	for i, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		files[i] = &File{}
		if err := strictly(text, files[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
	}
	return files, nil
}

// strictly reads YAML and refuses fields that the value does not have.
func strictly(text []byte, into any) error {
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	return decoder.Decode(into)
}
