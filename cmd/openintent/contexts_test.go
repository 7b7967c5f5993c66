package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/server"
)

// at runs a command without a server and returns its outcome.
func at(t *testing.T, stdin string, arguments ...string) outcome {
	t.Helper()
	var stdout, stderr bytes.Buffer
	exit := run(t.Context(), arguments, terminal{stdin: strings.NewReader(stdin), stdout: &stdout, stderr: &stderr})
	return outcome{exit, stdout.String(), stderr.String()}
}

func TestWhereSettingsComeFrom(t *testing.T) {
	clearEnvironment(t)
	dropEmptySettings()
	t.Setenv("OPENINTENT_CONFIG", file(t, `
current: here
contexts:
  here: {server: "here:1", api_key: here-key, agent: here-agent}
  there: {server: "https://there:1", api_key: there-key, ca_file: /there.pem}
  plain: {api_key: plain-key}
`))
	for _, test := range []struct {
		name        string
		flags       connection
		environment map[string]string
		want        target
	}{
		{"the current context", connection{}, nil, target{"here:1", "here-key", "here-agent", false, ""}},
		{
			"the environment precedes it", connection{},
			map[string]string{"API_KEY": "e-key", "AGENT_ID": "e-agent"}, target{"here:1", "e-key", "e-agent", false, ""},
		},
		{
			"a flag precedes the environment", connection{APIKey: "f-key", Agent: "f-agent"},
			map[string]string{"API_KEY": "e-key", "AGENT_ID": "e-agent"}, target{"here:1", "f-key", "f-agent", false, ""},
		},
		{
			"a context of the environment", connection{},
			map[string]string{"CONTEXT": "there"}, target{"there:1", "there-key", "", true, "/there.pem"},
		},
		{
			"the environment precedes the context that it names", connection{},
			map[string]string{"CONTEXT": "there", "API_KEY": "e-key"}, target{"there:1", "e-key", "", true, "/there.pem"},
		},
		{
			"a named context precedes the environment", connection{Context: "there"},
			map[string]string{"CONTEXT": "here", "SERVER": "e:1", "API_KEY": "e-key", "AGENT_ID": "e-agent"},
			target{"there:1", "there-key", "e-agent", true, "/there.pem"},
		},
		{
			"a flag precedes a named context", connection{Context: "here", APIKey: "f-key"}, nil,
			target{"here:1", "f-key", "here-agent", false, ""},
		},
		{
			"a context's key goes to no other server", connection{Server: "elsewhere:1"}, nil,
			target{"elsewhere:1", "", "", false, ""},
		},
		{
			"nor to a server from the environment", connection{},
			map[string]string{"SERVER": "elsewhere:1", "CONTEXT": "there"}, target{"elsewhere:1", "", "", false, ""},
		},
		{
			"nor when the context is named", connection{Server: "elsewhere:1", Context: "there"}, nil,
			target{"elsewhere:1", "", "", false, ""},
		},
		{"a context without a server", connection{Context: "plain"}, nil, target{defaultServer, "plain-key", "", false, ""}},
		{
			"this machine takes the development key", connection{Server: "localhost:9"}, nil,
			target{"localhost:9", server.DevelopmentKey, "", false, ""},
		},
		{"also as an IP address", connection{Server: "[::1]:9"}, nil, target{"[::1]:9", server.DevelopmentKey, "", false, ""}},
		{
			"TLS by flag", connection{Server: "a:1", TLS: true}, nil, target{"a:1", "", "", true, ""},
		},
		{
			"TLS by the environment", connection{Server: "http://a:1/"},
			map[string]string{"TLS": "1"}, target{"a:1", "", "", true, ""},
		},
		{
			"TLS by its certificates", connection{Server: "a:1"},
			map[string]string{"CA_FILE": "/e.pem"}, target{"a:1", "", "", true, "/e.pem"},
		},
	} {
		t.Run(test.name, func(t *testing.T) {
			for name, value := range test.environment {
				t.Setenv("OPENINTENT_"+name, value)
			}
			resolved, err := test.flags.resolve(terminal{stderr: new(bytes.Buffer)})
			require.NoError(t, err)
			require.Equal(t, test.want, resolved)
		})
	}
}

func TestWithoutAnySettings(t *testing.T) {
	clearEnvironment(t)
	dropEmptySettings()
	resolved, err := connection{}.resolve(terminal{})
	require.NoError(t, err)
	require.Equal(t, target{defaultServer, server.DevelopmentKey, "", false, ""}, resolved)
}

