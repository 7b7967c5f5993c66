package jsonvalue

// cursor walks over text that Check has accepted, and panics on other text.
//
// Code that ranges over members or elements must take each value from the cursor in the loop's body (or leave the loop for
// good), because the walk continues after the value.
type cursor struct {
	text []byte
	at   int
}

// peek skips white space and returns the next byte.
func (c *cursor) peek() byte {
	for {
		switch next := c.text[c.at]; next {
		case ' ', '\t', '\r', '\n':
			c.at++
		default:
			return next
		}
	}
}

// members walks the next object. It yields each key, with its escapes, while the cursor is before the key's value.
func (c *cursor) members(yield func(key []byte) bool) {
	c.at++
	if c.peek() == '}' {
		c.at++
		return
	}
	for {
		c.peek()
		key := c.quoted()
		c.peek()
		c.at++
		c.peek()
		if !yield(key) {
			return
		}
		closed := c.peek() == '}'
		c.at++
		if closed {
			return
		}
	}
}

// elements walks the next list. It yields while the cursor is before each element.
func (c *cursor) elements(yield func() bool) {
	c.at++
	if c.peek() == ']' {
		c.at++
		return
	}
	for {
		c.peek()
		if !yield() {
			return
		}
		closed := c.peek() == ']'
		c.at++
		if closed {
			return
		}
	}
}

// quoted takes the next string, and returns it without quotes but with its escapes.
func (c *cursor) quoted() []byte {
	c.at++
	start := c.at
	for c.text[c.at] != '"' {
		if c.text[c.at] == '\\' {
			c.at++
		}
		c.at++
	}
	c.at++
	return c.text[start : c.at-1]
}

// scalar takes the next number, true, false or null.
func (c *cursor) scalar() []byte {
	start := c.at
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case ',', '}', ']', ' ', '\t', '\r', '\n':
			return c.text[start:c.at]
		}
		c.at++
	}
	return c.text[start:]
}

// skip takes the next value of any kind, and returns its text.
func (c *cursor) skip() []byte {
	c.peek()
	start := c.at
	for depth := 0; ; {
		switch c.peek() {
		case '{', '[':
			depth++
			c.at++
		case '}', ']':
			depth--
			c.at++
		case ',', ':':
			c.at++
		case '"':
			c.quoted()
		default:
			c.scalar()
		}
		if depth == 0 {
			return c.text[start:c.at]
		}
	}
}
