package jsonvalue

import (
	"bytes"
	"cmp"
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

// unescape returns the characters of a checked string without quotes. If there are no escapes, it returns the text itself and
// not a copy.
func unescape(raw []byte) []byte {
	next := bytes.IndexByte(raw, '\\')
	if next < 0 {
		return raw
	}
	out := make([]byte, 0, len(raw))
	for next >= 0 {
		out = append(out, raw[:next]...)
		raw = raw[next:]
		if raw[1] == 'u' {
			r, size := escapedRune(raw)
			out = utf8.AppendRune(out, r)
			raw = raw[size:]
		} else {
			out = append(out, shortEscapes[raw[1]])
			raw = raw[2:]
		}
		next = bytes.IndexByte(raw, '\\')
	}
	return append(out, raw...)
}

var shortEscapes = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// escapedRune reads a \u escape, or a pair of them, and returns its character and its length.
func escapedRune(raw []byte) (rune, int) {
	high := codeUnit(raw[2:6])
	if !isHighSurrogate(high) {
		return high, 6
	}
	return utf16.DecodeRune(high, codeUnit(raw[8:12])), 12
}

func codeUnit(digits []byte) rune {
	var unit rune
	for _, c := range digits {
		digit, _ := hexDigit(c)
		unit = unit<<4 | digit
	}
	return unit
}

func hexDigit(c byte) (rune, bool) {
	switch {
	case isDigit(c):
		return rune(c - '0'), true
	case c >= 'a' && c <= 'f':
		return rune(c-'a') + 10, true
	case c >= 'A' && c <= 'F':
		return rune(c-'A') + 10, true
	}
	return 0, false
}

func isHighSurrogate(unit rune) bool { return unit >= 0xD800 && unit < 0xDC00 }

func isLowSurrogate(unit rune) bool { return unit >= 0xDC00 && unit < 0xE000 }

// appendString writes a string with its quotes as RFC 8785 requires it, without unnecessary escapes.
func appendString[T string | []byte](out []byte, s T) []byte {
	const hex = "0123456789abcdef"
	out = append(slices.Grow(out, len(s)+2), '"')
	plain := 0 // the first byte that is not written yet; none from there to i needs an escape
	for i := range len(s) {
		c := s[i]
		if c >= ' ' && c != '"' && c != '\\' {
			continue
		}
		out = append(out, s[plain:i]...)
		plain = i + 1
		switch c {
		case '"', '\\':
			out = append(out, '\\', c)
		case '\b':
			out = append(out, `\b`...)
		case '\f':
			out = append(out, `\f`...)
		case '\n':
			out = append(out, `\n`...)
		case '\r':
			out = append(out, `\r`...)
		case '\t':
			out = append(out, `\t`...)
		default:
			out = append(out, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		}
	}
	out = append(out, s[plain:]...)
	return append(out, '"')
}

// compareKeys orders keys by their UTF-16 code units, as RFC 8785 does.
func compareKeys[T string | []byte](a, b T) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return cmp.Compare(rankUTF16(a[i]), rankUTF16(b[i]))
		}
	}
	return cmp.Compare(len(a), len(b))
}

// rankUTF16 orders the first bytes of UTF-8 sequences as UTF-16 would. The two orders differ in one thing only: UTF-16 writes
// the characters whose UTF-8 begins with 0xF0 to 0xF4 as surrogates, and these come before the characters that begin with 0xEE
// and 0xEF.
func rankUTF16(c byte) byte {
	switch {
	case c >= 0xF0:
		return c - 2
	case c >= 0xEE:
		return c + 5
	}
	return c
}
