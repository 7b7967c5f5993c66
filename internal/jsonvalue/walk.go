package jsonvalue

import (
	"bytes"
	"iter"
)

// Members walks the top level of an object in the order in which it is written. It yields each key, with its escapes resolved,
// and the text of the key's value. The key is valid only until the next step. The text must have passed Check.
func Members(object []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(key, value []byte) bool) {
		c := cursor{text: object}
		c.peek()
		for key := range c.members {
			if !yield(unescape(key), c.skip()) {
				return
			}
		}
	}
}

// Elements walks a list and yields the text of each element. The text must have passed Check.
func Elements(list []byte) iter.Seq[[]byte] {
	return func(yield func(element []byte) bool) {
		c := cursor{text: list}
		c.peek()
		for range c.elements {
			if !yield(c.skip()) {
				return
			}
		}
	}
}

// Strings walks all strings in an object or a list, however deep, in the order in which they are written, with their escapes resolved.
// Keys are not among them. The text must have passed Check.
func Strings(text []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		c := cursor{text: text}
		for {
			next := bytes.IndexByte(text[c.at:], '"')
			if next < 0 {
				return
			}
			c.at += next
			raw := c.quoted()
			if c.peek() != ':' && !yield(string(unescape(raw))) {
				return
			}
		}
	}
}

// Unquote returns the characters of a string. The text must have passed Check and must be that of a string.
func Unquote(text []byte) string {
	c := cursor{text: text}
	c.peek()
	return string(unescape(c.quoted()))
}
