package python

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

// The YAML of an agent channel's page says what its JSON says, to Python's reader of YAML 1.1 too.
func TestTheYAMLOfAChannelIsReadAsItsJSON(t *testing.T) {
	odd := []string{
		"yes", "No", "on", "off", "y", "n", "~", "null", "True", "1_000", "0o7", "017", "0x1f", "1:30", "1e3", ".5", ".inf", "2024-01-01", "=", "<<",
		"- a", "? a", ": a", "a: b", "a #b", "&a", "*a", "!!str", "%x", "@", "`", "|", ">", "{", "]", "---", "...", "", " ", "\t", "\n", "'", "\"", "\\",
		"\x01", "\x7f", "\u0080", "\u0085", "\u009f", "\u00a0", "\u2028", "\u2029", "\ufeff", "\ufffe", "\uffff", "\ue000", "😀", "\U0001fffe",
		strings.Repeat("k", 1025), strings.Repeat("\u0085", 1025),
	}
	payload := map[string]any{"numbers": []any{0, -1, 1.5, json.RawMessage("1e16"), 1e21, -1e-7, 9007199254740991, true, false, nil, []any{}, map[string]any{}}, "texts": odd}
	for _, key := range odd {
		payload[key] = map[string]any{key: []any{key, map[string]any{key: key}}}
	}
	deep := any(odd)
	for range 40 {
		deep = []any{deep, payload["numbers"]}
	}
	payload["deep"] = deep
	body, err := json.Marshal(map[string]any{"kind": "comms", "payload": payload})
	require.NoError(t, err)
	ann := harness.Start(t, harness.Options{}).As("ann")
	var made struct{ ID string }
	ann.REST(t, "POST", "/agent-channel", `{"title": "Odd"}`).Decode(t, &made)
	posted := ann.REST(t, "POST", "/agent-channel/"+made.ID+"/event", string(body))
	require.Equal(t, 201, posted.Status, "%.300s", posted.Body)
	folder := t.TempDir()
	for _, form := range []string{"json", "yaml"} {
		page := ann.REST(t, "GET", "/agent-channel/"+made.ID+"?format="+form, "")
		require.Equal(t, 200, page.Status)
		require.NoError(t, os.WriteFile(filepath.Join(folder, form), page.Body, 0o600))
	}
	require.Empty(t, run(t, "yaml_forms.py", filepath.Join(folder, "json"), filepath.Join(folder, "yaml")))
}
