package search

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// snippetRunes is how many characters a snippet has at most.
const snippetRunes = 200

// place is a part of a text.
type place struct {
	text       string
	start, end int
}

// snippet returns the part of the text around a place, in one line. What it leaves out at either end is shown by an ellipsis.
func (p place) snippet() string {
	room := snippetRunes - 2
	start, end := p.start, p.start
	grow := func(most int) {
		for ; most > 0 && end < len(p.text) && room > 0; most, room = most-1, room-1 {
			_, width := utf8.DecodeRuneInString(p.text[end:])
			end += width
		}
	}
	grow(utf8.RuneCountInString(p.text[p.start:p.end]))
	for before := room / 3; before > 0 && start > 0; before, room = before-1, room-1 {
		_, width := utf8.DecodeLastRuneInString(p.text[:start])
		start -= width
	}
	grow(room)
	shown := oneLine(p.text[start:end])
	if start > 0 {
		shown = "…" + shown
	}
	if end < len(p.text) {
		shown += "…"
	}
	return shown
}

// oneLine turns what would break a line, or would not show, into spaces.
func oneLine(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, text)
}
