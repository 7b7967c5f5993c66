package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// harnessSettings is where a harness keeps its MCP servers.
type harnessSettings struct {
	// files are looked at in this order; those that begin with ~ are in the home, the others in the current folder.
	files []string
	// literal is true for a harness that replaces no variables in its settings, so that a key must not be one.
	literal bool
}

// harnesses are those whose settings doctor can find (docs/doors/mcp.md).
var harnesses = map[string]harnessSettings{
	"claude":   {files: []string{".mcp.json", "~/.claude.json"}},
	"codex":    {files: []string{".codex/config.toml", "~/.codex/config.toml"}, literal: true},
	"opencode": {files: []string{"opencode.json", "opencode.jsonc", "~/.config/opencode/opencode.json"}},
	"cursor":   {files: []string{".cursor/mcp.json", "~/.cursor/mcp.json"}},
	"gemini":   {files: []string{".gemini/settings.json", "~/.gemini/settings.json"}},
	"qwen":     {files: []string{".qwen/settings.json", "~/.qwen/settings.json"}},
	"copilot":  {files: []string{"~/.copilot/mcp-config.json"}},
	"cline":    {files: []string{"~/.cline/data/settings/cline_mcp_settings.json"}, literal: true},
	"kilo":     {files: []string{".kilocode/mcp.json", "kilo.jsonc", "~/.kilocode/cli/global/settings/mcp_settings.json"}},
}

// An entry names the program or the address of the door, whatever the form of the file.
var (
	startsProgram = regexp.MustCompile(`["'\s]openintent["',\s].*["'\s]mcp["',\s\]]|["']openintent["']\s*,\s*["']mcp["']|command\s*[=:"].*openintent`)
	namesAddress  = regexp.MustCompile(`https?://[^\s"']+/mcp\b`)
	variable      = regexp.MustCompile(`(?i)(api[-_]?key|authorization)[^\n]*(\$\{?\w+\}?|\{env:\w+\}|%\w+%)`)
)

// harness checks the entry in the settings of a harness.
func (e *examination) harness(name string) {
	settings, known := harnesses[name]
	if !known {
		e.wrong("harness", name+" is none whose settings this program can find", "choose one of those that `openintent doctor --help` lists")
		return
	}
	for _, file := range settings.files {
		text, err := os.ReadFile(inHome(file))
		if err == nil && e.entry(name, file, string(text), settings.literal) {
			return
		}
	}
	e.wrong("harness", fmt.Sprintf("%s has no entry for openintent in %s", name, strings.Join(settings.files, ", ")),
		"add the entry that docs/doors/mcp.md has for it")
}

// inHome puts the home in place of ~.
func inHome(file string) string {
	rest, inHome := strings.CutPrefix(file, "~/")
	if home, err := os.UserHomeDir(); inHome && err == nil {
		return filepath.Join(home, rest)
	}
	return file
}

// entry checks the text of a harness's settings. It returns false if they have no entry.
func (e *examination) entry(name, file, text string, literal bool) bool {
	addresses := namesAddress.FindAllString(text, -1)
	switch {
	case len(addresses) == 0 && !startsProgram.MatchString(text):
		return false
	case literal && variable.MatchString(text):
		e.wrong("harness", fmt.Sprintf("%s of %s has a variable in place of the key, and %s replaces none", file, name, name),
			"write the key itself, or name its variable as docs/doors/mcp.md shows")
	case len(addresses) > 0 && !slices.ContainsFunc(addresses, func(a string) bool { return strings.HasPrefix(a, strings.TrimSuffix(e.url, "/")+"/") }):
		e.wrong("harness", fmt.Sprintf("%s of %s leads to %s, and the server is at %s", file, name, strings.Join(addresses, ", "), e.url),
			"correct the address in the entry, or OPENINTENT_URL")
	default:
		e.fine("harness", "%s of %s has an entry", file, name)
	}
	return true
}
