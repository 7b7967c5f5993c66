package server

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/metadata"

	"openintent/internal/caller"
	"openintent/internal/fault"
)

func identityKeys(t *testing.T) *Keys {
	keys, err := LoadKeys("open,one=agent-a,two=agent-a|agent-b,legacy;sdk", "")
	require.NoError(t, err)
	return keys
}

func TestWhoCalls(t *testing.T) {
	keys := identityKeys(t)
	for _, test := range []struct {
		name     string
		md       metadata.MD
		agent    string
		operator bool
	}{
		{"an unbound key that names no agent is the operator", metadata.Pairs("x-api-key", "open"), caller.Operator, true},
		{"an unbound key acts as the agent that it names", metadata.Pairs("x-api-key", "open", "x-agent-id", "zoe"), "zoe", false},
		{"an empty name is none", metadata.Pairs("x-api-key", "open", "x-agent-id", ""), caller.Operator, true},
		{"a key of one agent needs no name", metadata.Pairs("x-api-key", "one"), "agent-a", false},
		{"blanks are none", metadata.Pairs("x-api-key", "one", "x-agent-id", " \t "), "agent-a", false},
		{"blanks around a name count for nothing", metadata.Pairs("x-api-key", "two", "x-agent-id", " agent-b\t"), "agent-b", false},
		{"a key of one agent may name it", metadata.Pairs("x-api-key", "one", "x-agent-id", "agent-a"), "agent-a", false},
		{"a key of several names one", metadata.Pairs("x-api-key", "two", "x-agent-id", "agent-b"), "agent-b", false},
		{"bearer", metadata.Pairs("authorization", "Bearer open"), caller.Operator, true},
		{"bearer in any case", metadata.Pairs("authorization", "bEARER  one "), "agent-a", false},
		{"the same key twice", metadata.Pairs("x-api-key", "one", "authorization", "Bearer one"), "agent-a", false},
		{"another scheme is a proxy's", metadata.Pairs("x-api-key", "one", "authorization", "Basic b25l"), "agent-a", false},
		{"an id in another script", metadata.Pairs("x-api-key", "open", "x-agent-id", "агент"), "агент", false},
	} {
		t.Run(test.name, func(t *testing.T) {
			who, err := keys.Identify(t.Context(), test.md)
			require.NoError(t, err)
			require.Equal(t, test.agent, who.Agent)
			require.Equal(t, test.operator, who.IsOperator)
			require.NotEmpty(t, who.KeyID)
		})
	}
	who, err := keys.Identify(t.Context(), metadata.Pairs("x-api-key", "two", "x-agent-id", "agent-b"))
	require.NoError(t, err)
	require.True(t, who.Owns("agent-a"))
	require.False(t, who.Owns("agent-c"))
}

