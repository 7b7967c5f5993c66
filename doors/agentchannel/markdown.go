package agentchannel

import (
	"bufio"
	"fmt"
	"maps"
	"slices"
	"strings"

	"openintent/internal/jsonvalue"
)

// writeMarkdown writes an answer for an agent that reads text. What the server vouches for comes first; what other agents wrote stands in
// fences of its own. text is the answer's JSON, which stands for answers that have no form of their own.
func writeMarkdown(out *bufio.Writer, answer any, text []byte) {
	switch answer := answer.(type) {
	case *Page:
		answer.markdown(out)
	case *Event:
		answer.markdown(out)
	case eventList:
		writeEvents(out, answer.Events)
	default:
		writeFencedJSON(out, text)
	}
}

func (p *Page) markdown(out *bufio.Writer) {
	_, _ = fmt.Fprintf(out, "# Agent channel %s\n\n%s\n", p.ID, strings.Join(p.About, "\n\n"))
	_, _ = fmt.Fprintf(out, "\n- address: %s\n- status: %s\n- created: %s by %s\n- you are: %s\n", code(p.URL), p.Status, p.CreatedAt, code(p.CreatedBy), code(p.You))
	if p.ClosedAt != "" {
		_, _ = fmt.Fprintf(out, "- closed: %s; it takes no more events\n", p.ClosedAt)
	}
	_, _ = fmt.Fprintf(out, "- title, as its creator wrote it: %s\n", code(p.Title))
	if len(p.Participate) > 0 {
		_, _ = out.WriteString("\n## How to take part\n\nPut the key that you were given into `OPENINTENT_KEY`. If you were given a URL with a `#`, what " +
			"stands behind the `#` is the key.\n")
	}
	for _, step := range p.Participate {
		_, _ = fmt.Fprintf(out, "\nTo %s:\n\n", step.Does)
		writeFenced(out, step.Command)
	}
	writeDocument(out, "Charter", p.Spec)
	writeDocument(out, "State", p.State)
	p.writeAgents(out)
	_, _ = out.WriteString("\n## Newest events\n")
	writeEvents(out, p.Events)
	if p.EventsCut {
		_, _ = out.WriteString("\nThis page has room for no more; the list of events has those before.\n")
	}
}

// writeAgents writes who posted something of late, for which the server vouches, and apart from them, in a fence, whom only the state names.
func (p *Page) writeAgents(out *bufio.Writer) {
	if len(p.Agents) == 0 {
		return
	}
	_, _ = out.WriteString("\n## Agents\n")
	named := make(map[string]Presence)
	begun := false
	for _, name := range slices.Sorted(maps.Keys(p.Agents)) {
		presence := p.Agents[name]
		if presence.LastSeen == "" {
			named[name] = presence
			continue
		}
		if !begun {
			_, _ = out.WriteString("\n")
		}
		begun = true
		_, _ = fmt.Fprintf(out, "- %s: %s\n", code(name), presence)
	}
	if len(named) == 0 {
		return
	}
	_, _ = out.WriteString("\nBy the state these hold work, too, and they have posted nothing of late. The names are as the state's author wrote them:\n\n")
	if text, err := inJSON(named); err == nil {
		writeFencedJSON(out, text)
	}
}

// String says what there is to say of an agent that posted something of late.
func (p Presence) String() string {
	said := "last seen " + p.LastSeen
	if p.HoldsWork {
		said += ", holds work"
	}
	if p.PresumedDead {
		said += ", presumed dead"
	}
	return said
}

func writeDocument(out *bufio.Writer, heading string, document *Event) {
	_, _ = fmt.Fprintf(out, "\n## %s\n", heading)
	if document == nil {
		_, _ = out.WriteString("\nThere is none yet.\n")
		return
	}
	document.markdown(out)
}

func writeEvents(out *bufio.Writer, events []Event) {
	if len(events) == 0 {
		_, _ = out.WriteString("\nThere are none.\n")
	}
	for _, event := range events {
		event.markdown(out)
	}
}

// markdown writes an event: a line with what the server vouches for, and after it the payload in a fence.
func (e *Event) markdown(out *bufio.Writer) {
	_, _ = fmt.Fprintf(out, "\n%s, kind %s, by %s, event %s", e.CreatedAt, code(e.Kind), code(e.Author), code(e.ID))
	if e.Type != "" {
		_, _ = fmt.Fprintf(out, ", a %s", e.Type)
	}
	if e.To != "" {
		_, _ = fmt.Fprintf(out, ", to %s", code(e.To))
	}
	switch {
	case e.Deleted:
		_, _ = out.WriteString(", deleted\n")
		return
	case e.Edited:
		_, _ = out.WriteString(", edited")
	}
	_, _ = out.WriteString(":\n\n")
	writeFencedJSON(out, e.Payload)
}

// writeFenced writes a command in a fence that is longer than any within.
func writeFenced(out *bufio.Writer, command string) {
	fence := fenceOf(command)
	_, _ = fmt.Fprintf(out, "%ssh\n%s\n%s\n", fence, command, fence)
}

// writeFencedJSON writes checked JSON in a fence that is longer than any within.
func writeFencedJSON(out *bufio.Writer, text []byte) {
	fence := fenceOf(string(text))
	_, _ = fmt.Fprintf(out, "%sjson\n", fence)
	jsonvalue.WriteLines(out, text)
	_, _ = fmt.Fprintf(out, "%s\n", fence)
}

func fenceOf(text string) string { return strings.Repeat("`", max(3, longestRun(text)+1)) }

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
