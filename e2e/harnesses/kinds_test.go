//go:build harnesses

package harnesses

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// kind is what one maker's harness needs beside its entry of the page: how it is told which model to use, and how it is run.
type kind struct {
	name    string // as the page's tables have it
	version string // its package on npm
	section string // of the page
	file    string // where the entry belongs, in the home
	// settled adds to the entry what chooses the model.
	settled func(t *testing.T, entry, model string) string
	// trust says in a file of the home that the user trusts a folder, if the harness asks for that.
	trust func(folder string) (file, text string)
	// environment has what chooses the model, in variables.
	environment func(model string) []string
	// run is the command for one prompt, without a person at the terminal.
	run func(prompt string) []string
	// list is the command that the page names for the case that no tools appear.
	list []string
	// forgets is the way in which a run has no tools any more once the server was away.
	forgets string
}

var kinds = []kind{
	{
		name: "Codex", version: "@openai/codex", section: "Codex", file: ".codex/config.toml",
		settled: func(_ *testing.T, entry, model string) string {
			return "model = \"scripted\"\nmodel_provider = \"scripted\"\n\n" + entry +
				"\n[model_providers.scripted]\nname = \"scripted\"\nbase_url = \"" + model + "/v1\"\nwire_api = \"responses\"\n"
		},
		environment: func(string) []string { return nil },
		run:         func(prompt string) []string { return []string{"codex", "exec", prompt} },
		list:        []string{"codex", "mcp", "list"},
	},
	{
		name: "OpenCode", version: "opencode-ai", section: "OpenCode", file: ".config/opencode/opencode.json",
		settled: func(t *testing.T, entry, model string) string {
			return merged(t, entry, object{
				"model": "scripted/scripted",
				"provider": object{"scripted": object{
					"npm": "@ai-sdk/openai-compatible", "name": "scripted", "models": object{"scripted": object{"name": "scripted"}},
					"options": object{"baseURL": model + "/v1", "apiKey": "none"},
				}},
			})
		},
		environment: func(string) []string { return nil },
		run:         func(prompt string) []string { return []string{"opencode", "run", prompt} },
		list:        []string{"opencode", "mcp", "list"},
	},
	{
		name: "Gemini CLI", version: "@google/gemini-cli", section: "Gemini CLI and Qwen Code",
		file: ".gemini/settings.json",
		settled: func(t *testing.T, entry, _ string) string {
			return merged(t, entry, object{"security": object{"auth": object{"selectedType": "gemini-api-key"}}})
		},
		trust: func(folder string) (file, text string) {
			return ".gemini/trustedFolders.json", encode(object{folder: "TRUST_FOLDER"})
		},
		environment: func(model string) []string {
			return []string{"GEMINI_API_KEY=none", "GOOGLE_GEMINI_BASE_URL=" + model, "GEMINI_MODEL=gemini-2.5-pro"}
		},
		run:  func(prompt string) []string { return []string{"gemini", "--prompt", prompt} },
		list: []string{"gemini", "mcp", "list"},
	},
	{
		name: "Qwen Code", version: "@qwen-code/qwen-code", section: "Gemini CLI and Qwen Code",
		file:    ".qwen/settings.json",
		settled: func(_ *testing.T, entry, _ string) string { return entry },
		environment: func(model string) []string {
			return []string{"OPENAI_API_KEY=none", "OPENAI_BASE_URL=" + model + "/v1", "OPENAI_MODEL=scripted"}
		},
		run:  func(prompt string) []string { return []string{"qwen", "--auth-type", "openai", "--prompt", prompt} },
		list: []string{"qwen", "mcp", "list"}, forgets: overHTTP,
	},
	{
		name: "Copilot CLI", version: "@github/copilot", section: "Copilot CLI",
		file:    ".copilot/mcp-config.json",
		settled: func(_ *testing.T, entry, _ string) string { return entry },
		environment: func(model string) []string {
			return []string{
				"COPILOT_PROVIDER_BASE_URL=" + model + "/v1", "COPILOT_PROVIDER_TYPE=openai", "COPILOT_PROVIDER_API_KEY=none",
				"COPILOT_MODEL=scripted", "COPILOT_OFFLINE=true",
			}
		},
		run: func(prompt string) []string {
			return []string{"copilot", "--allow-tool", "openintent", "--prompt", prompt}
		},
		list: []string{"copilot", "mcp", "list"},
	},
}

// merged adds members to an object of JSON.
func merged(t *testing.T, text string, more object) string {
	t.Helper()
	var all object
	require.NoError(t, json.Unmarshal([]byte(text), &all), text)
	for name, member := range more {
		all[name] = member
	}
	return encode(all)
}

// installedVersion returns the version of the harness's package.
func (k kind) installedVersion(t *testing.T) string {
	t.Helper()
	var manifest struct{ Version string }
	readJSON(t, filepath.Join(installed(t), "node_modules", filepath.FromSlash(k.version), "package.json"), &manifest)
	return strings.TrimSpace(manifest.Version)
}
