package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	"openintent/server"
)

func TestMain(m *testing.M) { harness.Main(m) }

// clearEnvironment hides the settings of the surrounding shell; run treats an empty variable as unset.
func clearEnvironment(t *testing.T) {
	t.Helper()
	for _, name := range []string{
		"DATABASE_URL", "HTTP_ADDR", "GRPC_ADDR", "API_KEYS", "API_KEYS_FILE", "TLS_CERT", "TLS_KEY", "LOG_LEVEL",
		"LOG_FORMAT", "MAX_PAYLOAD_BYTES", "MAX_NAME_LENGTH", "MAX_MEMBERS", "RETENTION", "STOP_TIMEOUT",
		"ADMIN_ADDR", "SETTINGS_FILE", "SERVER", "API_KEY", "AGENT_ID", "TLS", "CA_FILE", "CONTEXT", "INTENT_ID", "PATIENCE", "CONNECT_TIMEOUT",
	} {
		t.Setenv("OPENINTENT_"+name, "")
	}
	t.Setenv(claudeSocket, "")
	t.Setenv(claudeToken, "")
	t.Setenv("OPENINTENT_CONFIG", filepath.Join(t.TempDir(), "openintent", "config.yaml"))
}

func TestFlagsDefaultToTheServersDefaults(t *testing.T) {
	clearEnvironment(t)
	dropEmptySettings()
	var parsed commands
	parser, err := kong.New(&parsed)
	require.NoError(t, err)
	_, err = parser.Parse([]string{"serve"})
	require.NoError(t, err)
	require.Equal(t, server.DefaultConfig(), parsed.Serve.Config)
}

func TestEnvironmentAndFlagsAreTheSameSettings(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OPENINTENT_HTTP_ADDR", "127.0.0.1:1")
	t.Setenv("OPENINTENT_API_KEYS", "a=x|y;sdk,b")
	t.Setenv("OPENINTENT_GRPC_ADDR", "127.0.0.1:2")
	dropEmptySettings()
	var parsed commands
	parser, err := kong.New(&parsed)
	require.NoError(t, err)
	_, err = parser.Parse([]string{"serve", "--grpc-addr", "127.0.0.1:3", "--retention=1h"})
	require.NoError(t, err)
	require.Equal(t, "127.0.0.1:1", parsed.Serve.HTTPAddr)
	require.Equal(t, "127.0.0.1:3", parsed.Serve.GRPCAddr, "a flag outranks the environment")
	require.Equal(t, "a=x|y;sdk,b", parsed.Serve.APIKeys)
	require.Equal(t, time.Hour, parsed.Serve.Retention)
}

func TestExitCodesAndOneLine(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct {
		name      string
		arguments []string
		exit      int
		stdout    string
		stderr    string
	}{
		{"version", []string{"version"}, exitOK, "openintent ", ""},
		{"version as a flag", []string{"--version"}, exitOK, "openintent ", ""},
		{"nothing", nil, exitOK, "Run the server", ""},
		{"help", []string{"--help"}, exitOK, "Run the server", ""},
		{"help as a verb", []string{"help"}, exitOK, "Run the server", ""},
		{"help of a verb", []string{"help", "channels", "create"}, exitOK, "Usage: openintent channels create <name>", ""},
		{"help of an unknown verb", []string{"help", "channels", "creat"}, exitUsage, "", `no command "channels creat", did you mean "create"?`},
		{"unknown verb", []string{"dance"}, exitUsage, "", "dance"},
		{"misspelt verb", []string{"chanels"}, exitUsage, "", `did you mean "channels"?`},
		{"misspelt verb below another", []string{"channels", "crate"}, exitUsage, "", `unexpected argument crate, did you mean "create"?`},
		{"no such verb below another", []string{"agents", "dance"}, exitUsage, "", "agents takes list, register, show, refuse, allow, refused"},
		{"too many arguments", []string{"channels", "show", "x", "show"}, exitUsage, "", "unexpected argument show\n"},
		{"unknown flag", []string{"serve", "--colour"}, exitUsage, "", "unknown flag --colour; openintent serve --help lists the flags"},
		{"a flag without its value", []string{"ask", "--timeout"}, exitUsage, "", "--timeout needs a value"},
		{"unknown command", []string{"bogus"}, exitUsage, "", "there is no command bogus; openintent --help lists the commands"},
		{"refusal to start", []string{"serve", "--http-addr=0.0.0.0:0"}, exitUsage, "", "no API keys are configured"},
		{"bad setting", []string{"serve", "--tls-cert=x.pem"}, exitUsage, "", "--tls-cert and OPENINTENT_TLS_KEY belong together"},
		{
			"bad database", []string{"serve", "--database-url=mysql://u:secret@h/d"}, exitFailed, "", "database",
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			var stdout, stderr bytes.Buffer
			require.Equal(t, test.exit, run(t.Context(), test.arguments, terminal{stdout: &stdout, stderr: &stderr}))
			require.Contains(t, stdout.String(), test.stdout)
			require.Contains(t, stderr.String(), test.stderr)
			require.NotContains(t, stderr.String(), "secret")
			if test.exit != exitOK {
				require.Equal(t, 1, strings.Count(stderr.String(), "\n"), "one line: %q", stderr.String())
				require.True(t, strings.HasPrefix(stderr.String(), "openintent: "))
			}
		})
	}
}

func TestServeStopsWithExitCodeZero(t *testing.T) {
	clearEnvironment(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var stdout bytes.Buffer
	log, logged := io.Pipe()
	stopped := make(chan int, 1)
	go func() {
		stopped <- run(ctx, []string{
			"serve", "--http-addr=127.0.0.1:0", "--grpc-addr=127.0.0.1:0",
			"--database-url=sqlite:" + filepath.Join(t.TempDir(), "data.db"),
		}, terminal{stdout: &stdout, stderr: logged})
		_ = logged.Close()
	}()
	listening := false
	for lines := bufio.NewScanner(log); lines.Scan(); {
		if strings.Contains(lines.Text(), `"msg":"listening"`) {
			listening = true
			cancel()
		}
	}
	require.Equal(t, exitOK, <-stopped)
	require.True(t, listening)
	require.Empty(t, stdout.String(), "nothing but the log when standard output is no terminal")
}

func TestTryItNamesTheAddressAndTheKey(t *testing.T) {
	text := tryIt(server.DefaultConfig(), server.Addresses{HTTP: "127.0.0.1:8000"})
	require.Contains(t, text, "http://127.0.0.1:8000/v1/intents")
	require.Contains(t, text, server.DevelopmentKey)
	require.Contains(t, tryIt(server.Config{TLSCert: "c"}, server.Addresses{HTTP: "h:1"}), "https://h:1/v1/intents")
}

func TestTheProgramIsCalledAsItIsInstalled(t *testing.T) {
	for path, want := range map[string]string{
		"openintent": "openintent", "/usr/bin/openintent": "openintent", "openintent.test": "openintent", "": "openintent",
		"openintentd": "openintentd", "/environment/bin/openintentd": "openintentd", "openintentd.exe": "openintentd",
	} {
		require.Equal(t, want, calledAs(path), path)
	}
}
