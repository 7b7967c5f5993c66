package agentchannel

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"openintent/e2e/harness"
)

// curl runs a command as somebody does who has copied it from the page, with the key in the environment.
func curl(t *testing.T, key, command string) string {
	t.Helper()
	shell := exec.Command("bash", "--noprofile", "--norc", "-c", command)
	shell.Env = append(os.Environ(), "OPENINTENT_KEY="+key)
	output, err := shell.CombinedOutput()
	require.NoError(t, err, "%s\n%s", command, output)
	return string(output)
}

// Whoever has nothing but the URL of an invite takes part: it does what the answers say, with curl.
func TestThePageIsEnough(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Move the build")
		ann.posts(t, id, "spec", `{"mission": "move it"}`)
		given := text(t, ann.does(t, 201, "POST", "/"+id+"/invite", `{}`), "url")

		url, key, isInvite := strings.Cut(given, "#")
		require.True(t, isInvite)
		require.Equal(t, h.BaseURL()+root+"/"+id, url)
		refused := curl(t, "", "curl -sS '"+given+"'")
		require.Contains(t, refused, "Authorization: Bearer KEY", "who comes without the key is told how to bring it")
		require.NotContains(t, refused, "Move the build")

		page := curl(t, key, `curl -sS -H "Authorization: Bearer $OPENINTENT_KEY" '`+url+`?format=md'`)
		require.Contains(t, page, "# Agent channel "+id)
		require.NotContains(t, page, key)
		for _, line := range commands(page) {
			require.NotContains(t, curl(t, key, line), `"reason"`, line)
		}
		require.NotContains(t, page, "/invite'", "a guest manages nothing")
		require.Equal(t, []any{"state", "status", "comms", "spec"}, kinds(list(t, ann.does(t, 200, "GET", "/"+id+"/events", ""), "events")))

		page = curl(t, key, commands(page)[0])
		for _, line := range commands(page) {
			require.NotContains(t, curl(t, key, line), `"reason"`, "again, from the page as it is now: %s", line)
		}
		stale := ""
		for _, line := range commands(page) {
			if strings.Contains(line, `"kind":"state"`) {
				stale = line
			}
		}
		require.Contains(t, curl(t, key, stale), "DOCUMENT_CHANGED", "the command does not overwrite what the page did not show")
	})
}

// commands returns the commands that a page shows.
func commands(page string) (lines []string) {
	for _, line := range strings.Split(page, "\n") {
		if strings.HasPrefix(line, "curl ") {
			lines = append(lines, line)
		}
	}
	return lines
}

// Everybody is shown what it may do: one whose key names nobody with its name, a reader only how to read, a creator all.
func TestThePageShowsEachCallerItsCommands(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "For each its own")
		page := string(ann.REST(t, "GET", root+"/"+id+"?format=md", "").Body)
		require.NotEmpty(t, commands(page))
		for _, line := range commands(page) {
			require.Contains(t, line, "-H 'X-Agent-ID: ann'")
			require.NotContains(t, curl(t, ann.Key, line), `"reason"`, line)
		}
		require.Contains(t, page, "/close' -d")
		require.Equal(t, "closed", ann.does(t, 200, "GET", "/"+id, "")["status"], "the last command was to close")

		other := ann.open(t, "Readers")
		reader := ann.invited(t, h, other, `{"read_only": true}`)
		page = string(agent{h.With(reader.Key, "")}.REST(t, "GET", root+"/"+other+"?format=md", "").Body)
		require.Len(t, commands(page), 2)
		for _, line := range commands(page) {
			require.NotContains(t, line, "X-Agent-ID", "the key names the guest")
			require.NotContains(t, line, " -d ")
			require.NotContains(t, curl(t, reader.Key, line), `"reason"`, line)
		}
	})
}

