package jsonvalue

// cursor walks over text that Check has accepted, and panics on other text.
//
// Whoever ranges over members or elements must take each value from the cursor in the loop's body (or leave the loop
// for good), since the walk goes on behind it.
type cursor struct {
	text []byte
	at   int
}

// peek passes over white space and gives the byte that comes next.
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

// members walks the object that comes next: it yields each key, escapes left in, with the cursor before its value.
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

// elements walks the list that comes next: it yields with the cursor before each element.
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

// quoted takes the string that comes next, and gives it without quotes, escapes left in.
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

// scalar takes the number, true, false or null that comes next.
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

// skip takes the value that comes next, of whatever kind, and gives its text.
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
