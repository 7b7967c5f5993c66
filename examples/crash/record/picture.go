package main

import (
	"fmt"
	"html"
	"strings"
	"time"
)

// These are the picture's measures, in the units of SVG, and how long it stands still at the end.
const (
	width, lineHeight, margin = 760, 20, 16
	shown                     = 26 // lines at a time
	standing                  = 5 * time.Second
	longest                   = 78 // characters of a line
)

var colors = map[string]string{"$": "#e6edf3", "server": "#d2a8ff", "data-agent": "#7ee787", "researcher": "#79c0ff"}

// picture returns lines as an SVG in which they appear one after the other, again and again. A viewer that shows no motion shows the last ones.
func picture(lines []line) string {
	end := lines[len(lines)-1].at + standing
	part := func(at time.Duration) float64 { return 100 * at.Seconds() / end.Seconds() }
	height := shown*lineHeight + 2*margin
	var style, text strings.Builder
	style.WriteString("@keyframes scroll{")
	for i, l := range lines {
		up := max(0, i+1-shown) * lineHeight
		if i > 0 {
			fmt.Fprintf(&style, "%.2f%%{transform:translateY(-%dpx)}", part(l.at)-0.01, max(0, i-shown)*lineHeight)
		}
		fmt.Fprintf(&style, "%.2f%%{transform:translateY(-%dpx)}", part(l.at), up)
		fmt.Fprintf(&text, `<text class="line" style="animation-name:l%d" y="%d" fill="%s"><tspan font-weight="bold">%s</tspan><tspan x="110">%s</tspan></text>`+"\n",
			i, i*lineHeight, colors[l.who], html.EscapeString(l.who), html.EscapeString(cut(l.text)))
	}
	last := max(0, len(lines)-shown) * lineHeight
	fmt.Fprintf(&style, "100%%{transform:translateY(-%dpx)}}\n", last)
	for i, l := range lines {
		fmt.Fprintf(&style, "@keyframes l%d{0%%,%.2f%%{opacity:0}%.2f%%,100%%{opacity:1}}\n", i, part(l.at)-0.01, part(l.at))
	}
	duration := fmt.Sprintf("%.1fs", end.Seconds())
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img">
<title>A server is killed while two agents talk: every question is answered once.</title>
<style>
.line{animation:%s infinite;white-space:pre}
.all{animation:scroll %s infinite;transform:translateY(-%dpx)}
%s</style>
<rect width="100%%" height="100%%" rx="8" fill="#0d1117"/>
<svg x="%d" y="%d" width="%d" height="%d"><g class="all" font-family="ui-monospace,Menlo,Consolas,monospace" font-size="13" transform="translate(0 14)">
<g transform="translate(0 14)">
%s</g></g></svg>
</svg>
`, width, height, width, height, duration, duration, last, style.String(), margin, margin, width-2*margin, shown*lineHeight, text.String())
}

func cut(text string) string {
	if runes := []rune(text); len(runes) > longest {
		return string(runes[:longest-1]) + "…"
	}
	return text
}