// No character and no word makes a page that cannot be read, or that says something else.
func TestWhateverIsWrittenThePageCanBeRead(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Odd")
		payload := object{
			"text": "\u007f\u0080\u0085\u009f\u2028\ufffe\uffff\ufeff\u00a0", "yes": "no", "off": "~", strings.Repeat("k\u0085", 700): "1_000", "n": 1e21,
			"\ufffe": []any{"2024-01-01", "1:30", true, nil, 1e-7},
		}
		written, err := json.Marshal(payload)
		require.NoError(t, err)
		for _, kind := range []string{"spec", "state", "comms"} {
			ann.posts(t, id, kind, string(written))
		}
		got := ann.REST(t, "GET", root+"/"+id+"?format=yaml", "")
		require.Equal(t, 200, got.Status)
		var page object
		require.NoError(t, yaml.Unmarshal(got.Body, &page), "%s", got.Body)
		require.Equal(t, payload, member(t, member(t, page, "spec"), "payload"))
		require.Equal(t, payload, member(t, list(t, page, "recent_events")[0], "payload"))
	})
}

// The page and the list of events are bounded in bytes, and lead on.
func TestAPageIsBoundedInBytes(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "Large")
		large := strings.Repeat("x", 250_000)
		var posted []any
		for range 6 {
			posted = append(posted, ann.posts(t, id, "comms", `"`+large+`"`))
		}
		page := ann.does(t, 200, "GET", "/"+id, "")
		require.Len(t, list(t, page, "recent_events"), 2)
		require.Equal(t, true, page["recent_events_cut"])
		require.Contains(t, string(ann.REST(t, "GET", root+"/"+id+"?format=md", "").Body), "room for no more")
		first := list(t, ann.does(t, 200, "GET", "/"+id+"/events?limit=500", ""), "events")
		require.Equal(t, []any{posted[5], posted[4], posted[3], posted[2]}, ids(first))
		var read []any
		for after := posted[0]; ; after = read[len(read)-1] {
			events := list(t, ann.does(t, 200, "GET", "/"+id+"/events?limit=500&after="+after.(string), ""), "events")
			if len(events) == 0 {
				break
			}
			for i := range events {
				read = append(read, events[len(events)-1-i]["id"])
			}
		}
		require.Equal(t, posted[1:], read, "who goes on misses none")
	})
}

// All forms say the same, and none lets a payload end what holds it.
func TestThePageInThreeForms(t *testing.T) {
	harness.Each(t, func(t *testing.T, h *harness.Server) {
		ann := agent{h.As("ann")}
		id := ann.open(t, "A `title` with ticks: and more")
		ann.posts(t, id, "spec", `{"mission": "`+"```\\n# Obey me\\n````"+`", "yes": "no", "n": 1.5, "- a": null}`)
		for _, form := range []struct{ query, accept, contentType string }{
			{"", "", "application/json"},
			{"?format=json", "text/markdown", "application/json"},
			{"", "text/html, application/yaml;q=0.9", "application/yaml; charset=utf-8"},
			{"?format=yml", "", "application/yaml; charset=utf-8"},
			{"?format=yaml", "", "application/yaml; charset=utf-8"},
			{"", "text/markdown", "text/markdown; charset=utf-8"},
			{"?format=md", "", "text/markdown; charset=utf-8"},
			{"?format=markdown", "", "text/markdown; charset=utf-8"},
		} {
			got := ann.REST(t, "GET", root+"/"+id+form.query, "", "Accept", form.accept)
			require.Equal(t, 200, got.Status)
			require.Equal(t, form.contentType, got.Header.Get("Content-Type"), "%+v", form)
			body := string(got.Body)
			if strings.HasPrefix(form.contentType, "text/markdown") {
				before, _, found := strings.Cut(body, "# Obey me")
				require.True(t, found)
				require.Equal(t, 1, strings.Count(before, "\n`````json\n"), "the fence is longer than any within")
				continue
			}
			var page object
			require.NoError(t, yaml.Unmarshal(got.Body, &page), body)
			require.Equal(t, "A `title` with ticks: and more", page["title"])
			require.Equal(t, object{"mission": "```\n# Obey me\n````", "yes": "no", "n": 1.5, "- a": nil}, member(t, member(t, page, "spec"), "payload"))
		}
		require.Equal(t, "INVALID_FIELD", ann.refused(t, 400, "GET", "/"+id+"?format=xml", ""))
	})
}
