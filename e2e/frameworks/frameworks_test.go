//go:build frameworks

package frameworks

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
)

func TestMain(m *testing.M) { harness.Main(m) }

// root is the path of the repository from this package.
const root = "../.."

// quiet keeps frameworks from reporting to their makers. Whatever still calls somebody outside finds nobody.
var quiet = []string{
	"CREWAI_DISABLE_TELEMETRY=true", "CREWAI_TRACING_ENABLED=false", "OTEL_SDK_DISABLED=true", "OPENAI_AGENTS_DISABLE_TRACING=1",
	"LANGSMITH_TRACING=false", "DO_NOT_TRACK=1", "HTTP_PROXY=http://127.0.0.1:9", "HTTPS_PROXY=http://127.0.0.1:9",
	"http_proxy=http://127.0.0.1:9", "https_proxy=http://127.0.0.1:9", "NO_PROXY=127.0.0.1,localhost", "no_proxy=127.0.0.1,localhost",
}

func TestFrameworks(t *testing.T) {
	programs, err := filepath.Glob(filepath.Join(root, "sdk/*/frameworks/run"))
	require.NoError(t, err)
	require.NotEmpty(t, programs)
	for _, found := range programs {
		program, err := filepath.Rel(root, found)
		require.NoError(t, err)
		language := filepath.Base(filepath.Dir(filepath.Dir(program)))
		names := strings.Fields(said(t, []string{program}))
		require.NotEmpty(t, names, "%s names no framework", program)
		for _, name := range names {
			t.Run(language+"/"+name, func(t *testing.T) {
				said(t, []string{program, "prepare", name}) // a model calls nobody, but its packages come from elsewhere
				harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
					t.Log(said(t, []string{program, name}, append([]string{"OPENINTENT_API_KEY=" + harness.Key, "OPENINTENT_SERVER=" + h.GRPCAddress(),
						"OPENINTENT_HTTP=" + h.BaseURL()}, quiet...)...))
				})
			})
		}
	}
}

// said runs a command with further environment, and returns what it says.
func said(t *testing.T, command []string, environment ...string) string {
	t.Helper()
	running := harness.Command(root, command[0], command[1:]...)
	running.Env = append(os.Environ(), environment...)
	running.Stderr = os.Stderr
	output, err := running.Output()
	require.NoError(t, err, "%s:\n%s", command, output)
	return string(output)
}
