package harnesses

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/BurntSushi/toml"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The page has what the harnesses are connected and woken by.
func TestThePageHasEntriesAndCommands(t *testing.T) {
	for section, ways := range map[string][]string{
		"Codex": {overHTTP, onStdio}, "OpenCode": {overHTTP, onStdio}, "Gemini CLI and Qwen Code": {overHTTP, onStdio},
		"Copilot CLI": {overHTTP, onStdio},
	} {
		for _, way := range ways {
			entry := Entry(t, section, way)
			var parsed object
			if json.Unmarshal([]byte(entry), &parsed) != nil {
				require.NoError(t, toml.Unmarshal([]byte(entry), &parsed), "%s %s", section, way)
			}
			assert.Len(t, parsed, 1, "%s %s", section, way)
		}
	}
	for _, harness := range []string{"Codex", "OpenCode", "Gemini CLI", "Qwen Code", "Copilot CLI"} {
		assert.Contains(t, Wake(t, harness), promptInbox)
	}
}

// package.json names exact versions, and the lock file has the same ones.
func TestTheVersionsArePinned(t *testing.T) {
	var manifest struct{ DevDependencies map[string]string }
	var lock struct {
		Packages map[string]struct{ Version, Integrity string }
	}
	for name, into := range map[string]any{"package.json": &manifest, "package-lock.json": &lock} {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		require.NoError(t, json.Unmarshal(text, into))
	}
	assert.Len(t, manifest.DevDependencies, 5)
	for name, version := range manifest.DevDependencies {
		locked := lock.Packages["node_modules/"+name]
		assert.Equal(t, version, locked.Version, name)
		assert.NotEmpty(t, locked.Integrity, name)
	}
}
