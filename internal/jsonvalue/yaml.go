package jsonvalue

import (
	"bufio"
	"bytes"
	"unicode"
	"unicode/utf8"
)

// longestImplicitKey is how many bytes a key has at most that stands before its colon as it is. YAML allows 1,024 characters; a longer one
// is marked with a question mark.
const longestImplicitKey = 1000

// WriteYAML writes checked text as YAML that every reader of YAML 1.1 and 1.2 reads as the same value. It is a stream as that of WriteLines,
// and keeps to one line what that keeps there.
//
// Each string stands in quotation marks, with escapes for all that is not a visible character. Only a key of small letters and underscores
// stands alone, unless a reader of YAML 1.1 would take it for something else, as `yes`. A number is in a form that all readers take for one.
func WriteYAML(out *bufio.Writer, text []byte) {
	w := yamlWriter{newLayout(out, text)}
	if lines, free := w.overLines(0, false); lines {
		w.block(0, free, true)
		return
	}
	w.inline()
	_ = out.WriteByte('\n')
}

type yamlWriter struct{ layout }

// block writes the next list or object with an entry to each line. begun says that the first line has its indentation already.
func (w *yamlWriter) block(depth int, free, begun bool) {
	if w.in.peek() == '[' {
		for range w.in.elements {
			w.begin(depth, &begun)
			_ = w.out.WriteByte('-')
			w.entry(depth+1, free, true)
		}
		return
	}
	for key := range w.in.members {
		w.begin(depth, &begun)
		if w.key(unescape(key)) {
			w.entry(depth+1, free, false)
			continue
		}
		w.newLine(depth)
		_, _ = w.out.WriteString(": ")
		w.inline()
		_ = w.out.WriteByte('\n')
	}
}

// begin indents a line, unless that is done.
func (w *yamlWriter) begin(depth int, begun *bool) {
	if !*begun {
		w.indent(depth)
	}
	*begun = false
}

// entry writes the next value behind a key or a dash, to the end of its line or of its lines. What opens behind a dash begins beside it.
func (w *yamlWriter) entry(depth int, free, dash bool) {
	lines, free := w.overLines(depth, free)
	if lines && !dash {
		_ = w.out.WriteByte('\n')
	} else {
		_ = w.out.WriteByte(' ')
	}
	if lines {
		w.block(depth, free, dash)
		return
	}
	w.inline()
	_ = w.out.WriteByte('\n')
}

// inline writes the next value within a line.
func (w *yamlWriter) inline() {
	first := true
	separate := func() {
		if !first {
			_, _ = w.out.WriteString(", ")
		}
		first = false
	}
	switch w.in.peek() {
	case '[':
		_ = w.out.WriteByte('[')
		for range w.in.elements {
			separate()
			w.inline()
		}
		_ = w.out.WriteByte(']')
	case '{':
		_ = w.out.WriteByte('{')
		for key := range w.in.members {
			separate()
			if w.key(unescape(key)) {
				_ = w.out.WriteByte(' ')
			} else {
				_, _ = w.out.WriteString(" : ")
			}
			w.inline()
		}
		_ = w.out.WriteByte('}')
	case '"':
		w.text(unescape(w.in.quoted()))
	default:
		w.scalar(w.in.scalar())
	}
}

// key writes a key with its colon, and reports whether it has. A long key is marked as one, and its colon is left to the caller.
func (w *yamlWriter) key(key []byte) (complete bool) {
	switch {
	case isPlain(key):
		_, _ = w.out.Write(key)
	case quotedLength(key) > longestImplicitKey:
		_, _ = w.out.WriteString("? ")
		w.text(key)
		return false
	default:
		w.text(key)
	}
	_ = w.out.WriteByte(':')
	return true
}

// wordsOfOldYAML are what YAML 1.1 or 1.2 takes for a boolean or for nothing, of small letters.
var wordsOfOldYAML = map[string]bool{
	"y": true, "n": true, "yes": true, "no": true, "on": true, "off": true, "true": true, "false": true, "null": true,
}

// isPlain reports whether a key needs no quotation marks.
func isPlain(key []byte) bool {
	if len(key) == 0 || len(key) > longestImplicitKey || wordsOfOldYAML[string(key)] {
		return false
	}
	for _, c := range key {
		if (c < 'a' || c > 'z') && c != '_' {
			return false
		}
	}
	return true
}

// text writes characters as a string in quotation marks.
func (w *yamlWriter) text(text []byte) {
	_ = w.out.WriteByte('"')
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		writeCharacter(w.out, r)
		text = text[size:]
	}
	_ = w.out.WriteByte('"')
}

// shortYAML are the escapes of one letter.
var shortYAML = map[rune]byte{'"': '"', '\\': '\\', '\b': 'b', '\t': 't', '\n': 'n', '\f': 'f', '\r': 'r'}

// writeCharacter writes a character within quotation marks. Readers refuse some characters, and change others that break lines, so that only
// what is visible stands there as it is.
func writeCharacter(out *bufio.Writer, r rune) {
	const hex = "0123456789ABCDEF"
	short, isShort := shortYAML[r]
	digits := lengthOfEscape(r)
	switch {
	case isShort:
		_ = out.WriteByte('\\')
		_ = out.WriteByte(short)
		return
	case digits == 0:
		_, _ = out.WriteRune(r)
		return
	case digits == 4:
		_, _ = out.WriteString(`\u`)
	default:
		_, _ = out.WriteString(`\U`)
	}
	for digits--; digits >= 0; digits-- {
		_ = out.WriteByte(hex[r>>(4*digits)&15])
	}
}

// lengthOfEscape returns how many digits the escape of a character has; 0 for one that needs none.
func lengthOfEscape(r rune) int {
	switch {
	case unicode.IsPrint(r):
		return 0
	case r <= 0xFFFF:
		return 4
	}
	return 8
}

// quotedLength is an upper bound on how many bytes a key takes in quotation marks.
func quotedLength(key []byte) int {
	length := 2
	for _, r := range string(key) {
		length += max(utf8.RuneLen(r), lengthOfEscape(r)+2)
	}
	return length
}

// scalar writes a number, true, false or null. YAML 1.1 takes a number with an exponent for one only if it has a point and the exponent a
// sign.
func (w *yamlWriter) scalar(literal []byte) {
	at := bytes.IndexAny(literal, "eE")
	if at < 0 || literal[0] == 't' || literal[0] == 'f' {
		_, _ = w.out.Write(literal)
		return
	}
	mantissa, exponent := literal[:at], literal[at+1:]
	_, _ = w.out.Write(mantissa)
	if bytes.IndexByte(mantissa, '.') < 0 {
		_, _ = w.out.WriteString(".0")
	}
	_ = w.out.WriteByte('e')
	if isDigit(exponent[0]) {
		_ = w.out.WriteByte('+')
	}
	_, _ = w.out.Write(exponent)
}