func TestWhoMayNotCall(t *testing.T) {
	keys := identityKeys(t)
	for _, test := range []struct {
		name   string
		md     metadata.MD
		kind   fault.Kind
		reason string
	}{
		{"no key", metadata.MD{}, fault.Unauthenticated, "API_KEY_MISSING"},
		{"nothing at all", nil, fault.Unauthenticated, "API_KEY_MISSING"},
		{"an empty key", metadata.Pairs("x-api-key", ""), fault.Unauthenticated, "API_KEY_MISSING"},
		{"another scheme", metadata.Pairs("authorization", "Basic b3Blbg=="), fault.Unauthenticated, "API_KEY_MISSING"},
		{"an unknown key", metadata.Pairs("x-api-key", "opem"), fault.Unauthenticated, "API_KEY_UNKNOWN"},
		{"a key's prefix", metadata.Pairs("x-api-key", "ope"), fault.Unauthenticated, "API_KEY_UNKNOWN"},
		{"an unknown key with a bad name", metadata.Pairs("x-api-key", "no", "x-agent-id", "*"), fault.Unauthenticated, "API_KEY_UNKNOWN"},
		{"two keys", metadata.Pairs("x-api-key", "open", "authorization", "Bearer one"), fault.Unauthenticated, "API_KEYS_DIFFER"},
		{"two keys under one name", metadata.Pairs("x-api-key", "open", "x-api-key", "one"), fault.Unauthenticated, "API_KEYS_DIFFER"},
		{"another agent's name", metadata.Pairs("x-api-key", "one", "x-agent-id", "agent-b"), fault.Denied, "AGENT_NOT_ALLOWED"},
		{"several and no name", metadata.Pairs("x-api-key", "two"), fault.Denied, "AGENT_NEEDED"},
		{"several and another", metadata.Pairs("x-api-key", "two", "x-agent-id", "agent-c"), fault.Denied, "AGENT_NOT_ALLOWED"},
		{"the operator's name", metadata.Pairs("x-api-key", "open", "x-agent-id", "operator"), fault.Denied, "AGENT_RESERVED"},
		{"the system's name", metadata.Pairs("x-api-key", "open", "x-agent-id", "system"), fault.Denied, "AGENT_RESERVED"},
		{"everybody", metadata.Pairs("x-api-key", "open", "x-agent-id", "*"), fault.Denied, "AGENT_RESERVED"},
		{"a role", metadata.Pairs("x-api-key", "open", "x-agent-id", "role:judge"), fault.Denied, "AGENT_RESERVED"},
		{"a slash", metadata.Pairs("x-api-key", "open", "x-agent-id", "a/b"), fault.Invalid, "INVALID_FIELD"},
		{"a control character", metadata.Pairs("x-api-key", "open", "x-agent-id", "a\tb"), fault.Invalid, "INVALID_FIELD"},
		{"not UTF-8", metadata.Pairs("x-api-key", "open", "x-agent-id", "a\xff"), fault.Invalid, "INVALID_FIELD"},
		{"too long", metadata.Pairs("x-api-key", "open", "x-agent-id", strings.Repeat("a", 257)), fault.Invalid, "INVALID_FIELD"},
		{"two names", metadata.Pairs("x-api-key", "open", "x-agent-id", "a", "x-agent-id", "b"), fault.Invalid, "INVALID_FIELD"},
		{"an unknown profile", metadata.Pairs("x-api-key", "open", "x-openintent-compat", "SDK"), fault.Invalid, "INVALID_FIELD"},
	} {
		t.Run(test.name, func(t *testing.T) {
			who, err := keys.Identify(t.Context(), test.md)
			require.Error(t, err)
			require.Zero(t, who)
			refusal := fault.From(err)
			require.Equal(t, test.kind, refusal.Kind)
			require.Equal(t, test.reason, refusal.Reason)
			require.NotContains(t, refusal.Message, "agent-", "the refusal does not reveal which agents a key is bound to")
		})
	}
}

func TestProfileAndTrace(t *testing.T) {
	keys := identityKeys(t)
	const trace = "0af7651916cd43dd8448eb211c80319c"
	who, err := keys.Identify(t.Context(), metadata.Pairs("x-api-key", "open"))
	require.NoError(t, err)
	require.False(t, who.Compatibility)
	who, err = keys.Identify(t.Context(), metadata.Pairs("x-api-key", "legacy"))
	require.NoError(t, err)
	require.True(t, who.Compatibility, "because of the key")
	who, err = keys.Identify(t.Context(), metadata.Pairs("x-api-key", "open", "x-openintent-compat", "sdk"))
	require.NoError(t, err)
	require.True(t, who.Compatibility, "because of the header")

	for header, want := range map[string]string{
		"00-" + trace + "-b7ad6b7169203331-01":                   trace,
		"01-" + trace + "-b7ad6b7169203331-01":                   "",
		"00-" + strings.ToUpper(trace) + "-b7ad6b7169203331-01":  "",
		"00-" + trace + "-b7ad6b7169203331":                      "",
		"00-" + trace + "-b7ad6b7169203331-01-x":                 "",
		"00-" + trace[1:] + "-b7ad6b7169203331-01":               "",
		"00-" + trace + "-b7ad6b716920333g-01":                   "",
		"00-" + strings.Repeat("0", 32) + "-b7ad6b7169203331-01": "",
		"00-" + trace + "-0000000000000000-01":                   "",
		"":                                                       "",
	} {
		who, err = keys.Identify(t.Context(), metadata.Pairs("x-api-key", "open", "traceparent", header))
		require.NoError(t, err, "tracing never causes a refusal")
		require.Equal(t, want, who.TraceID, header)
	}
}
