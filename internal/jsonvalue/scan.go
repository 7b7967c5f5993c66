package jsonvalue

import (
	"bytes"
	"fmt"
	"slices"
	"unicode/utf8"
)

// MaxDepth is how many objects and lists may be nested within each other, including the outermost.
const MaxDepth = 64

// Check validates JSON text of any kind by the rules of the package comment. Only white space may surround the one value. The
// path names the text in the *Violation that Check returns; it may be empty.
func Check(text []byte, path string) error {
	s := scanner{text: text, deepest: MaxDepth}
	if v := s.document(); v != nil {
		return v.underRoot(path)
	}
	return nil
}

// scanner reads a text once, from left to right. It recurses only as deep as its bound.
type scanner struct {
	text []byte
	at   int
	// deepest is the bound on nesting.
	deepest int
	// spaced is true if there was white space between tokens.
	spaced bool
	// anyInteger lifts the bound on integer literals; see Canonical.
	anyInteger bool
}

// span is the place of a key in the text, without its quotes.
type span struct {
	start, end int
	escaped    bool
}

func (s *scanner) document() *Violation {
	s.space()
	if v := s.value(1); v != nil {
		return v
	}
	s.space()
	if s.at < len(s.text) {
		return s.unexpected()
	}
	return nil
}

// value reads one value; depth is the value's depth if it is an object or a list.
func (s *scanner) value(depth int) *Violation {
	switch c := s.peek(); c {
	case '"':
		_, v := s.quoted()
		return v
	case '{':
		return s.object(depth)
	case '[':
		return s.list(depth)
	case 't':
		return s.word("true")
	case 'f':
		return s.word("false")
	case 'n':
		return s.word("null")
	default:
		if c == '-' || isDigit(c) {
			return s.number()
		}
		return s.unexpected()
	}
}

func (s *scanner) object(depth int) *Violation {
	if depth > s.deepest {
		return tooDeep()
	}
	s.at++
	s.space()
	if s.peek() == '}' {
		s.at++
		return nil
	}
	var few [fewKeys]span // kept out of the scanner, where the compiler would move it to the heap
	keys := few[:0]
	for {
		key, v := s.key()
		if v != nil {
			return v
		}
		keys = append(keys, key)
		if v := s.value(depth + 1); v != nil {
			return v.underKey(s.decoded(key))
		}
		more, v := s.another('}')
		if v != nil {
			return v
		}
		if !more {
			break
		}
	}
	return s.refuseRepeated(keys)
}

// key reads a key and its colon.
func (s *scanner) key() (span, *Violation) {
	if s.peek() != '"' {
		return span{}, s.unexpected()
	}
	start := s.at + 1
	escaped, v := s.quoted()
	if v != nil {
		return span{}, v
	}
	key := span{start, s.at - 1, escaped}
	s.space()
	if s.peek() != ':' {
		return span{}, s.unexpected()
	}
	s.at++
	s.space()
	return key, nil
}

func (s *scanner) decoded(key span) []byte {
	return unescape(s.text[key.start:key.end])
}

func (s *scanner) list(depth int) *Violation {
	if depth > s.deepest {
		return tooDeep()
	}
	s.at++
	s.space()
	if s.peek() == ']' {
		s.at++
		return nil
	}
	for index := 0; ; index++ {
		if v := s.value(depth + 1); v != nil {
			return v.underIndex(index)
		}
		more, v := s.another(']')
		if v != nil || !more {
			return v
		}
	}
}

// another reads what follows a member or an element: a comma, or the given closing bracket. It reports whether another one
// follows.
func (s *scanner) another(closing byte) (bool, *Violation) {
	s.space()
	switch s.peek() {
	case ',':
		s.at++
		s.space()
		return true, nil
	case closing:
		s.at++
		return false, nil
	default:
		return false, s.unexpected()
	}
}

// fewKeys is the largest number of keys for which comparing all pairs is faster than a map.
const fewKeys = 16

// refuseRepeated refuses a key that appears twice in one object.
func (s *scanner) refuseRepeated(keys []span) *Violation {
	if len(keys) > fewKeys || slices.ContainsFunc(keys, func(key span) bool { return key.escaped }) {
		return s.refuseRepeatedOfMany(keys)
	}
	for i := 1; i < len(keys); i++ {
		key := s.text[keys[i].start:keys[i].end]
		for _, earlier := range keys[:i] {
			if bytes.Equal(key, s.text[earlier.start:earlier.end]) {
				return repeated(key)
			}
		}
	}
	return nil
}

