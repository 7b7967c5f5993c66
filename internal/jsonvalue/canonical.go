package jsonvalue

import (
	"bytes"
	"slices"
)

// wrappingDepth is how many levels the server itself may put around an object. An event, for example, contains its payload,
// which may contain a message's payload.
const wrappingDepth = 8

// Canonical returns the JSON Canonicalization Scheme (RFC 8785) form of a JSON text of any kind, for hashes, signatures
// and fingerprints: no white space, keys ordered by UTF-16 code unit, numbers as ECMAScript prints them, strings without
// unnecessary escapes.
//
// It refuses what Check refuses, with an empty root path, with two exceptions. It reads integer literals beyond ±(2^53−1) as
// doubles, because the canonical form of an accepted 1e20 is the literal 100000000000000000000. And it accepts a few levels
// more than MaxDepth, so that an accepted object can be hashed within another.
func Canonical(text []byte) ([]byte, error) {
	s := scanner{text: text, deepest: MaxDepth + wrappingDepth, anyInteger: true}
	if v := s.document(); v != nil {
		return nil, v.underRoot("")
	}
	return canonical(text), nil
}

// canonical is Canonical for checked text.
func canonical(text []byte) []byte {
	w := canonicalWriter{
		in:      cursor{text: text},
		out:     make([]byte, 0, len(text)+16),
		members: make([]writtenMember, 0, fewKeys),
	}
	w.value()
	return w.out
}

type canonicalWriter struct {
	in  cursor
	out []byte
	// members are the members written so far of the open objects, those of the innermost object last.
	members []writtenMember
	// unsorted is a buffer for the members of an object while they are being sorted.
	unsorted []byte
}

// writtenMember is a member in canonical form, including the comma after it: out[start:end].
type writtenMember struct {
	key        []byte // without escapes
	start, end int
}

func (w *canonicalWriter) value() {
	switch c := w.in.peek(); {
	case c == '{':
		w.object()
	case c == '[':
		w.list()
	case c == '"':
		w.string(w.in.quoted())
	case c == '-' || isDigit(c):
		w.number(w.in.scalar())
	default:
		w.out = append(w.out, w.in.scalar()...)
	}
}

func (w *canonicalWriter) object() {
	outer := len(w.members)
	w.out = append(w.out, '{')
	for key := range w.in.members {
		start := len(w.out)
		w.string(key)
		w.out = append(w.out, ':')
		w.value()
		w.out = append(w.out, ',')
		w.members = append(w.members, writtenMember{unescape(key), start, len(w.out)})
	}
	w.sort(w.members[outer:])
	w.members = w.members[:outer]
	w.out = closed(w.out, '}')
}

// sort brings the members at the end of out into the order of their keys.
func (w *canonicalWriter) sort(members []writtenMember) {
	byKey := func(a, b writtenMember) int { return compareKeys(a.key, b.key) }
	if slices.IsSortedFunc(members, byKey) {
		return
	}
	first := members[0].start
	w.unsorted = append(w.unsorted[:0], w.out[first:]...)
	w.out = w.out[:first]
	slices.SortFunc(members, byKey)
	for _, m := range members {
		w.out = append(w.out, w.unsorted[m.start-first:m.end-first]...)
	}
}

func (w *canonicalWriter) list() {
	w.out = append(w.out, '[')
	for range w.in.elements {
		w.value()
		w.out = append(w.out, ',')
	}
	w.out = closed(w.out, ']')
}

func (w *canonicalWriter) string(raw []byte) {
	if bytes.IndexByte(raw, '\\') < 0 {
		w.out = append(w.out, '"')
		w.out = append(w.out, raw...)
		w.out = append(w.out, '"')
		return
	}
	w.out = appendString(w.out, unescape(raw))
}

func (w *canonicalWriter) number(literal []byte) {
	w.out = appendES6(w.out, double(literal))
}
