//go:build clients

package clients

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// said is what each program prints.
const said = "bob response Does it work? Yes.\n404 CHANNEL_NOT_FOUND\n"

func TestGeneratedClientsAskAndAnswer(t *testing.T) {
	made, err := filepath.Abs("../../.cache/clients")
	require.NoError(t, err)
	for language, command := range map[string][]string{
		"typescript": {"../../../scripts/node.sh", "--oldest", "22", "node", "--experimental-strip-types", "ask.mts"},
		"python":     {"../../clients-python/bin/python", "ask.py"},
		"java":       {"java", "-cp", "target/classes:target/libraries/*", "Ask"},
	} {
		t.Run(language, func(t *testing.T) {
			harness.Each(t, func(t *testing.T, h *harness.Server) {
				program := exec.CommandContext(t.Context(), command[0], command[1:]...)
				program.Dir = filepath.Join(made, language)
				program.Env = append(os.Environ(), "OPENINTENT_URL="+h.BaseURL(), "OPENINTENT_API_KEY="+harness.Key)
				var complaint bytes.Buffer
				program.Stderr = &complaint
				output, err := program.Output()
				require.NoError(t, err, "%s", complaint.String())
				require.Equal(t, said, string(output))
			})
		})
	}
}