// refuseRepeatedOfMany takes time in proportion to the number of keys, because a stranger chooses that number.
func (s *scanner) refuseRepeatedOfMany(keys []span) *Violation {
	seen := make(map[string]struct{}, len(keys))
	for _, key := range keys {
		decoded := string(s.decoded(key))
		if _, twice := seen[decoded]; twice {
			return repeated([]byte(decoded))
		}
		seen[decoded] = struct{}{}
	}
	return nil
}

// plain marks the ASCII characters that need no escape within a string.
var plain = func() (table [256]bool) {
	for c := ' '; c < utf8.RuneSelf; c++ {
		table[c] = c != '"' && c != '\\'
	}
	return table
}()

// quoted reads a string with its quotes, and reports whether it has escapes.
func (s *scanner) quoted() (escaped bool, _ *Violation) {
	s.at++
	for s.at < len(s.text) {
		c := s.text[s.at]
		switch {
		case plain[c]:
			s.at++
		case c == '"':
			s.at++
			return escaped, nil
		case c == '\\':
			escaped = true
			if v := s.escape(); v != nil {
				return escaped, v
			}
		case c == 0:
			return escaped, zeroCharacter()
		case c < ' ':
			return escaped, refuse("a string holds the bare control character U+%04X; it must be escaped.", c)
		default:
			r, size := utf8.DecodeRune(s.text[s.at:])
			if r == utf8.RuneError && size == 1 {
				return escaped, notUTF8()
			}
			s.at += size
		}
	}
	return escaped, s.unexpected()
}

// escape reads one escape of a string; a pair of surrogates counts as one.
func (s *scanner) escape() *Violation {
	s.at++
	switch s.peek() {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		s.at++
		return nil
	case 'u':
		s.at++
	default:
		return s.unexpected()
	}
	unit, v := s.codeUnit()
	switch {
	case v != nil:
		return v
	case unit == 0:
		return zeroCharacter()
	case isLowSurrogate(unit):
		return loneSurrogate(unit)
	case !isHighSurrogate(unit):
		return nil
	}
	if !bytes.HasPrefix(s.text[s.at:], []byte(`\u`)) {
		return loneSurrogate(unit)
	}
	s.at += 2
	low, v := s.codeUnit()
	if v == nil && !isLowSurrogate(low) {
		return loneSurrogate(unit)
	}
	return v
}

// codeUnit reads the four hexadecimal digits of an escape.
func (s *scanner) codeUnit() (rune, *Violation) {
	var unit rune
	for range 4 {
		digit, ok := hexDigit(s.peek())
		if !ok {
			return 0, s.unexpected()
		}
		unit = unit<<4 | digit
		s.at++
	}
	return unit, nil
}

func (s *scanner) word(word string) *Violation {
	for i := range len(word) {
		if s.peek() != word[i] {
			return s.unexpected()
		}
		s.at++
	}
	return nil
}

func (s *scanner) space() {
	for s.at < len(s.text) {
		switch s.text[s.at] {
		case ' ', '\t', '\r', '\n':
			s.at++
			s.spaced = true
		default:
			return
		}
	}
}

// peek returns the next byte. At the end of the text it returns 0, with which no token begins.
func (s *scanner) peek() byte {
	if s.at < len(s.text) {
		return s.text[s.at]
	}
	return 0
}

// unexpected refuses the next byte, or the end of the text.
func (s *scanner) unexpected() *Violation {
	if s.at >= len(s.text) {
		return refuse("the JSON text ends too early.")
	}
	r, size := utf8.DecodeRune(s.text[s.at:])
	if r == utf8.RuneError && size == 1 {
		return notUTF8()
	}
	return refuse("not JSON: the character %q at byte %d is not expected there.", r, s.at)
}

func refuse(reason string, args ...any) *Violation {
	return &Violation{Reason: fmt.Sprintf(reason, args...)}
}

func tooDeep() *Violation {
	return refuse("objects and lists may be nested at most %d deep.", MaxDepth)
}

func repeated(key []byte) *Violation {
	return refuse("the key %s appears twice in one object; a key may appear only once.", quoteKey(key))
}

func zeroCharacter() *Violation { return refuse("the character U+0000 is not allowed.") }

func notUTF8() *Violation { return refuse("the text is not valid UTF-8.") }

func loneSurrogate(unit rune) *Violation {
	return refuse("the surrogate \\u%04x stands alone; surrogates are allowed in pairs only.", unit)
}
