package main

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/stretchr/testify/require"

	"openintent/e2e/harness"
	openintent "openintent/sdk/go"
	"openintent/server"
)

// settled returns the settings of a server with this settings file, these variables and these flags.
func settled(t *testing.T, text string, flags ...string) server.Config {
	t.Helper()
	clearEnvironment(t)
	t.Setenv("OPENINTENT_SETTINGS_FILE", file(t, text))
	return parsedSettings(t, flags...)
}

func parsedSettings(t *testing.T, flags ...string) server.Config {
	t.Helper()
	dropEmptySettings()
	var parsed commands
	parser, err := kong.New(&parsed)
	require.NoError(t, err)
	_, err = parser.Parse(append([]string{"serve"}, flags...))
	require.NoError(t, err)
	return parsed.Serve.Config
}

func TestAFlagPrecedesAVariableAndThatTheSettingsFile(t *testing.T) {
	path := file(t, `# what this server is
http-addr: "127.0.0.1:1"
grpc-addr: 127.0.0.1:2
log-level: warn
retention: 2h
max-members: 7
quota-bytes-per-second: 5_000_000
search: false
notifications: true
tls-cert: ~
repomesh-intent: ""
`)
	clearEnvironment(t)
	t.Setenv("OPENINTENT_HTTP_ADDR", "127.0.0.1:3")
	t.Setenv("OPENINTENT_LOG_LEVEL", "error")
	want := server.DefaultConfig()
	want.SettingsFile, want.HTTPAddr, want.GRPCAddr, want.LogLevel = path, "127.0.0.1:3", "127.0.0.1:2", "debug"
	want.Retention, want.MaxMembers, want.QuotaBytes, want.Search = 2*time.Hour, 7, 5_000_000, false
	for _, name := range []string{"--settings-file", "--config"} {
		require.Equal(t, want, parsedSettings(t, name, path, "--log-level=debug"))
	}
	t.Setenv("OPENINTENT_SETTINGS_FILE", path)
	require.Equal(t, want, parsedSettings(t, "--log-level=debug"))
	want.Search = true
	require.Equal(t, want, parsedSettings(t, "--log-level=debug", "--search"))
}

func TestASettingsFileMayBeEmpty(t *testing.T) {
	for _, text := range []string{"", "\n", "# nothing\n", "---\n", "{}", "null"} {
		read := settled(t, text)
		read.SettingsFile = ""
		require.Equal(t, server.DefaultConfig(), read, "%q", text)
	}
}

// A refusal says where and what, and never shows a value, which may be a key.
func TestASettingsFileThatCannotBeMeantIsRefused(t *testing.T) {
	for _, test := range []struct{ text, says string }{
		{"log-level: info\nhttp-adr: secret", `line 2: there is no setting of this name, did you mean "http-addr"?`},
		{"help: true", "line 1: there is no setting of this name"},
		{"settings-file: secret", "line 1: there is no setting of this name"},
		{"OPENINTENT_HTTP_ADDR: secret", "line 1: there is no setting of this name"},
		{"{[secret]: 1}", "line 1: there is no setting of this name"},
		{"log-level: info\nlog-level: secret", "line 2: log-level is set twice; keep one of the two"},
		{"api-keys: [secret]", "line 1: api-keys must be text; put what looks like a number into quotes"},
		{"api-keys: {secret: true}", "line 1: api-keys must be text"},
		{"api-keys: 123456", "line 1: api-keys must be text"},
		{"doors: true", "line 1: doors must be text"},
		{"search: secret", "line 1: search must be true or false"},
		{"search: 1", "line 1: search must be true or false"},
		{"max-members: secret", "line 1: max-members must be a whole number"},
		{"max-members: 1.5", "line 1: max-members must be a whole number"},
		{"max-members: 99999999999999999999", "line 1: max-members must be a whole number"},
		{"retention: secret", "line 1: retention must be a duration, such as 30 (seconds), 500ms or 24h"},
		{"retention: true", "line 1: retention must be a duration"},
		{"- secret", "line 1: it must be a mapping of settings, such as http-addr: 127.0.0.1:8000"},
		{"secret", "line 1: it must be a mapping"},
		{"a: 'secret", "is not YAML"},
		{"a: b: secret", "is not YAML"},
		{"search: true\n---\nsearch: secret", "holds several YAML documents"},
		{"retention: 0s", "retention of the settings file must be above 0"},
		{"tls-key: k.pem", "OPENINTENT_TLS_CERT and tls-key of the settings file belong together"},
		{"log-level: loud", "log-level of the settings file must be one of"},
		{"http-addr: nowhere", "http-addr of the settings file must be host:port"},
	} {
		clearEnvironment(t)
		did := at(t, "", "serve", "--settings-file", file(t, test.text))
		require.Equal(t, exitUsage, did.exit, "%s: %s", test.text, did.stderr)
		require.Contains(t, did.stderr, test.says)
		require.NotContains(t, did.stderr, "secret")
	}
	did := at(t, "", "serve", "--settings-file", filepath.Join(t.TempDir(), "none.yaml"))
	require.Equal(t, exitUsage, did.exit)
	require.Contains(t, did.stderr, "the settings file cannot be read")
	did = at(t, "", "serve", "--settings-file", file(t, "# "+string(make([]byte, maxSettingsBytes))))
	require.Contains(t, did.stderr, "bytes, so it is none")
}

