package jsonvalue

// Builder writes an object member by member, in the given order. The keys come from the program and must differ. The zero
// value is ready for use.
type Builder struct{ text []byte }

func (b *Builder) key(key string) {
	if len(b.text) == 0 {
		b.text = append(b.text, '{')
	} else {
		b.text = append(b.text, ',')
	}
	b.text = append(appendString(b.text, key), ':')
}

// String adds a text; it must be valid UTF-8.
func (b *Builder) String(key, value string) *Builder {
	b.key(key)
	b.text = appendString(b.text, value)
	return b
}

// Null adds a null.
func (b *Builder) Null(key string) *Builder {
	b.key(key)
	b.text = append(b.text, "null"...)
	return b
}

// Strings adds a list of texts; each must be valid UTF-8.
func (b *Builder) Strings(key string, values []string) *Builder {
	b.key(key)
	b.text = append(b.text, '[')
	for _, value := range values {
		b.text = append(appendString(b.text, value), ',')
	}
	b.text = closed(b.text, ']')
	return b
}

// Raw adds a value that is already validated JSON text.
func (b *Builder) Raw(key string, value []byte) *Builder {
	b.key(key)
	b.text = append(b.text, value...)
	return b
}

// Object returns the object that was written. The builder must not be used afterwards.
func (b *Builder) Object() Object {
	if len(b.text) == 0 {
		return Object("{}")
	}
	return append(b.text, '}')
}

// Member returns the text of the top-level member with that key, if there is one.
func (o Object) Member(key string) ([]byte, bool) {
	if o.IsNull() {
		return nil, false
	}
	for name, value := range Members(o) {
		if string(name) == key {
			return value, true
		}
	}
	return nil, false
}
