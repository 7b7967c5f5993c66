package server

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/structpb"

	openintentv1 "openintent/gen/openintent/v1"
	"openintent/internal/caller"
)

func TestKeyListForms(t *testing.T) {
	keys, err := LoadKeys(" root , bound=agent-a|agent-b,legacy;sdk,both=agent-c;sdk,any;roles=*,some=agent-d;roles=a|b;sdk", "")
	require.NoError(t, err)
	require.Equal(t, 6, keys.Count())
	require.Empty(t, keys.find("root").roles)
	require.Equal(t, []string{"*"}, keys.find("any").roles)
	require.False(t, keys.find("any").compatibility)
	require.Equal(t, []string{"agent-d"}, keys.find("some").agents)
	require.Equal(t, []string{"a", "b"}, keys.find("some").roles)
	require.True(t, keys.find("some").compatibility)
	require.Nil(t, keys.find("root").agents)
	require.False(t, keys.find("root").compatibility)
	require.Equal(t, []string{"agent-a", "agent-b"}, keys.find("bound").agents)
	require.True(t, keys.find("legacy").compatibility)
	require.Equal(t, []string{"agent-c"}, keys.find("both").agents)
	require.True(t, keys.find("both").compatibility)
	require.Nil(t, keys.find("rootx"))
	require.Nil(t, keys.find(""))
}

// A key has the rates of all keys unless it has its own. A reload also changes them for callers that already hold the
// key.
func TestRatesOfKeys(t *testing.T) {
	path := writeKeyFile(t, "", "- key: filed\n  messages_per_second: 3\n- key: stays\n")
	keys, err := LoadKeys("plain,own=agent-a;bytes_per_second=7;sdk,free;messages_per_second=0", path)
	require.NoError(t, err)
	all := caller.Rates{MessagesPerSecond: 5, BytesPerSecond: 100}
	keys.SetRates(all)
	require.Equal(t, all, keys.find("plain").quota.Rates())
	require.Equal(t, caller.Rates{MessagesPerSecond: 5, BytesPerSecond: 7}, keys.find("own").quota.Rates())
	require.True(t, keys.find("own").compatibility)
	require.Equal(t, caller.Rates{BytesPerSecond: 100}, keys.find("free").quota.Rates())
	require.Equal(t, caller.Rates{MessagesPerSecond: 3, BytesPerSecond: 100}, keys.find("filed").quota.Rates())

	held := keys.find("filed")
	writeKeyFile(t, path, "- key: filed\n  messages_per_second: 4\n- key: stays\n  bytes_per_second: 1\n")
	require.NoError(t, keys.Reload())
	require.Equal(t, caller.Rates{MessagesPerSecond: 4, BytesPerSecond: 100}, held.quota.Rates())
	require.Equal(t, caller.Rates{MessagesPerSecond: 5, BytesPerSecond: 1}, keys.find("stays").quota.Rates())
	require.NoError(t, held.valid.Err(), "other rates end nothing")
}

func TestKeyIDsAreStableAndRevealNothing(t *testing.T) {
	first, err := LoadKeys("one,two", "")
	require.NoError(t, err)
	again, err := LoadKeys("two", "")
	require.NoError(t, err)
	require.Equal(t, first.find("two").id, again.find("two").id)
	require.NotEqual(t, first.find("one").id, first.find("two").id)
	require.NotContains(t, fmt.Sprintf("%+v", first), "two", "only digests are kept")
	require.NotContains(t, fmt.Sprintf("%x", first.find("two").digest), first.find("two").id)
}

func TestBadKeyListsAreRefusedWithoutShowingKeys(t *testing.T) {
	for _, test := range []struct{ list, problem string }{
		{"secret1,", "API key 2 of the list: the key is empty"},
		{"secret1;messages_per_second=many", "messages_per_second must be a whole number"},
		{"secret1;bytes_per_second=-1", "bytes_per_second must be a whole number"},
		{"secret1;SDK", `only the options "sdk", "roles`},
		{"secret1;sdk=1", `only the options "sdk", "roles`},
		{"secret1;sdk;sdk", "the option sdk is given twice"},
		{"secret1;roles=a;roles=b", "the option roles is given twice"},
		{"secret1;roles", `only the options "sdk", "roles`},
		{"secret1;roles=", `only the options "sdk", "roles`},
		{"secret1;roles=a|", "a role's id must not be empty"},
		{"secret1;roles=" + strings.Repeat("a", 257), "at most 256 characters"},
		{"a;ecret1", `only the options "sdk", "roles`},
		{"secret1=", "one = and the agents' ids"},
		{"c2VjcmV0MQ==", "one = and the agents' ids"},
		{"secret1=a=b", "one = and the agents' ids"},
		{"secret1=a||b", "must not be empty"},
		{"secret1=a|a", "named twice"},
		{"secret1=operator", "reserved"},
		{"secret1=role:x", "reserved"},
		{"secret1=a/b", "may not contain /"},
		{"secret1;intents=i", "names the agents"},
		{"secret1;channels=c", "names the agents"},
		{"secret1=a;intents=", `only the options "sdk", "roles`},
		{"secret1=a;intents=i|", "must not be empty"},
		{"secret1=a;channels=" + strings.Repeat("c|", 100) + "c", "at most 100"},
		{"secret1=guest-a", "are for invites"},
		{"secret 1", "without spaces"},
		{"secret1\x01", "printable ASCII"},
		{"sécret1", "printable ASCII"},
		{"secret1,b,secret1", "configured twice (it is number 3)"},
	} {
		_, err := LoadKeys(test.list, "")
		require.ErrorContains(t, err, test.problem, test.list)
		require.NotContains(t, err.Error(), "ecret1", "a key is never shown")
	}
}