func TestWhichSettingsFilesHoldASecret(t *testing.T) {
	for text, secret := range map[string]bool{
		"log-level: info":                          false,
		"api-keys: mine":                           true,
		"oidc-client-secret: mine":                 true,
		"oidc-client-id: mine":                     false,
		"api-keys-file: keys.yaml":                 false,
		"database-url: sqlite:a.db":                false,
		"database-url: postgres://u@h/d":           false,
		"database-url: postgres://u:p@h/d":         true,
		"database-url: postgres://h/d?password=p":  true,
		"database-url: 'postgres://u@h/%zz'":       true,
		"database-url: 'host=h user=u password=p'": true,
	} {
		require.Equal(t, secret, settled(t, text).SettingsSecret, text)
	}
}

// The program warns, as for the key file, if others can read keys in the settings file.
func TestAServerWithASettingsFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.yaml")
	require.NoError(t, os.WriteFile(path, []byte("admin-addr: 127.0.0.1:0\ndatabase-url: 'sqlite::memory:?password=p'\n"), 0o644))
	h := harness.StartProcess(t, harness.Options{Flags: []string{"--settings-file", path}})
	require.Contains(t, h.Log(), "other users may read the settings file; prevent that with: chmod 600 "+path)
	require.NotContains(t, h.Log(), `"admin":""`)
}

// The settings file that docs/settings.md shows is one.
func TestTheDocumentsSettingsFileIsOne(t *testing.T) {
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "settings.md"))
	require.NoError(t, err)
	_, shown, found := strings.Cut(string(page), "```yaml\n")
	require.True(t, found)
	shown, _, _ = strings.Cut(shown, "```")
	read := settled(t, shown)
	require.Equal(t, "closed", read.DefaultAccess)
	require.False(t, read.Search)
}

// Every setting of the program is a name of its own: none counts as a misspelt one of a client.
func TestNoSettingOfTheProgramLooksMisspelt(t *testing.T) {
	var parsed commands
	parser, err := kong.New(&parsed, kong.Vars{"version": ""})
	require.NoError(t, err)
	var environment []string
	for _, name := range variablesOf(parser.Model.Node) {
		environment = append(environment, name+"=x")
	}
	require.Greater(t, len(environment), 50)
	require.Empty(t, openintent.MisspeltVariables(environment))
	require.NotEmpty(t, openintent.MisspeltVariables([]string{"OPENINTENT_APIKEY=x"}))
	parsing, err := parser.Parse([]string{"serve"})
	require.NoError(t, err)
	require.Empty(t, uselessVariables(environment, parsing, true))
}

// A misspelt setting must not leave a server open, or with the development key, without a word.
func TestTheServerSaysWhichVariablesHaveNoEffect(t *testing.T) {
	var parsed commands
	parser, err := kong.New(&parsed, kong.Vars{"version": ""})
	require.NoError(t, err)
	parsing, err := parser.Parse([]string{"serve"})
	require.NoError(t, err)
	for name, meant := range map[string]string{
		"OPENINTENT_DEFAULT_ACCES": "OPENINTENT_DEFAULT_ACCESS", "OPENINTENT_APIKEYS": "OPENINTENT_API_KEYS",
		"OPENINTENT_HTTP_ADR": "OPENINTENT_HTTP_ADDR", "OPENINTENT_DATABASE": "OPENINTENT_DATABASE_URL",
	} {
		require.Equal(t, []string{name + " is no setting and has no effect; did you mean " + meant + "?"},
			uselessVariables([]string{"HOME=/", name + "=x"}, parsing, false))
		require.Empty(t, uselessVariables([]string{name + "="}, parsing, false), "an empty one is as good as none")
	}
	require.Equal(t, []string{"OPENINTENT_API_KEY is the key of clients and gives the server none; the server's keys are those of OPENINTENT_API_KEYS"},
		uselessVariables([]string{"OPENINTENT_API_KEY=x"}, parsing, false))
	require.Empty(t, uselessVariables([]string{"OPENINTENT_API_KEY=x"}, parsing, true))
	for _, others := range []string{
		"OPENINTENT_SERVICE_HOST", "OPENINTENT_SERVICE_PORT", "OPENINTENT_SERVICE_PORT_GRPC", "OPENINTENT_PORT", "OPENINTENT_PORT_8000_TCP_ADDR",
		"OPENINTENT_OF_SOMEBODY_ELSE", "OPENINTENT_TLS", "OPENINTENT_CONFIG", "OPENINTENT_AGENT_ID",
	} {
		require.Empty(t, uselessVariables([]string{others + "=x"}, parsing, false))
	}
}

// deploy/settings.yaml lists every setting of the server with its default, so that one can begin with it.
func TestTheExampleOfASettingsFileHasEverySetting(t *testing.T) {
	var parsed serveCommand
	parser, err := kong.New(&parsed)
	require.NoError(t, err)
	path := filepath.Join("..", "..", "deploy", "settings.yaml")
	want := exampleSettings(parser.Model.Flags)
	if os.Getenv("OPENINTENT_TEST_UPDATE") != "" {
		require.NoError(t, os.WriteFile(path, []byte(want), 0o644))
	}
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, want, string(text), "write it anew with: OPENINTENT_TEST_UPDATE=1 go test ./cmd/openintent -run %s", t.Name())
	read := settled(t, uncommented(string(text)))
	read.SettingsFile = ""
	require.True(t, reflect.DeepEqual(server.DefaultConfig(), read), "the values are the defaults")
}
