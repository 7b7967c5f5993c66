package jsonvalue

import (
	"bytes"
	"slices"
)

// Object is the compact UTF-8 JSON text of one validated object; see the package comment for what that means.
// The zero value means absent (null). An Object is never changed in place.
type Object []byte

// ParseObject validates text as Check does and refuses anything but an object, null included. The result is a copy of
// the text without insignificant white space; strings, numbers and the order of keys stay as they were written.
func ParseObject(text []byte, path string) (Object, error) {
	s := scanner{text: text, deepest: MaxDepth}
	if v := s.document(); v != nil {
		return nil, v.underRoot(path)
	}
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); trimmed[0] != '{' {
		return nil, refuse("must be a JSON object.").underRoot(path)
	}
	if !s.spaced {
		return bytes.Clone(text), nil
	}
	return compact(text), nil
}

// compact copies checked text without the white space between tokens.
func compact(text []byte) []byte {
	out := make([]byte, 0, len(text))
	for c := (cursor{text: text}); c.at < len(text); {
		switch next := text[c.at]; next {
		case ' ', '\t', '\r', '\n':
			c.at++
		case '"':
			start := c.at
			c.quoted()
			out = append(out, text[start:c.at]...)
		default:
			out = append(out, next)
			c.at++
		}
	}
	return out
}

// IsNull tells whether the object is absent. An empty object is not.
func (o Object) IsNull() bool { return len(o) == 0 }

// OrEmpty gives the object itself, or {} when it is absent.
func (o Object) OrEmpty() Object {
	if o.IsNull() {
		return Object("{}")
	}
	return o
}

// Equal tells whether both are the same JSON value: the order of keys and the spelling of numbers and strings do not
// count, so 1 equals 1.0. Absent equals only absent.
func (o Object) Equal(other Object) bool {
	if bytes.Equal(o, other) {
		return true
	}
	if o.IsNull() || other.IsNull() {
		return false
	}
	return bytes.Equal(canonical(o), canonical(other))
}

// String gives the top-level member of that key if there is one and it is a string.
func (o Object) String(key string) (string, bool) {
	if o.IsNull() {
		return "", false
	}
	c := cursor{text: o}
	for raw := range c.members {
		if string(unescape(raw)) != key {
			c.skip()
			continue
		}
		if c.peek() != '"' {
			return "", false
		}
		return string(unescape(c.quoted())), true
	}
	return "", false
}

// Merge gives an object with the top-level members of both. Where both have a key, the other's value replaces this
// one's whole, null included. Two absent objects make {}.
func (o Object) Merge(other Object) Object {
	o, other = o.OrEmpty(), other.OrEmpty()
	replaced := make(map[string]bool)
	theirs := cursor{text: other}
	for key := range theirs.members {
		replaced[string(unescape(key))] = true
		theirs.skip()
	}
	out := slices.Grow(Object("{"), len(o)+len(other))
	ours := cursor{text: o}
	for key := range ours.members {
		value := ours.skip()
		if replaced[string(unescape(key))] {
			continue
		}
		out = append(append(out, '"'), key...)
		out = append(append(out, `":`...), value...)
		out = append(out, ',')
	}
	out = append(out, other[1:]...)
	if len(replaced) == 0 {
		return closed(out[:len(out)-1], '}')
	}
	return out
}

// closed ends a list or an object, of which each element was written with a comma behind it.
func closed(out []byte, bracket byte) []byte {
	if last := len(out) - 1; out[last] == ',' {
		out[last] = bracket
		return out
	}
	return append(out, bracket)
}
