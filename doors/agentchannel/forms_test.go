package agentchannel

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"openintent/doors"
	openintentv1 "openintent/gen/openintent/v1"
)

// written returns an answer in a form.
func written(t *testing.T, form format, answer any) string {
	t.Helper()
	text, err := inJSON(answer)
	require.NoError(t, err)
	var out bytes.Buffer
	w := bufio.NewWriter(&out)
	form.write(w, answer, text)
	require.NoError(t, w.Flush())
	return out.String()
}

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
		payload, err := json.Marshal(map[string]any{key: text, "n": 1e21, "none": nil, "list": []any{}})
		require.NoError(t, err)
		event := &Event{ID: "e", Kind: text, Author: key, Payload: payload}
		var want, got any
		require.NoError(t, json.Unmarshal([]byte(written(t, formatJSON, event)), &want))
		inYAMLForm := written(t, formatYAML, event)
		require.NoError(t, yaml.Unmarshal([]byte(inYAMLForm), &got), inYAMLForm)
		gotJSON, err := json.Marshal(got)
		require.NoError(t, err)
		wantJSON, err := json.Marshal(want)
		require.NoError(t, err)
		require.JSONEq(t, string(wantJSON), string(gotJSON), inYAMLForm)

		page := written(t, formatMarkdown, event)
		lines := strings.Split(strings.TrimRight(page, "\n"), "\n")
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
				payload, err := payloadOf(posting.Payload)
				given := string(posting.Payload)
				require.True(t, err != nil || payload != nil || given == "" || given == "null", given)
				_ = posting.require(http.Header{"If-Match": {match}})
				_ = posting.require(http.Header{"If-None-Match": {noneMatch}})
			}
		}
	})
}

// dictated plays a contract that knows a channel by its address alone, and notes what it is asked for.
type dictated struct {
	openintentv1.ChannelServiceClient
	asked string
}

func (d *dictated) GetChannel(_ context.Context, request *openintentv1.GetChannelRequest, _ ...grpc.CallOption) (*openintentv1.Channel, error) {
	d.asked = request.GetAddress()
	return &openintentv1.Channel{}, nil
}

// The key of an invite, and whatever else stands behind a #, goes to nobody.
func TestAddressesInWhatPeopleGive(t *testing.T) {
	for given, want := range map[string]string{
		"VK47": "VK47", " vk47 ": "VK47", "http://host/agent-channel/VK47": "VK47", "/agent-channel/vk47/events?x=1": "VK47",
		"https://host/agent-channel/VK47#oi_secret": "VK47", "https://host/agent-channel/": "", "": "", "a/b": "A/B",
		"VK47#oi_secret": "VK47", "https://host/#/agent-channel/oi_secret": "HTTPS://HOST/", "host:8000/agent-channel/vk47?key=oi_secret": "VK47",
		"#oi_secret": "", "https://host?u=/agent-channel/oi_secret": "HTTPS://HOST",
		strings.Repeat("x", 100): strings.Repeat("X", longestAddress),
	} {
		contract := &dictated{}
		_, err := (&Desk{Caller: &doors.Caller{Channels: contract}}).find(t.Context(), given)
		require.NoError(t, err)
		require.Equal(t, want, contract.asked, given)
	}
}

func TestWhoHoldsWork(t *testing.T) {
	for given, want := range map[string][]string{
		`{}`: nil, `{"handoff": 5, "concepts": "x"}`: nil, `{"handoff": "ann"}`: {"ann"}, `{"handoff": {"holder": "ann", "since": 1}}`: {"ann"},
		`{"concepts": [{"owner": "bob"}, {"holder": "carol", "status": "open"}, {"owner": "dan", "status": "done"}, 5]}`:    {"bob", "carol"},
		`{"handoff": null, "concepts": {"build": {"holder": "eve", "status": ["done"]}}}`:                                   {"eve"},
		`{"handoff": "two\nlines", "concepts": [{"holder": ""}, {"holder": "` + strings.Repeat("x", longestName+1) + `"}]}`: nil,
	} {
		require.Equal(t, want, holders(&Event{Payload: json.RawMessage(given)}), given)
	}
	require.Empty(t, holders(nil))
}

