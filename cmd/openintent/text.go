package main

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// All text that others wrote passes through here before it reaches a terminal. A terminal takes control characters
// for commands, and a payload must not move the cursor, hide a line or change a title.

// escaped writes control characters, invisible characters, and characters that change the direction of text, as
// escapes.
func escaped(text string) string {
	if !strings.ContainsFunc(text, isCommand) && utf8.ValidString(text) {
		return text
	}
	var out strings.Builder
	for i := 0; i < len(text); {
		c, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case c == utf8.RuneError && size == 1:
			_, _ = fmt.Fprintf(&out, `\x%02x`, text[i])
		case c == '\n':
			out.WriteString(`\n`)
		case c == '\t':
			out.WriteString(`\t`)
		case isCommand(c) && c < 0x10000:
			_, _ = fmt.Fprintf(&out, `\u%04x`, c)
		case isCommand(c):
			_, _ = fmt.Fprintf(&out, `\U%08x`, c)
		default:
			out.WriteRune(c)
		}
		i += size
	}
	return out.String()
}

// isCommand reports whether a terminal may act upon a character rather than show it. The joiners of emoji and scripts
// do not count as commands.
func isCommand(c rune) bool {
	const joiner, nonJoiner = 0x200d, 0x200c
	return c != joiner && c != nonJoiner &&
		(unicode.In(c, unicode.Cc, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co) || c >= 0xe0000 && c < 0xe0100)
}

// oneLine turns a text into one line that is safe for a terminal.
func oneLine(text string) string { return escaped(strings.Join(strings.Fields(text), " ")) }

// columns returns how many columns of a terminal an escaped text takes.
func columns(text string) (width int) {
	for _, c := range text {
		width += columnsOf(c)
	}
	return width
}

// wide are the characters that take two columns: East Asian ones, and emoji.
var wide = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x1100, Hi: 0x115f, Stride: 1}, {Lo: 0x231a, Hi: 0x231b, Stride: 1}, {Lo: 0x23e9, Hi: 0x23ec, Stride: 1},
		{Lo: 0x25fd, Hi: 0x25fe, Stride: 1}, {Lo: 0x2614, Hi: 0x2615, Stride: 1}, {Lo: 0x2648, Hi: 0x2653, Stride: 1},
		{Lo: 0x26a1, Hi: 0x26a1, Stride: 1}, {Lo: 0x26aa, Hi: 0x26ab, Stride: 1}, {Lo: 0x26bd, Hi: 0x26be, Stride: 1},
		{Lo: 0x2705, Hi: 0x2705, Stride: 1}, {Lo: 0x270a, Hi: 0x270b, Stride: 1}, {Lo: 0x2728, Hi: 0x2728, Stride: 1},
		{Lo: 0x274c, Hi: 0x274c, Stride: 1}, {Lo: 0x2753, Hi: 0x2755, Stride: 1}, {Lo: 0x2757, Hi: 0x2757, Stride: 1},
		{Lo: 0x2795, Hi: 0x2797, Stride: 1}, {Lo: 0x2b50, Hi: 0x2b50, Stride: 1}, {Lo: 0x2e80, Hi: 0x303e, Stride: 1},
		{Lo: 0x3041, Hi: 0x4dbf, Stride: 1}, {Lo: 0x4e00, Hi: 0xa4cf, Stride: 1}, {Lo: 0xa960, Hi: 0xa97c, Stride: 1},
		{Lo: 0xac00, Hi: 0xd7a3, Stride: 1}, {Lo: 0xf900, Hi: 0xfaff, Stride: 1}, {Lo: 0xfe30, Hi: 0xfe6f, Stride: 1},
		{Lo: 0xff01, Hi: 0xff60, Stride: 1}, {Lo: 0xffe0, Hi: 0xffe6, Stride: 1},
	},
	R32: []unicode.Range32{
		{Lo: 0x16fe0, Hi: 0x18aff, Stride: 1}, {Lo: 0x1b000, Hi: 0x1b2ff, Stride: 1}, {Lo: 0x1f300, Hi: 0x1f64f, Stride: 1},
		{Lo: 0x1f680, Hi: 0x1f6ff, Stride: 1}, {Lo: 0x1f7e0, Hi: 0x1f7eb, Stride: 1}, {Lo: 0x1f90c, Hi: 0x1f9ff, Stride: 1},
		{Lo: 0x1fa70, Hi: 0x1faff, Stride: 1}, {Lo: 0x20000, Hi: 0x3fffd, Stride: 1},
	},
}

func columnsOf(c rune) int {
	switch {
	case c < 0x300:
		return 1
	case unicode.In(c, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.Is(wide, c):
		return 2
	}
	return 1
}

// shortened cuts an escaped text to a width and marks the cut.
func shortened(text string, width int) string {
	if columns(text) <= width {
		return text
	}
	used := 1 // for the mark
	for i, c := range text {
		if used += columnsOf(c); used > width {
			return text[:i] + "…"
		}
	}
	return text
}
