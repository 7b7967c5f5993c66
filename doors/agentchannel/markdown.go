package agentchannel

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// inMarkdown writes an answer for an agent that reads text. What the server vouches for comes first; what other agents wrote stands in fences
// of its own. text is the answer's JSON, which stands for answers that have no form of their own.
func inMarkdown(answer any, text []byte) []byte {
	var out bytes.Buffer
	switch answer := answer.(type) {
	case *Page:
		answer.markdown(&out)
	case *Event:
		answer.markdown(&out)
	case eventList:
		writeEvents(&out, answer.Events)
	default:
		writeFenced(&out, "json", string(bytes.TrimSpace(text)))
	}
	return out.Bytes()
}

func (p *Page) markdown(out *bytes.Buffer) {
	fmt.Fprintf(out, "# Agent channel %s\n\n%s\n", p.ID, strings.Join(p.About, "\n\n"))
	fmt.Fprintf(out, "\n- address: %s\n- status: %s\n- created: %s by %s\n- you are: %s\n", code(p.URL), p.Status, p.CreatedAt, code(p.CreatedBy), code(p.You))
	if p.ClosedAt != "" {
		fmt.Fprintf(out, "- closed: %s; it takes no more events\n", p.ClosedAt)
	}
	fmt.Fprintf(out, "- title, as its creator wrote it: %s\n", code(p.Title))
	if len(p.Participate) > 0 {
		out.WriteString("\n## How to take part\n\nPut the key that you were given into `OPENINTENT_KEY`. If you were given a URL with a `#`, what " +
			"stands behind the `#` is the key.\n")
	}
	for _, step := range p.Participate {
		fmt.Fprintf(out, "\nTo %s:\n\n", step.Does)
		writeFenced(out, "sh", step.Command)
	}
	writeDocument(out, "Charter", p.Spec)
	writeDocument(out, "State", p.State)
	if len(p.Agents) > 0 {
		out.WriteString("\n## Agents\n\n")
	}
	for _, name := range slices.Sorted(maps.Keys(p.Agents)) {
		fmt.Fprintf(out, "- %s: %s\n", code(name), p.Agents[name])
	}
	out.WriteString("\n## Newest events\n")
	writeEvents(out, p.Events)
}

// String says what there is to say of an agent.
func (p Presence) String() string {
	said := "not seen of late"
	if p.LastSeen != "" {
		said = "last seen " + p.LastSeen
	}
	if p.HoldsWork {
		said += ", holds work"
	}
	if p.PresumedDead {
		said += ", presumed dead"
	}
	return said
}

func writeDocument(out *bytes.Buffer, heading string, document *Event) {
	fmt.Fprintf(out, "\n## %s\n", heading)
	if document == nil {
		out.WriteString("\nThere is none yet.\n")
		return
	}
	document.markdown(out)
}

func writeEvents(out *bytes.Buffer, events []Event) {
	if len(events) == 0 {
		out.WriteString("\nThere are none.\n")
	}
	for _, event := range events {
		event.markdown(out)
	}
}

// markdown writes an event: a line with what the server vouches for, and after it the payload in a fence.
func (e *Event) markdown(out *bytes.Buffer) {
	fmt.Fprintf(out, "\n%s, kind %s, by %s, event %s", e.CreatedAt, code(e.Kind), code(e.Author), code(e.ID))
	if e.Type != "" {
		fmt.Fprintf(out, ", a %s", e.Type)
	}
	if e.To != "" {
		fmt.Fprintf(out, ", to %s", code(e.To))
	}
	switch {
	case e.Deleted:
		out.WriteString(", deleted\n")
		return
	case e.Edited:
		out.WriteString(", edited")
	}
	out.WriteString(":\n\n")
	payload, err := inJSON(e.Payload)
	if err != nil {
		payload = []byte("{}") // what the contract hands out is JSON
	}
	writeFenced(out, "json", string(bytes.TrimSpace(payload)))
}

// writeFenced writes a text in a fence that is longer than any within.
func writeFenced(out *bytes.Buffer, language, text string) {
	fence := strings.Repeat("`", max(3, longestRun(text)+1))
	fmt.Fprintf(out, "%s%s\n%s\n%s\n", fence, language, text, fence)
}

// code writes a text of one line as code, between more backticks than it has itself.
func code(text string) string {
	text = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == 0x85 || r == 0x2028 || r == 0x2029 {
			return ' '
		}
		return r
	}, text)
	marks := strings.Repeat("`", longestRun(text)+1)
	if strings.HasPrefix(text, "`") || strings.HasSuffix(text, "`") || len(marks) > 1 || text == "" {
		text = " " + text + " "
	}
	return marks + text + marks
}

// longestRun is how many backticks follow each other in a text at most.
func longestRun(text string) (longest int) {
	run := 0
	for i := range len(text) {
		if run++; text[i] != '`' {
			run = 0
		}
		longest = max(longest, run)
	}
	return longest
}
