package mcp

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"openintent/doors"
)

func TestAddressesOfChannels(t *testing.T) {
	for given, want := range map[string]address{
		"openintent://channels/c1":                                 {id: "c1"},
		"openintent://channels/c1/":                                {id: "c1"},
		"openintent://intents/i1/channels/c1":                      {id: "c1"},
		"https://example.org/v1/channels/c1":                       {id: "c1"},
		"http://127.0.0.1:8000/v1/channels/c1/messages?since=x":    {id: "c1"},
		"https://example.org/behind/v1/channels/c1/messages/m1":    {id: "c1"},
		"https://example.org/v1/subscribe/channels/c1":             {id: "c1"},
		"/v1/channels/c1":                                          {id: "c1"},
		"https://ann:word@example.org/v1/channels/c1#the-secret":   {id: "c1"},
		"https://example.org/v1/intents/i1/channels/room/messages": {intent: "i1", name: "room"},
		"https://example.org/v1/intents/i1/channels/two%20words":   {intent: "i1", name: "two words"},
		"https://example.org/v1/intents/i1/channels/v1":            {intent: "i1", name: "v1"},

		"https://example.org/agent-channel/VK47":                        {dictated: "VK47"},
		"https://example.org/behind/agent-channel/vk47/events?x=/v1/":   {dictated: "VK47"},
		"https://example.org/agent-channel/ABVK47#oi_secret":            {dictated: "ABVK47"},
		"https://example.org/agent-channel/VK47#/v1/channels/oi_secret": {dictated: "VK47"},
		"/agent-channel/VK47":                                                             {dictated: "VK47"},
		"127.0.0.1:8000/agent-channel/VK47":                                               {dictated: "VK47"},
		"https://example.org/v1/intents/i1/channels/agent-channel/messages":               {intent: "i1", name: "agent-channel"},
		"https://example.org/v1/channels/agent-channel/messages#/agent-channel/oi_secret": {id: "agent-channel"},
	} {
		got, err := addressOf(given)
		require.NoError(t, err, given)
		require.Equal(t, want, got, given)
	}
}

// What names no channel is refused in words that repeat nothing of it.
func TestWhatNamesNoChannel(t *testing.T) {
	for _, given := range []string{
		"", "secret", "://secret", "https://example.org/secret", "https://example.org/v1/intents/secret", "openintent://agents/secret/inbox",
		"https://example.org/v1/intents/secret/channels", "https://example.org/v1/channels/", "openintent://channels", "openintent:channels/secret",
		"https://example.org/v1/channels/%zzsecret", "https://example.org/#/v1/channels/secret", "https://example.org/?u=/v1/channels/secret",
		"http://example.org/v1/channels/" + strings.Repeat("secret", 1000), "https://exa mple.org/v1/channels/secret", "\x00/v1/channels/secret",
		"https://example.org/agent-channel/", "https://example.org/agent-channel", "https://example.org/agent-channel/VK47%23secret",
		"https://example.org/#/agent-channel/secret", "https://example.org/?u=/agent-channel/secret", "openintent://agent-channel/secret",
		"https://example.org/v1/intents//channels/secret", "https://example.org/v1/channels//secret",
	} {
		_, err := addressOf(given)
		require.Error(t, err, given)
		refusal := doors.RefusalOf(err)
		require.Equal(t, "INVALID_FIELD", refusal.Reason)
		require.NotContains(t, refusal.Message, "secret", given)
	}
}

// Whatever stands in a URL's fragment, query or user becomes no part of what the door asks the contract for.
func FuzzAddress(f *testing.F) {
	f.Add("https://example.org/v1/channels/c1", "secret")
	f.Add("openintent://channels/c1", "k=secret&x")
	f.Add("/v1/intents/i/channels/%2f", "%00")
	f.Fuzz(func(t *testing.T, given, secret string) {
		plain, err := addressOf(given)
		if err != nil || strings.ContainsAny(given, "#?") || len(given)+len(secret) > 1000 {
			return
		}
		require.True(t, plain.id != "" || plain.intent != "" && plain.name != "" || plain.dictated != "")
		if fragment, err := addressOf(given + "#" + secret); err == nil {
			require.Equal(t, plain, fragment)
		}
	})
}

func FuzzPlaceAt(f *testing.F) {
	f.Add(listPlace{Kept: 3, Intents: "x", Intent: "y", Channels: "z"}.cursor())
	f.Add("e30")
	f.Add("nonsense")
	f.Fuzz(func(t *testing.T, cursor string) {
		place, err := placeAt(cursor)
		if err != nil {
			require.Equal(t, "INVALID_FIELD", doors.RefusalOf(err).Reason)
			return
		}
		again, err := placeAt(place.cursor())
		require.NoError(t, err)
		require.Equal(t, place, again)
	})
}
