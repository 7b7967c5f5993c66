package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	for address, want := range map[string]resource{
		"openintent://intents/01a20557-ac55":      {intentResource, "01a20557-ac55"},
		"openintent://channels/chan_01M7Y":        {channelResource, "chan_01M7Y"},
		"openintent://agents/a%20b%3Fc%2Fd/inbox": {inboxResource, "a b?c/d"},
		"openintent://agents/inbox/inbox":         {inboxResource, "inbox"},
	} {
		found, ok := resourceAt(address)
		require.True(t, ok, address)
		require.Equal(t, want, found)
		require.Equal(t, address, found.address())
	}
	for _, address := range []string{
		"", "openintent://", "openintent://intents", "openintent://intents/", "openintent://intents/a/b", "openintent://agents/a",
		"openintent://agents/inbox", "openintent://agents//inbox", "openintent://agents/a/b/inbox", "openintent://channels/%zz",
		"OPENINTENT://intents/a", "file:///intents/a", "openintent://tasks/a",
	} {
		_, ok := resourceAt(address)
		require.False(t, ok, address)
	}
}

// Strangers write addresses. Whatever they write, one resource has one name, and an error about it is JSON.
func FuzzAddresses(f *testing.F) {
	for _, seed := range []string{"openintent://intents/a", "openintent://agents/%00/inbox", "openintent://channels/\xff\"", ""} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if found, ok := resourceAt(address); ok {
			again, ok := resourceAt(found.address())
			require.True(t, ok)
			require.Equal(t, found, again)
			require.NotContains(t, strings.TrimPrefix(found.address(), scheme), "//")
		}
		require.ErrorContains(t, errNoResource(address), "Resource not found")
	})
}
