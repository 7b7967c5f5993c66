package jsonvalue

import "bytes"

// Object is the compact UTF-8 JSON text of one validated object; the package comment says what that means. The zero value
// means absent (null). An Object is never changed in place.
type Object []byte

// ParseObject validates text as Check does, and refuses anything but an object, including null. The result is a copy of
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

// IsNull reports whether the object is absent. An empty object is not absent.
func (o Object) IsNull() bool { return len(o) == 0 }

// OrEmpty returns the object itself, or {} if it is absent.
func (o Object) OrEmpty() Object {
	if o.IsNull() {
		return Object("{}")
	}
	return o
}

// String returns the top-level member with that key, if there is one and it is a string.
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

// closed ends a list or an object whose elements were each written with a comma after them.
func closed(out []byte, bracket byte) []byte {
	if last := len(out) - 1; out[last] == ',' {
		out[last] = bracket
		return out
	}
	return append(out, bracket)
}
