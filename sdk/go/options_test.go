package openintent

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestSettingsComeFromArgumentsThenTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENINTENT_SERVER", "OPENINTENT_API_KEY", "OPENINTENT_AGENT_ID", "OPENINTENT_TLS", "OPENINTENT_CA_FILE", "OPENINTENT_INTENT_ID"} {
		t.Setenv(name, "")
	}
	completed := func(options Options) Options {
		done, err := options.completed()
		require.NoError(t, err)
		return done
	}
	bare := completed(Options{})
	require.Equal(t, Options{Server: "127.0.0.1:50051", APIKey: DevelopmentKey, RetryPatience: 30 * time.Second}, bare)

	t.Setenv("OPENINTENT_SERVER", "https://example.org:443/")
	require.Empty(t, completed(Options{}).APIKey, "the development key is for this machine only")
	t.Setenv("OPENINTENT_API_KEY", "key")
	t.Setenv("OPENINTENT_AGENT_ID", "agent")
	found := completed(Options{})
	require.Equal(t, "example.org:443", found.Server)
	require.NotNil(t, found.TLS)
	require.Equal(t, "key", found.APIKey)
	require.Equal(t, "agent", found.AgentID)

	given := completed(Options{Server: "127.0.0.1:1", APIKey: "mine", AgentID: "me"})
	require.Equal(t, []string{"127.0.0.1:1", "mine", "me"}, []string{given.Server, given.APIKey, given.AgentID})
	require.Nil(t, given.TLS)
	t.Setenv("OPENINTENT_TLS", "1")
	require.NotNil(t, completed(Options{Server: "127.0.0.1:1"}).TLS)
	require.Nil(t, completed(Options{Server: "http://127.0.0.1:1"}).TLS)
	t.Setenv("OPENINTENT_TLS", "False")
	require.Nil(t, completed(Options{Server: "127.0.0.1:1"}).TLS)
	t.Setenv("OPENINTENT_TLS", "on")
	_, err := Options{Server: "127.0.0.1:1"}.completed()
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, `OPENINTENT_TLS must be 1 or 0, not "on".`)
}

func TestAnAddressIsCheckedWhenTheClientIsMade(t *testing.T) {
	for _, wrong := range []string{
		"127.0.0.1", "127.0.0.1:", ":50051", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:http", "ftp://127.0.0.1:1",
		"http://127.0.0.1:1/v1", "::1:50051", "user@host:1", "a host:1", "://host:1", "127.0.0.1:-1",
	} {
		_, err := Dial(Options{Server: wrong})
		require.ErrorIs(t, err, ErrInvalidArgument, wrong)
		require.ErrorContains(t, err, "Options.Server must be host:port", wrong)
	}
	t.Setenv("OPENINTENT_SERVER", "nowhere")
	_, err := Dial(Options{})
	require.ErrorContains(t, err, `OPENINTENT_SERVER must be host:port, http://host:port or https://host:port, with a port from 1 to 65535, not "nowhere"`)
	for right, loopback := range map[string]bool{
		"localhost:1": true, "127.0.0.1:65535": true, "127.9.9.9:1": true, "[::1]:50051": true, "https://[::1]:50051/": true,
		"example.org:443": false, "http://10.0.0.1:1": false, "[2001:db8::1]:1": false,
	} {
		address, err := ParseAddress("server", right)
		require.NoError(t, err, right)
		require.Equal(t, loopback, address.Loopback(), right)
		require.Equal(t, loopback, address.DefaultKey() != "", right)
	}
}

func TestABlankKeyOrAgentIsRefused(t *testing.T) {
	_, err := Dial(Options{AgentID: " "})
	require.ErrorIs(t, err, ErrInvalidArgument)
	require.ErrorContains(t, err, "Options.AgentID is blank: give the agent's id, or leave it empty, so that the environment decides.")
	_, err = Dial(Options{APIKey: "\n"})
	require.ErrorContains(t, err, "Options.APIKey is blank: give the key, or leave it empty")
}

func TestMisspeltVariablesAreToldOnce(t *testing.T) {
	for name, meant := range map[string]string{
		"APIKEY": "API_KEY", "KEY": "API_KEY", "API_KYE": "API_KEY", "AGENT": "AGENT_ID", "AGENTID": "AGENT_ID", "SEVER": "SERVER",
		"SERVERS": "SERVER", "TSL": "", "TLSS": "TLS", "CAFILE": "CA_FILE", "CA_FILES": "CA_FILE", "URI": "URL", "INTENTID": "INTENT_ID",
	} {
		said := MisspeltVariables([]string{"HOME=/", prefix + name + "=x"})
		if meant == "" {
			require.Empty(t, said, name)
			continue
		}
		require.Equal(t, []string{prefix + name + " is no setting and has no effect; did you mean " + prefix + meant + "?"}, said)
	}
	require.Empty(t, MisspeltVariables([]string{prefix + "APIKEY="}), "an empty one is as good as none")

	warned.Clear()
	t.Setenv("OPENINTENT_SERVR", "host:1")
	var heard bytes.Buffer
	for range 2 {
		client, err := Dial(Options{Log: slog.New(slog.NewTextHandler(&heard, nil))})
		require.NoError(t, err)
		require.NoError(t, client.Close())
	}
	require.Equal(t, 1, strings.Count(heard.String(), "OPENINTENT_SERVR is no setting and has no effect; did you mean OPENINTENT_SERVER?"))
}

func TestCallsWithoutAnIntentAreAboutTheClientsOwn(t *testing.T) {
	t.Setenv("OPENINTENT_INTENT_ID", "env")
	client, err := Dial(Options{})
	require.NoError(t, err)
	require.Equal(t, "env", client.IntentID())
	require.NoError(t, client.Close())
	id, err := Options{IntentID: "mine"}.intent("Open", "")
	require.NoError(t, err)
	require.Equal(t, "mine", id)
	id, err = Options{IntentID: "mine"}.intent("Open", "other")
	require.NoError(t, err)
	require.Equal(t, "other", id)

	t.Setenv("OPENINTENT_INTENT_ID", "")
	client, err = Dial(Options{})
	require.NoError(t, err)
	defer func() { require.NoError(t, client.Close()) }()
	for call, made := range map[string]func() error{
		"Open":          func() error { _, err := client.Open(t.Context(), "", "desk", ChannelOptions{}); return err },
		"CreateChannel": func() error { _, err := client.CreateChannel(t.Context(), "", "desk", ChannelOptions{}); return err },
		"ListChannels":  func() error { _, err := client.ListChannels(t.Context(), ""); return err },
		"GetIntent":     func() error { _, err := client.GetIntent(t.Context(), ""); return err },
	} {
		err := made()
		require.ErrorIs(t, err, ErrInvalidArgument)
		require.EqualError(t, err, "INVALID_ARGUMENT: intentID is missing: "+call+
			" needs an intent, as an argument, as Options.IntentID, or in OPENINTENT_INTENT_ID.")
	}
}