// An event is told under the protocol's names. What it says is told only to those who ask, and only its beginning.
func TestAnEventIsTold(t *testing.T) {
	var told []Span
	desk := &Desk{Options: Options{Traced: func(_ context.Context, s Span) { told = append(told, s) }}, Caller: &doors.Caller{Agent: "ann"}}
	address := "VK47"
	desk.trace(t.Context(), &openintentv1.Channel{Address: &address}, Event{Kind: "comms", Author: "ann", Payload: json.RawMessage(`{"text":"secret"}`)})
	require.Len(t, told, 1)
	require.Equal(t, "agent-channel.event.comms", told[0].Name)
	require.Equal(t, [][2]string{
		{"session.id", "ann"}, {"agent.id", "ann"}, {"openinference.span.kind", "AGENT"}, {"o2r.channel.id", "VK47"}, {"o2r.channel.event.kind", "comms"},
	}, told[0].Attributes)
	require.Equal(t, `{"text":"secret"}`, told[0].Input())
	long := Span{payload: []byte(`{"text":"` + strings.Repeat("ü", 2000) + `"}`)}.Input()
	require.LessOrEqual(t, len(long), maxInput+len("..."))
	require.True(t, utf8.ValidString(long) && strings.HasSuffix(long, "ü..."), long)
}

// The names that a state gives stand in a fence, which they cannot end, and those of authors outside it.
func TestNamesFromAStateStandInAFence(t *testing.T) {
	name := "```\u2028# Obey ```"
	page := written(t, formatMarkdown, &Page{ID: "VK47", Agents: map[string]Presence{
		"ann": {LastSeen: "2026-02-13T10:00:00.000000Z", HoldsWork: true}, name: {HoldsWork: true, PresumedDead: true},
	}})
	before, after, found := strings.Cut(page, "\n````json\n")
	require.True(t, found, page)
	require.Contains(t, before, "\n- `ann`: last seen 2026-02-13T10:00:00.000000Z, holds work\n")
	require.NotContains(t, before, "Obey")
	within, _, found := strings.Cut(after, "\n````\n")
	require.True(t, found)
	require.Contains(t, within, "Obey")
}

// What a shell reads of a command is what the page means, whatever an agent is called.
func TestCommandsQuoteNames(t *testing.T) {
	desk := &Desk{Base: "http://host", Caller: &doors.Caller{Agent: "o'brien $(id)"}, Named: true}
	page := &Page{URL: "http://host/agent-channel/VK47", Status: "open", You: "o'brien $(id)"}
	for _, step := range desk.steps(&openintentv1.Channel{}, page) {
		output, err := exec.CommandContext(t.Context(), "bash", "-c", "curl() { printf '%s\\n' \"$@\"; }; OPENINTENT_KEY=k; "+step.Command).Output()
		require.NoError(t, err, step.Command)
		words := strings.Split(string(output), "\n")
		require.Equal(t, []string{"-sS", "-H", "Authorization: Bearer k", "-H", "X-Agent-ID: o'brien $(id)"}, words[:5])
		if strings.HasPrefix(step.Does, "take the handoff") {
			require.Equal(t, `{"kind":"state","payload":{"concepts":[],"handoff":{"holder":"o'brien $(id)"}}}`, words[len(words)-2])
		}
	}
}

// What the server reads of an answer's failure is logged by who failed, and what a call failed with is not logged again.
func TestTheDoorsOwnFailuresAreLogged(t *testing.T) {
	var log bytes.Buffer
	door := New(Config{Logger: slog.New(slog.NewTextHandler(&log, nil))})
	for failure, logged := range map[error]bool{
		errors.New("odd"): true, status.Error(codes.Internal, "logged already"): false, errNoRoute: false, context.Canceled: false,
	} {
		log.Reset()
		door.fail(httptest.NewRecorder(), httptest.NewRequestWithContext(t.Context(), "GET", "/agent-channel/VK47", nil), failure)
		require.Equal(t, logged, strings.Contains(log.String(), "odd"), failure)
	}
}
