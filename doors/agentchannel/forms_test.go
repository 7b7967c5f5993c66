package agentchannel

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// FuzzForms checks that what an agent wrote is a value in each form, whatever it is: YAML says what JSON says, and no line of the Markdown
// page between the fences ends the fence.
func FuzzForms(f *testing.F) {
	for _, text := range []string{
		"plain", "```\n# Obey\n```", "~~~", "a: b", "- x", "yes", "null", "1.0", "'", `"`, "\u2028", "\x00\x1b", "!!binary x", "&a *a", "%YAML",
		"---\n...", "\ttab", "# no comment", "é😀", "\xff", "<script>", "`", "a`", "<<",
	} {
		f.Add(text, text)
	}
	f.Fuzz(func(t *testing.T, key, text string) {
		key, text = strings.ToValidUTF8(key, "?"), strings.ToValidUTF8(text, "?")
		event := &Event{ID: "e", Kind: text, Author: key, Payload: map[string]any{key: text, "n": 1e21, "none": nil, "list": []any{}}}
		inJSONForm, err := formatJSON.write(event)
		require.NoError(t, err)
		var want, got any
		require.NoError(t, json.Unmarshal(inJSONForm, &want))
		inYAMLForm, err := formatYAML.write(event)
		require.NoError(t, err)
		require.NoError(t, yaml.Unmarshal(inYAMLForm, &got), string(inYAMLForm))
		gotJSON, err := json.Marshal(got)
		require.NoError(t, err)
		wantJSON, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(wantJSON), string(gotJSON), string(inYAMLForm))

		page, err := formatMarkdown.write(event)
		require.NoError(t, err)
		lines := strings.Split(strings.TrimRight(string(page), "\n"), "\n")
		require.NotContains(t, lines[1], "\r")
		opening := lines[3]
		require.True(t, strings.HasSuffix(opening, "json") && strings.HasPrefix(opening, "```"), opening)
		fence := strings.TrimSuffix(opening, "json")
		require.Equal(t, fence, lines[len(lines)-1])
		for _, line := range lines[4 : len(lines)-1] {
			require.NotContains(t, line, fence)
		}
	})
}

// FuzzBodies checks that nothing that a stranger can send as a body makes the door panic, and that what it takes is one object.
func FuzzBodies(f *testing.F) {
	for _, body := range []string{
		`{"kind": "comms", "payload": {}}`, `{"kind": "comms", "payload": "text"}`, `{}`, `[]`, `null`, `{"kind": null}`, `{"kind": 1}`,
		`{"kind": "a", "kind": "b"}`, `{"payload": 1e400}`, "{\"a\":\"\xff\"}", `{"title": "x"}`, strings.Repeat(`{"a":`, 70), `{"expires_s": -1}`,
	} {
		f.Add([]byte(body), `"msg_1"`, "*")
	}
	f.Fuzz(func(t *testing.T, body []byte, match, noneMatch string) {
		for _, into := range []any{&Posting{}, &Creation{}, &Inviting{}} {
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "/agent-channel", bytes.NewReader(body))
			require.NoError(t, err)
			if decodeBody(request, into) != nil {
				continue
			}
			if posting, isPosting := into.(*Posting); isPosting {
				if payload, err := payloadOf(posting.Payload); err == nil {
					require.NotNil(t, payload)
				}
				_ = posting.require(http.Header{"If-Match": {match}})
				_ = posting.require(http.Header{"If-None-Match": {noneMatch}})
			}
		}
	})
}

func TestAddressesInWhatPeopleGive(t *testing.T) {
	for given, want := range map[string]string{
		"VK47": "VK47", " vk47 ": "VK47", "http://host/agent-channel/VK47": "VK47", "/agent-channel/vk47/events?x=1": "VK47",
		"https://host/agent-channel/VK47#oi_secret": "VK47", "https://host/agent-channel/": "", "": "", "a/b": "A/B",
		strings.Repeat("x", 100): strings.Repeat("X", longestAddress),
	} {
		require.Equal(t, want, addressIn(given), given)
	}
}

func TestWhoHoldsWork(t *testing.T) {
	for given, want := range map[string][]string{
		`{}`: nil, `{"handoff": 5, "concepts": "x"}`: nil, `{"handoff": "ann"}`: {"ann"}, `{"handoff": {"holder": "ann", "since": 1}}`: {"ann"},
		`{"concepts": [{"owner": "bob"}, {"holder": "carol", "status": "open"}, {"owner": "dan", "status": "done"}, 5]}`: {"bob", "carol"},
		`{"handoff": null, "concepts": {"build": {"holder": "eve", "status": ["done"]}}}`:                                {"eve"},
	} {
		payload, err := payloadOf(json.RawMessage(given))
		require.NoError(t, err)
		require.Equal(t, want, holders(&openintentv1.Message{Payload: payload}), given)
	}
	require.Empty(t, holders(nil))
}

// An event is told under the protocol's names. What it says is told only to those who ask, and only its beginning.
func TestAnEventIsTold(t *testing.T) {
	var told []Span
	desk := &Desk{Options: Options{Traced: func(_ context.Context, s Span) { told = append(told, s) }}, Caller: &doors.Caller{Agent: "ann"}}
	address := "VK47"
	desk.trace(t.Context(), &openintentv1.Channel{Address: &address}, Event{Kind: "comms", Author: "ann", Payload: map[string]any{"text": "secret"}})
	require.Len(t, told, 1)
	require.Equal(t, "agent-channel.event.comms", told[0].Name)
	require.Equal(t, [][2]string{
		{"session.id", "ann"}, {"agent.id", "ann"}, {"openinference.span.kind", "AGENT"}, {"o2r.channel.id", "VK47"}, {"o2r.channel.event.kind", "comms"},
	}, told[0].Attributes)
	require.Equal(t, `{"text":"secret"}`, told[0].Input())
	long := Span{payload: map[string]any{"text": strings.Repeat("ü", 2000)}}.Input()
	require.LessOrEqual(t, len(long), maxInput+len("..."))
	require.True(t, utf8.ValidString(long) && strings.HasSuffix(long, "ü..."), long)
}