func TestSettingsThatMakeNoSense(t *testing.T) {
	clearEnvironment(t)
	for _, test := range []struct {
		environment string
		arguments   []string
		says        string
	}{
		{"", []string{"--server", "nowhere"}, "host:port"},
		{"", []string{"--server", "ftp://a:1"}, "host:port"},
		{"", []string{"--server", "https://user@a:1/path"}, "host:port"},
		{"", []string{"--agent", "al\u00efce"}, "printable ASCII"},
		{"", []string{"--context", "none"}, `no context "none", and no other one either`},
		{"", []string{"--ca-file", "/does/not/exist.pem"}, "(--ca-file) must name a file with certificates, and it cannot be read"},
		{"", []string{"--ca-file", os.Args[0]}, "(--ca-file) must name a file with certificates in PEM form"},
		{"maybe", nil, "OPENINTENT_TLS must be 1 or 0"},
	} {
		t.Setenv("OPENINTENT_TLS", test.environment)
		did := at(t, "", append([]string{"intents"}, test.arguments...)...)
		require.Equal(t, exitUsage, did.exit, did.stderr)
		require.Contains(t, did.stderr, test.says)
	}
}

func TestContextsAreKept(t *testing.T) {
	clearEnvironment(t)
	require.Equal(t, outcome{}, at(t, "", "context", "set", "local", "--agent", "alice"))
	require.Equal(t, outcome{}, at(t, "a-key\n", "context", "set", "prod", "--server", "https://a:1", "--api-key", "-"))
	require.Equal(t, `CURRENT  NAME   SERVER           AGENT  KEY  TLS
*        local  127.0.0.1:50051  alice
         prod   https://a:1             *    *
`, at(t, "", "context").stdout, "the first is current; keys are not shown")
	require.Equal(t, outcome{}, at(t, "", "context", "use", "prod"))
	require.Equal(t, outcome{}, at(t, "", "context", "set", "prod", "--agent", "bob"))
	text, err := os.ReadFile(os.Getenv("OPENINTENT_CONFIG"))
	require.NoError(t, err)
	require.Equal(t, `current: prod
contexts:
  local:
    server: 127.0.0.1:50051
    agent: alice
  prod:
    server: https://a:1
    api_key: a-key
    agent: bob
`, string(text), "settings that are not given stay")
	about, err := os.Stat(os.Getenv("OPENINTENT_CONFIG"))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), about.Mode().Perm())
	require.Equal(t, outcome{stderr: "no context is current now\n"}, at(t, "", "context", "delete", "prod"))
	require.Equal(t, outcome{}, at(t, "", "context", "set", "local", "--agent", ""))
	require.NotContains(t, at(t, "", "context").stdout, "alice", "a setting that is given as nothing is taken away")
	require.Equal(t, outcome{}, at(t, "", "context", "set", "secure", "--server", "a:1", "--tls", "--use"))
	require.Regexp(t, `(?m)^\* +secure +a:1 +\*$`, at(t, "", "context").stdout)

	for _, arguments := range [][]string{
		{"use", "none"}, {"delete", "none"}, {"set", "a\x1bb"}, {"set", " "}, {"set", "x", "--server", "nowhere"},
		{"set", "x", "--api-key", "-"},
	} {
		require.Equal(t, exitUsage, at(t, "", append([]string{"context"}, arguments...)...).exit, arguments)
	}
}

func TestKeysThatOthersMayRead(t *testing.T) {
	clearEnvironment(t)
	path := file(t, "contexts: {a: {server: 'h:1', api_key: k}}")
	t.Setenv("OPENINTENT_CONFIG", path)
	require.Empty(t, at(t, "", "context").stderr)
	require.NoError(t, os.Chmod(path, 0o640))
	require.Contains(t, at(t, "", "context").stderr, "other users may read the keys in "+path)
	require.NoError(t, os.WriteFile(path, []byte("contexts: {a: {server: 'h:1'}}"), 0o600))
	require.Empty(t, at(t, "", "context").stderr, "without keys there is nothing to hide")
}

func TestAConfigurationThatIsNone(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OPENINTENT_CONFIG", file(t, "contexts: {a: {serve: 'h:1'}}"))
	did := at(t, "", "context")
	require.Equal(t, exitFailed, did.exit)
	require.Contains(t, did.stderr, "serve")
	require.Equal(t, 1, strings.Count(did.stderr, "\n"))
}

func TestWhereTheConfigurationIs(t *testing.T) {
	clearEnvironment(t)
	t.Setenv("OPENINTENT_CONFIG", "")
	t.Setenv("XDG_CONFIG_HOME", "/x")
	require.Equal(t, "/x/openintent/config.yaml", configurationPath())
	t.Setenv("XDG_CONFIG_HOME", "")
	t.Setenv("HOME", "/home/alice")
	require.Equal(t, "config.yaml", filepath.Base(configurationPath()))
	require.True(t, strings.HasPrefix(configurationPath(), "/home/alice/"))
}