// A key's scope comes from the list or the file, and whoever calls with it carries it. Another scope ends what began under it.
func TestScopesOfConfiguredKeys(t *testing.T) {
	path := writeKeyFile(t, "", "- key: filed\n  agents: [a]\n  intents: [i]\n  channels: [c, d]\n- same=a;channels=c|d\n")
	keys, err := LoadKeys("listed=a;intents=i|j;channels=c,free=a", path)
	require.NoError(t, err)
	require.Equal(t, caller.NewScope([]string{"i", "j"}, []string{"c"}), keys.find("listed").scope)
	require.Nil(t, keys.find("free").scope)
	filed, same := keys.find("filed"), keys.find("same")
	require.Equal(t, caller.NewScope([]string{"i"}, []string{"c", "d"}), filed.scope)
	who, err := keys.Identify(t.Context(), metadata.Pairs("x-api-key", "filed"))
	require.NoError(t, err)
	require.Same(t, filed.scope, who.Scope)
	writeKeyFile(t, path, "- key: filed\n  agents: [a]\n  channels: [c, d]\n- same=a;channels=d|c\n")
	require.NoError(t, keys.Reload())
	require.Error(t, filed.valid.Err(), "it has another scope")
	require.NoError(t, same.valid.Err())
}

func writeKeyFile(t *testing.T, path, text string) string {
	if path == "" {
		path = filepath.Join(t.TempDir(), "keys.yaml")
	}
	require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

func TestKeyFile(t *testing.T) {
	path := writeKeyFile(t, "", `
- root
- short=agent-a|agent-b;sdk
- key: has=equals,and,commas
  agents: [agent-c]
  roles: [reviewer]
- key: unbound
  roles: []
  sdk: true
- key: hers
  agents: [ann]
  human: true
- key: any
  roles: ["*"]
- some;roles=a|b
`)
	keys, err := LoadKeys("listed", path)
	require.NoError(t, err)
	require.Equal(t, 8, keys.Count(), "the list and the file add up")
	require.Equal(t, []string{"agent-a", "agent-b"}, keys.find("short").agents)
	require.Empty(t, keys.find("short").roles, "no role at all")
	require.Equal(t, []string{"agent-c"}, keys.find("has=equals,and,commas").agents)
	require.Equal(t, []string{"reviewer"}, keys.find("has=equals,and,commas").roles)
	require.Empty(t, keys.find("unbound").roles, "no role at all")
	require.Equal(t, []string{"*"}, keys.find("any").roles)
	require.Equal(t, []string{"a", "b"}, keys.find("some").roles)
	require.True(t, keys.find("unbound").compatibility)
	require.True(t, keys.find("hers").human)
	require.False(t, keys.find("unbound").human || keys.find("some").human)
}

func TestBadKeyFilesAreRefusedWithoutShowingKeys(t *testing.T) {
	for _, test := range []struct{ text, problem string }{
		{"", "holds no keys"},
		{"secret1: x", "not a YAML list"},
		{"- secret1\n- [", "not a YAML list"},
		{"[]", "holds no keys"},
		{"- key: secret1\n  human: true", "list exactly one agent"},
		{"- key: secret1\n  human: true\n  agents: [a, b]", "list exactly one agent"},
		{"- key: secret1\n  human: please\n  agents: [a]", "sdk and human are true or false"},
		{"- secret1\n- secret1", "configured twice"},
		{"- secret1\n- [secret1]", "line 2: a key is a string or a mapping"},
		{"- key: secret1\n  agent: a", `line 1: "agent" is unknown`},
		{"- key: secret1\n  agents: a", "agents, roles, intents and channels are lists"},
		{"- key: secret1\n  agents: []", "agents is empty"},
		{"- key: secret1\n  sdk: perhaps", "sdk and human are true or false"},
		{"- key: secret1\n  messages_per_second: -1", "must not be negative"},
		{"- key: secret1\n  bytes_per_second: few", "are whole numbers"},
		{"- agents: [a]", "the key is empty"},
		{"- secret1=a=b", "belongs in a mapping"},
	} {
		path := writeKeyFile(t, "", test.text)
		_, err := LoadKeys("", path)
		require.ErrorContains(t, err, test.problem, test.text)
		require.NotContains(t, err.Error(), "secret1", "a key is never shown")
	}
	_, err := LoadKeys("", filepath.Join(t.TempDir(), "absent.yaml"))
	require.ErrorContains(t, err, "absent.yaml: it cannot be read")
}

// When a reload removes a key or binds it differently, it ends what waits under that key, and nothing else.
func TestReloadEndsWaitsUnderKeysThatAreGone(t *testing.T) {
	path := writeKeyFile(t, "", "- gone\n- rebound=agent-a\n- stays=agent-a|agent-b\n- key: roles\n")
	keys, err := LoadKeys("fixed", path)
	require.NoError(t, err)
	through, err := newInterceptors(t.Context(), keys, testLimits(), newMetrics(), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	began, finish := make(chan struct{}), make(chan struct{})
	call := func(method, key string, request any) <-chan error {
		ctx := metadata.NewIncomingContext(t.Context(), metadata.Pairs("x-api-key", key, "x-agent-id", "agent-a"))
		ended := make(chan error, 1)
		go func() {
			_, err := through.unary(ctx, request, &grpc.UnaryServerInfo{FullMethod: method},
				func(ctx context.Context, _ any) (any, error) {
					began <- struct{}{}
					select {
					case <-ctx.Done():
						return nil, ctx.Err()
					case <-finish:
						return nil, nil
					}
				})
			ended <- err
		}()
		<-began
		return ended
	}
	wait := func(key string) <-chan error {
		question := &openintentv1.AskRequest{ChannelId: "c", To: "b", Payload: &structpb.Struct{}}
		return call(openintentv1.MessageService_Ask_FullMethodName, key, question)
	}
	ending := map[string]<-chan error{"gone": wait("gone"), "rebound": wait("rebound"), "roles": wait("roles")}
	lasting := map[string]<-chan error{
		"stays": wait("stays"), "fixed": wait("fixed"),
		"a send": call(openintentv1.MessageService_SendMessage_FullMethodName, "gone", aMessage()),
	}

	writeKeyFile(t, path, "- {")
	require.Error(t, keys.Reload())
	for range 2 { // The second reload finds the keys that the first one kept.
		writeKeyFile(t, path, "- new\n- rebound=agent-b\n- stays=agent-a|agent-b\n- roles;roles=a\n")
		require.NoError(t, keys.Reload())
	}
	for key, ended := range ending {
		select {
		case err := <-ended:
			require.Equal(t, codes.Unauthenticated, status.Code(err), key)
			require.Equal(t, "API_KEY_REMOVED", reasonOfError(t, err), key)
		case <-time.After(patience):
			t.Fatalf("%s: the wait goes on", key)
		}
	}
	require.NoError(t, keys.find("stays").valid.Err())
	close(finish)
	for key, ended := range lasting {
		require.NoError(t, <-ended, key)
	}
}

func TestReloadReplacesKeysAndABadFileKeepsThem(t *testing.T) {
	path := writeKeyFile(t, "", "- first\n- stays=agent-a\n")
	keys, err := LoadKeys("fixed", path)
	require.NoError(t, err)
	stays := keys.find("stays").id
	var log bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&log, nil))

	writeKeyFile(t, path, "- second\n- stays=agent-a\n")
	reloadKeys(keys, logger)
	require.Contains(t, log.String(), "read again")
	_, err = keys.Identify(t.Context(), metadata.Pairs("x-api-key", "first"))
	require.ErrorIs(t, err, errKeyUnknown)
	for _, key := range []string{"second", "stays", "fixed"} {
		_, err = keys.Identify(t.Context(), metadata.Pairs("x-api-key", key))
		require.NoError(t, err, key)
	}
	require.Equal(t, stays, keys.find("stays").id)

	log.Reset()
	for _, bad := range []string{"- third\n- {", "[]", "- fixed"} {
		writeKeyFile(t, path, bad)
		reloadKeys(keys, logger)
		require.Contains(t, log.String(), "the old ones stay")
		require.NotContains(t, log.String(), "third")
		require.NotNil(t, keys.find("second"))
		require.Nil(t, keys.find("third"))
	}
}
