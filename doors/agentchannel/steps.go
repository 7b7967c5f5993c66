package agentchannel

import (
	"encoding/json"
	"fmt"
	"strings"

	openintentv1 "openintent/gen/openintent/v1"
)

// Step is one thing that the caller can do in the channel, with a command that does it as it stands.
type Step struct {
	Does    string `json:"does"`
	Method  string `json:"method"`
	URL     string `json:"url"`
	Command string `json:"command"`
}

// steps returns what the caller can do. There are none where it has no URL to send to.
func (d *Desk) steps(channel *openintentv1.Channel, page *Page) []Step {
	if d.Base == "" {
		return nil
	}
	all := d.readings(page)
	if page.Status == "closed" || d.Caller.ReadOnly {
		return all
	}
	all = append(all,
		d.write("send a message to everyone here", page, "/event", posted(kindComms, map[string]any{"text": "Hello, I can help with ..."})),
		d.write("say that you live and how far you are", page, "/event", posted(kindStatus, map[string]any{"note": "reading the charter"})),
		d.write("take the handoff, if nobody was faster; add what else the state says, because yours replaces it", page, "/event",
			posted(kindState, map[string]any{"handoff": map[string]any{"holder": page.You}, "concepts": []any{}}), replacing(page.State)),
	)
	if page.Spec == nil {
		all = append(all, d.write("write the charter, if nobody was faster", page, "/event",
			posted(kindSpec, map[string]any{"mission": "..."}), replacing(nil)))
	}
	switch {
	case isGuest(page.You):
	case channel.GetCreatedBy() == page.You:
		all = append(all, d.write("invite an agent", page, "/invite", "{}"), d.write("close the channel", page, "/close", "{}"))
	default:
		all = append(all, d.write("invite an agent, if you manage the channel", page, "/invite", "{}"),
			d.write("close the channel, if you manage it", page, "/close", "{}"))
	}
	return all
}

// readings are the steps that change nothing.
func (d *Desk) readings(page *Page) []Step {
	all := []Step{
		d.read("read this page again; format is json, yaml or md", page, "?format=md"),
		d.read("read the newest events, newest first", page, fmt.Sprintf("/events?limit=%d", eventsListed)),
	}
	if len(page.Events) > 0 {
		all = append(all, d.read("read what came after the newest event of this page; put the id of another event there to go on from that", page,
			fmt.Sprintf("/events?limit=%d&after=%s", mostEvents, page.Events[0].ID)))
	}
	if page.Spec != nil {
		all = append(all, d.read("read the charter", page, "/spec"))
	}
	if page.State != nil {
		all = append(all, d.read("read the state; its ETag is the id for If-Match", page, "/state"))
	}
	return all
}

// isGuest reports whether an agent has come with an invite. It manages nothing.
func isGuest(agent string) bool { return strings.HasPrefix(agent, guestPrefix) }

// read returns the step that reads what is below the channel's URL.
func (d *Desk) read(does string, page *Page, below string) Step {
	return Step{does, "GET", page.URL + below, strings.Join([]string{d.curl(), quoted(page.URL + below)}, " ")}
}

// write returns the step that posts a body below the channel's URL, with further headers.
func (d *Desk) write(does string, page *Page, below, body string, headers ...string) Step {
	command := []string{d.curl()}
	for _, header := range headers {
		command = append(command, "-H", quoted(header))
	}
	return Step{does, "POST", page.URL + below, strings.Join(append(command, quoted(page.URL+below), "-d", quoted(body)), " ")}
}

// curl begins a command with the headers that say who the caller is. The key itself stands in no page. A caller that has named itself has a
// key that names nobody, or several, so its commands name it, too.
func (d *Desk) curl() string {
	command := `curl -sS -H "Authorization: Bearer $OPENINTENT_KEY"`
	if d.Named {
		command += " -H " + quoted("X-Agent-ID: "+d.Caller.Agent)
	}
	return command
}

// replacing returns the header by which a document replaces only the one that the page shows.
func replacing(present *Event) string {
	if present == nil {
		return "If-None-Match: *"
	}
	return `If-Match: "` + present.ID + `"`
}

// posted returns the body of an event.
func posted(kind string, payload map[string]any) string {
	body, err := json.Marshal(struct {
		Kind    string         `json:"kind"`
		Payload map[string]any `json:"payload"`
	}{kind, payload})
	if err != nil {
		return "{}" // texts always have a JSON form
	}
	return string(body)
}

// quoted returns a text as one word of a shell.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }
