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
	for _, program := range programs {
		program, err = filepath.Rel(root, program)
		require.NoError(t, err)
		listing := harness.Command(root, program)
		listing.Stderr = os.Stderr
		names, err := listing.Output()
		require.NoError(t, err)
		require.NotEmpty(t, strings.Fields(string(names)), "%s names no frameworks", program)
		for _, name := range strings.Fields(string(names)) {
			t.Run(filepath.Base(filepath.Dir(filepath.Dir(program)))+"/"+name, func(t *testing.T) {
				harness.EachProcess(t, func(t *testing.T, h *harness.Server) {
					testing := harness.Command(root, program, name)
					testing.Env = append(append(os.Environ(), quiet...), "OPENINTENT_SERVER="+h.GRPCAddress(), "OPENINTENT_HTTP="+h.BaseURL(),
						"OPENINTENT_API_KEY="+harness.Key)
					output, err := testing.CombinedOutput()
					require.NoError(t, err, "%s", output)
					t.Logf("%s", output)
				})
			})
		}
	}
}
