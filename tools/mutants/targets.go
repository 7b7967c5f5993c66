package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// target is a package that is mutated, and of which files; none means all of them.
type target struct {
	directory string
	files     []string
}

// targets are the packages of which all rules, or the rules in some files, are pure: facts come in, a decision goes out.
var targets = []target{
	{directory: "internal/caller"},
	{directory: "internal/jsonvalue", files: []string{"canonical.go"}},
	{directory: "internal/loop"},
	{directory: "internal/webhooks", files: []string{"backoff.go", "circuit.go"}},
	{directory: "keys", files: []string{"create.go", "invite.go", "key.go", "makers.go", "secret.go"}},
	{directory: "messaging/attention"},
	{directory: "messaging/claim"},
	{directory: "messaging/loopbrake"},
	{directory: "messaging/message"},
	{directory: "messaging/obligation", files: []string{"escalation.go", "obligation.go"}},
	{directory: "messaging/writing", files: []string{"idempotency.go", "loop_brake_kept.go", "loop_brake_told.go"}},
	{directory: "subscriptions/waiting"},
}

// chosen returns the targets with these directories; all for none. A directory that is no target is mutated as a whole.
func chosen(directories []string) []target {
	if len(directories) == 0 {
		return targets
	}
	var some []target
	for _, directory := range directories {
		directory = filepath.ToSlash(filepath.Clean(directory))
		at := slices.IndexFunc(targets, func(t target) bool { return t.directory == directory })
		if at < 0 {
			some = append(some, target{directory: directory})
			continue
		}
		some = append(some, targets[at])
	}
	return some
}

// others returns regular expressions for the files under the target's directory that are not mutated: gremlins takes a directory with
// all that is below, and knows files to leave out.
func (t target) others(root string) (patterns []string, err error) {
	top := filepath.Join(root, t.directory)
	for _, file := range t.files {
		if _, err := os.Stat(filepath.Join(top, file)); err != nil {
			return nil, fmt.Errorf("%s of the targets: %w", t.directory, err)
		}
	}
	patterns = []string{"/"} // what is in directories below
	files, err := filepath.Glob(filepath.Join(top, "*.go"))
	if err != nil {
		return nil, err
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("%s has no Go files", t.directory)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if len(t.files) > 0 && !slices.Contains(t.files, name) && !strings.HasSuffix(name, "_test.go") {
			patterns = append(patterns, "^"+regexp.QuoteMeta(name)+"$")
		}
	}
	return patterns, nil
}
