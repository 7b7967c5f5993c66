package agentchannel

import (
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
		event := list(t, ann.does(t, 200, "GET", "/"+id+"/events", ""), "events")[0]["id"].(string)
		taken := 0
		for _, line := range strings.Split(page, "\n") {
			if !strings.HasPrefix(line, "curl ") {
				continue
			}
			taken++
			answer := curl(t, key, strings.ReplaceAll(line, "EVENT_ID", event))
			switch {
			case strings.Contains(line, "/invite"), strings.Contains(line, "/close"):
				require.Contains(t, answer, "FORBIDDEN", line)
			case strings.HasSuffix(line, "/state'"):
				require.Contains(t, answer, "DOCUMENT_NOT_FOUND", line)
			default:
				require.NotContains(t, answer, `"reason"`, line)
			}
		}
		require.Equal(t, 10, taken)
		require.Equal(t, []any{"state", "status", "comms", "spec"}, kinds(list(t, ann.does(t, 200, "GET", "/"+id+"/events", ""), "events")))
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
